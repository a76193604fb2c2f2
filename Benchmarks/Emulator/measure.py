"""Times Google's Firestore emulator through its Python client; prints JSON, times in nanoseconds.

    python3 measure.py COUNT

The emulator is sought beside `gcloud`, under the Cloud SDK's platform folder; needs Java.
"""

import json
import os
import pathlib
import queue
import shutil
import socket
import subprocess
import sys
import time

MAIN = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"


def jar():
    gcloud = shutil.which("gcloud")
    roots = [pathlib.Path("/usr/lib/google-cloud-sdk")]
    if gcloud:
        roots.insert(0, pathlib.Path(gcloud).resolve().parent.parent)
    for root in roots:
        found = root / "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
        if found.exists():
            return found
    sys.exit("No emulator is installed.")


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def book(number):
    base = f"https://example.com/covers/{number}"
    return {
        "title": f"The Hitchhiker's Guide to the Galaxy, volume {number}",
        "author": f"Author number {number // 100}",
        "isbn": f"978-0-345-39180-{number % 10}",
        "numberOfPages": number * 7919 % 1000003 % 1000,
        "rating": number * 7919 % 1000003 / 200000,
        "published": 308620800 + number % 1000000,
        "isAvailable": number % 3 != 0,
        "tags": [
            {"title": "favourite", "color": "#ff0000"},
            {"title": f"shelf {number % 20}", "color": "#00ff00"},
        ],
        "genres": ["comedy", "science fiction", "adventure"],
        "cover": {size: f"{base}/{size}.png" for size in ("small", "medium", "large")},
    }


def main(count):
    port = free_port()
    began = time.perf_counter()
    emulator = subprocess.Popen(
        ["java", "-cp", str(jar()), MAIN, "--host=127.0.0.1", f"--port={port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if emulator.poll() is not None or time.perf_counter() - began > 60:
                    sys.exit("The emulator did not start.")
                time.sleep(0.02)
        os.environ["FIRESTORE_EMULATOR_HOST"] = f"127.0.0.1:{port}"
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import firestore

        db = firestore.Client(project="hearth-bench", credentials=AnonymousCredentials())
        books = db.collection("books")
        books.document("first").set({})
        times = {"startup": time.perf_counter() - began}
        for start in range(0, 1000, 250):
            batch = db.batch()
            for number in range(start, start + 250):
                batch.set(books.document(f"book-{number}"), book(number))
            batch.commit()

        def timed(work):
            results = []
            for index in range(count + 5):
                begin = time.perf_counter_ns()
                work(index)
                results.append(time.perf_counter_ns() - begin)
            return results[5:]

        times["set"] = timed(lambda i: books.document(f"new-{i}").set(book(i)))
        times["get"] = timed(lambda i: books.document(f"book-{i}").get().to_dict())
        times["query"] = timed(
            lambda i: [
                found.to_dict()
                for found in books.where(
                    filter=firestore.FieldFilter("author", "==", f"Author number {i % 10}")
                ).stream()
            ]
        )
        news = queue.Queue()
        listened = books.document("listened")
        watch = listened.on_snapshot(lambda documents, changes, when: news.put(1))
        news.get(timeout=30)

        def told(index):
            listened.set({"n": index})
            news.get(timeout=30)

        times["news"] = timed(told)
        watch.unsubscribe()
        print(json.dumps(times))
    finally:
        emulator.terminate()
        emulator.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
