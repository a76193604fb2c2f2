"""Kills a server under load, starts it again, and looks for every acknowledged write.

crash.py HEARTH [ROUNDS]
"""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import grpc
from google.api_core import exceptions
from google.cloud import firestore

hearth, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
os.environ["FIRESTORE_EMULATOR_HOST"] = f"127.0.0.1:{port}"


def start(folder):
    server = subprocess.Popen(
        [hearth, "serve", folder, "--create", "--port", str(port)], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline().startswith("Listening")
    return server


def write(worker, round, acknowledged):
    """Writes until the server is gone. Each batch is two documents with the same number."""
    db = firestore.Client(project="crash")
    try:
        number = 0
        while True:
            number += 1
            batch = db.batch()
            for half in "ab":
                batch.set(db.document(f"{half}/{round}-{worker}-{number}"), {"number": number})
            batch.commit(retry=None, timeout=20)
            acknowledged.append(f"{round}-{worker}-{number}")
    except (exceptions.GoogleAPICallError, grpc.RpcError):
        pass
    finally:
        db.close()


with tempfile.TemporaryDirectory() as folder:
    total = []
    for round in range(rounds):
        server = start(folder)
        written = []
        threads = [threading.Thread(target=write, args=(w, round, written)) for w in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.3 + random.random())
        server.send_signal(signal.SIGKILL)
        server.wait()
        for thread in threads:
            thread.join()
        total += written
        server = start(folder)
        db = firestore.Client(project="crash")
        found = {half: {d.id for d in db.collection(half).stream()} for half in "ab"}
        assert found["a"] == found["b"], "a batch is there by half"
        missing = set(total) - found["a"]
        assert not missing, f"acknowledged and lost: {missing}"
        db.close()
        server.terminate()
        server.wait()
    assert len(total) > rounds
    print(f"crash: passed, {len(total)} acknowledged batches, {rounds} rounds")
