"""The flags of `hearth serve` for indexes and for reading only.

flags.py HEARTH
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from google.api_core import exceptions
from google.cloud import firestore

hearth = sys.argv[1]


def start(folder, *options):
    """A server, and a client of it."""
    server = subprocess.Popen(
        [hearth, "serve", f"{folder}/data", "--port", "0", *options], stdout=subprocess.PIPE, text=True)
    os.environ["FIRESTORE_EMULATOR_HOST"] = f"127.0.0.1:{server.stdout.readline().split(':')[-1].strip()}"
    return server, firestore.Client(project="flags")


def stop(server, db):
    db.close()
    server.terminate()
    assert server.wait() == 0


def write(path, *indexes):
    with open(path + ".new", "w") as file:
        json.dump({"indexes": list(indexes), "fieldOverrides": []}, file)
    os.rename(path + ".new", path)


def found(db):
    """The ids of a query that needs a composite index in Cloud Firestore, or the error."""
    query = db.collection("books").where(
        filter=firestore.FieldFilter("author", "==", "Herbert")).order_by("pages", direction="DESCENDING")
    try:
        return [book.id for book in query.stream(retry=None)]
    except exceptions.FailedPrecondition as refused:
        return str(refused)


with tempfile.TemporaryDirectory() as folder:
    indexes = f"{folder}/firestore.indexes.json"
    write(indexes)
    server, db = start(folder, "--create", "--indexes", indexes, "--strict")
    for name, pages in [("dune", 412), ("messiah", 256)]:
        db.document(f"books/{name}").set({"author": "Herbert", "pages": pages})
    refused = found(db)
    assert '"author"' in refused and '"pages"' in refused and '"DESCENDING"' in refused, refused
    # The file is read again when it changes.
    write(indexes, {
        "collectionGroup": "books", "queryScope": "COLLECTION",
        "fields": [
            {"fieldPath": "author", "order": "ASCENDING"}, {"fieldPath": "pages", "order": "DESCENDING"}]})
    end = time.time() + 30
    while found(db) != ["dune", "messiah"]:
        assert time.time() < end, found(db)
        time.sleep(0.1)
    stop(server, db)

    # Without --strict, all queries are answered. With --read-only, nothing is written.
    server, db = start(folder, "--read-only")
    assert found(db) == ["dune", "messiah"]
    for body in [
            lambda: db.document("books/dune").set({}, retry=None), lambda: db.document("books/dune").delete(retry=None),
            lambda: db.document("books/other").create({}, retry=None)]:
        try:
            body()
            raise AssertionError("A server that is read-only has written")
        except exceptions.GoogleAPICallError as refused:
            assert "read" in str(refused), refused
    assert [book.id for book in db.collection("books").stream()] == ["dune", "messiah"]
    stop(server, db)
    print("flags.py: --indexes, --strict and --read-only")
