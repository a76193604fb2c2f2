"""Times Google's Firestore emulator through its Python client; prints JSON, times in nanoseconds.

    python3 measure.py COUNT

`emulator.py` says where it is sought.
"""

import json
import os
import queue
import sys
import time

import emulator


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
    program = emulator.jar()
    if program is None:
        sys.exit("No emulator is installed.")
    began = time.perf_counter()
    with emulator.running(program) as (_, port):
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


if __name__ == "__main__":
    main(int(sys.argv[1]))
