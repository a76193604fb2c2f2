"""Kills a server under load, starts it again, and looks for every acknowledged write.

crash.py HEARTH [ROUNDS]

Two listeners stay open the whole time: they go on by themselves, and miss nothing. Default: 5 rounds.
"""

import os
import queue
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
from google.cloud.firestore_v1.base_query import FieldFilter

hearth = sys.argv[1]
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
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


def wait(news, expected):
    """Takes snapshots until one is as expected."""
    end = time.time() + 120
    while news.get(timeout=max(0.1, end - time.time())) != expected:
        pass


def ids(db, half, round=None):
    query = db.collection(half).order_by("__name__").select([])
    if round is not None:
        query = query.start_at({"__name__": db.document(f"{half}/{round}-")})
        query = query.end_before({"__name__": db.document(f"{half}/{round}.")})
    return {found.id for found in query.stream()}


with tempfile.TemporaryDirectory() as folder:
    total, first, resumed = [], set(), []
    watcher = firestore.Client(project="crash")
    numbers, marks, added = queue.Queue(), queue.Queue(), []
    server = start(folder)

    def take(documents, changes, time):
        added.extend(change.document.id for change in changes if change.type.name == "ADDED")
        numbers.put({document.id for document in documents})

    watches = [
        watcher.collection("a").where(filter=FieldFilter("number", "==", 1)).on_snapshot(take),
        watcher.document("marks/round").on_snapshot(
            lambda documents, changes, time: marks.put(documents[0].get("round") if documents else None)),
    ]
    wait(numbers, set())
    for round in range(rounds):
        written = []
        threads = [threading.Thread(target=write, args=(w, round, written)) for w in range(4)]
        for thread in threads:
            thread.start()
        # Else nothing may be acknowledged yet: on a busy machine, a client takes seconds to connect.
        end = time.time() + 120
        while len(written) < 4 and time.time() < end:
            time.sleep(0.01)
        time.sleep(random.random())
        server.send_signal(signal.SIGKILL)
        server.wait()
        for thread in threads:
            thread.join()
        total += written
        server = start(folder)
        restarted = time.time()
        db = firestore.Client(project="crash")
        found = {half: ids(db, half, round) for half in "ab"}
        assert found["a"] == found["b"], "a batch is there by half"
        missing = set(written) - found["a"]
        assert not missing, f"acknowledged and lost: {missing}"
        first |= {name for name in found["a"] if name.endswith("-1")}
        db.document("marks/round").set({"round": round})
        db.close()
        wait(numbers, first)
        wait(marks, round)
        resumed.append(time.time() - restarted)
    db = firestore.Client(project="crash")
    found = {half: ids(db, half) for half in "ab"}
    assert found["a"] == found["b"] and not set(total) - found["a"]
    assert len(added) == len(set(added)) and set(added) == first, "a listener saw a document twice"
    for watch in watches:
        watch.unsubscribe()
    db.close()
    watcher.close()
    server.terminate()
    server.wait()
    assert len(total) > rounds
    resumed.sort()
    print(
        f"crash: passed, {len(total)} acknowledged batches, {rounds} rounds; listeners had all after "
        f"{resumed[len(resumed) // 2]:.1f} s (median), {resumed[-1]:.1f} s at most")
