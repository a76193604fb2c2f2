"""Google's Firestore emulator, sought beside `gcloud`, under the Cloud SDK's platform folder; needs Java."""

import contextlib
import pathlib
import shutil
import socket
import subprocess
import time

MAIN = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"


def jar():
    """Its program; None where it is not installed."""
    gcloud = shutil.which("gcloud")
    roots = [pathlib.Path("/usr/lib/google-cloud-sdk")]
    if gcloud:
        roots.insert(0, pathlib.Path(gcloud).resolve().parent.parent)
    if shutil.which("java"):
        for root in roots:
            found = root / "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
            if found.exists():
                return found
    return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(program):
    """The process and its port, once it listens."""
    port = free_port()
    began = time.perf_counter()
    emulator = subprocess.Popen(
        ["java", "-cp", str(program), MAIN, "--host=127.0.0.1", f"--port={port}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if emulator.poll() is not None or time.perf_counter() - began > 60:
                    raise SystemExit("The emulator did not start.")
                time.sleep(0.02)
        yield emulator, port
    finally:
        emulator.terminate()
        emulator.wait()
