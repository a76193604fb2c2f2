"""Listeners whose server is killed and started again go on by themselves, and miss nothing.

resume.py HEARTH [admin]

With admin, the client is firebase-admin's.
"""

import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import time

from google.api_core import exceptions
from google.api_core.retry import Retry
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

hearth = sys.argv[1]
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
os.environ["FIRESTORE_EMULATOR_HOST"] = f"127.0.0.1:{port}"


def start(folder):
    server = subprocess.Popen(
        [hearth, "serve", f"{folder}/data", "--emulator", "--port", str(port)], stdout=subprocess.PIPE, text=True)
    assert "Listening" in server.stdout.readline()
    return server


def wait(news, expected):
    """Takes snapshots until one is as expected; those before it are parts of it, in order."""
    end = time.time() + 60
    while True:
        found = news.get(timeout=max(0.1, end - time.time()))
        if found == expected:
            return
        assert len(found) <= len(expected) and found == expected[:len(found)], (found, expected)


def client():
    if sys.argv[2:] != ["admin"]:
        return firestore.Client(project="resume")
    import firebase_admin
    import firebase_admin.firestore
    from firebase_admin import credentials
    from google.auth.credentials import AnonymousCredentials

    class Nobody(credentials.Base):
        def get_credential(self):
            return AnonymousCredentials()

    return firebase_admin.firestore.client(firebase_admin.initialize_app(Nobody(), {"projectId": "resume"}))


again = Retry(predicate=lambda error: isinstance(error, exceptions.GoogleAPICallError), initial=0.1, timeout=60)

with tempfile.TemporaryDirectory() as folder:
    server = start(folder)
    db = client()
    events = db.collection("events")
    news, changes_seen = queue.Queue(), []

    def take(documents, changes, time):
        changes_seen.extend((change.type.name, change.document.id) for change in changes)
        news.put([document.id for document in documents])

    watch = events.where(filter=FieldFilter("n", ">=", 0)).order_by("n").on_snapshot(take)
    written = []
    for round in range(4):
        for number in range(5):
            name = f"{round}-{number}"
            events.document(name).set({"n": round * 5 + number}, retry=again, timeout=20)
            written.append(name)
        wait(news, written)
        server.send_signal(signal.SIGKILL)
        server.wait()
        server = start(folder)
    wait_for = len(written) + 1
    events.document("last").set({"n": 1000}, retry=again, timeout=20)
    wait(news, written + ["last"])
    added = [name for kind, name in changes_seen if kind == "ADDED"]
    assert sorted(added) == sorted(written + ["last"]), "a document was added twice, or not at all"
    assert len(changes_seen) == wait_for, changes_seen
    watch.unsubscribe()
    db.close()
    server.terminate()
    server.wait()
    print(f"resume: passed,{' with firebase-admin,' if sys.argv[2:] else ''} {len(written) + 1} documents, 4 kills")
