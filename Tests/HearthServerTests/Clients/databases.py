"""Named databases: each client reaches those that it names, and no other.

databases.py HEARTH
"""

import asyncio
import os
import queue
import subprocess
import sys
import tempfile
import urllib.request

import firebase_admin
from firebase_admin import credentials, firestore_async
from firebase_admin import firestore as admin_firestore
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore

hearth = sys.argv[1]
# For what comes, however busy the machine is.
SECONDS = 120
# Project and database of each.
DATABASES = [
    ("shop", "(default)"), ("shop", "orders"), ("shop", "orders-2024"), ("bank", "(default)"), ("bank", "orders")]


class Nobody(credentials.Base):
    def get_credential(self):
        return AnonymousCredentials()


def start(folder, *options):
    server = subprocess.Popen(
        [hearth, "serve", f"{folder}/data", "--port", "0", *options], stdout=subprocess.PIPE, text=True)
    os.environ["FIRESTORE_EMULATOR_HOST"] = f"127.0.0.1:{server.stdout.readline().split(':')[-1].strip()}"
    return server


def stop(server):
    server.terminate()
    assert server.wait() == 0


def synchronous():
    """A client for each database."""
    return {(project, name): firestore.Client(project=project, database=name) for project, name in DATABASES}


def check(clients):
    news = {}
    watches = []
    for key, db in clients.items():
        news[key] = queue.Queue()
        watches.append(db.collection("books").on_snapshot(
            lambda documents, changes, time, key=key: news[key].put([document.get("in") for document in documents])))
        assert news[key].get(timeout=SECONDS) == []
    for key, db in clients.items():
        written = db.batch()
        written.set(db.document("books/one"), {"in": list(key), "n": 1})
        written.commit()
        # Commits that come quickly may share a snapshot.
        assert news[key].get(timeout=SECONDS) == [list(key)]
        db.document(f"books/{key[0]}").create({"in": list(key), "n": 2, "self": db.document("books/one")})
    for key, db in clients.items():
        assert news[key].get(timeout=SECONDS) == [list(key), list(key)] and news[key].empty()
        assert [found.id for found in db.collection("books").order_by("n").stream()] == ["one", key[0]]
        assert db.collection("books").sum("n").get()[0][0].value == 3
        # A reference is to a document of the same database.
        found = db.document(f"books/{key[0]}").get().get("self")
        assert found._document_path == f"projects/{key[0]}/databases/{key[1]}/documents/books/one", found._document_path

    @firestore.transactional
    def move(transaction, db):
        found = db.document("books/one").get(transaction=transaction).to_dict()
        transaction.set(db.document("moved/one"), found)
        transaction.delete(db.document("books/one"))

    move(clients["shop", "orders"].transaction(), clients["shop", "orders"])
    for key, db in clients.items():
        is_moved = key == ("shop", "orders")
        assert db.document("books/one").get().exists == (not is_moved)
        assert [found.id for found in db.collections()] == (["books", "moved"] if is_moved else ["books"])
    for watch in watches:
        watch.unsubscribe()
    first, second = clients["shop", "(default)"], clients["shop", "orders"]
    try:
        # The transaction and the document are of different databases.
        transaction = first.transaction()
        transaction._begin()
        transaction.set(second.document("books/stray"), {})
        transaction._commit()
        raise AssertionError("A commit wrote to another database")
    except exceptions.InvalidArgument:
        pass
    assert not second.document("books/stray").get().exists and not first.document("books/stray").get().exists


def check_admin(apps):
    for project, name in DATABASES:
        db = admin_firestore.client(apps[project], name)
        assert db.document(f"books/{project}").get().get("in") == [project, name]
        db.document("admin/one").set({"in": [project, name]})
    for project, name in DATABASES:
        db = admin_firestore.client(apps[project], None if name == "(default)" else name)
        assert db.document("admin/one").get().get("in") == [project, name]


async def check_async(apps):
    for make in [
        lambda project, name: firestore.AsyncClient(project=project, database=name),
        lambda project, name: firestore_async.client(apps[project], name),
    ]:
        for project, name in DATABASES:
            db = make(project, name)
            assert (await db.document("admin/one").get()).get("in") == [project, name]
            await db.document("async/one").set({"in": [project, name]})
        for project, name in DATABASES:
            found = await make(project, name).collection("async").get()
            assert [document.get("in") for document in found] == [[project, name]]
            await make(project, name).document("async/one").delete()


with tempfile.TemporaryDirectory() as folder:
    apps = {
        project: firebase_admin.initialize_app(Nobody(), {"projectId": project}, project)
        for project in ["shop", "bank"]}
    server = start(folder, "--emulator")
    try:
        clients = synchronous()
        check(clients)
        check_admin(apps)
        asyncio.run(check_async(apps))
        files = {
            os.path.relpath(os.path.join(path, file), f"{folder}/data")
            for path, _, files in os.walk(f"{folder}/data") for file in files if file.endswith(".hearth")}
        assert len(files) == 5 and "shop/orders.hearth" in files and "bank/(default).hearth" in files, files
        # The deletion of all documents of one database.
        host = os.environ["FIRESTORE_EMULATOR_HOST"]
        urllib.request.urlopen(urllib.request.Request(
            f"http://{host}/emulator/v1/projects/shop/databases/orders/documents", method="DELETE"))
        counts = {key: db.collection("books").count().get()[0][0].value for key, db in clients.items()}
        assert counts == {key: 0 if key == ("shop", "orders") else 2 for key in DATABASES}, counts
        for db in clients.values():
            db.close()
    finally:
        stop(server)

    # Without --create, there are only the databases whose files exist.
    server = start(folder)
    try:
        for (project, name), db in synchronous().items():
            assert db.document("admin/one").get().exists == ((project, name) != ("shop", "orders"))
            db.close()
        absent = firestore.Client(project="shop", database="absent")
        try:
            absent.document("a/b").set({})
            raise AssertionError("A database was made")
        except exceptions.NotFound as refused:
            assert "absent" in str(refused), refused
        absent.close()
    finally:
        stop(server)

print(f"databases: passed, {len(DATABASES)} databases")
