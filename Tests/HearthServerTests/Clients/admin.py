"""firebase-admin, against the server that FIRESTORE_EMULATOR_HOST names."""

import asyncio
import datetime
import threading

import firebase_admin
from firebase_admin import credentials, firestore, firestore_async
from google.auth.credentials import AnonymousCredentials
from google.cloud.firestore_v1.base_query import FieldFilter

import breadth
import breadth_async


class Nobody(credentials.Base):
    def get_credential(self):
        return AnonymousCredentials()


firebase_admin.initialize_app(Nobody(), {"projectId": "admin"})
db = firestore.client()
books = db.collection("books")

news = []
arrived = threading.Event()


def hear(snapshots, changes, time):
    news.extend((change.type.name, change.document.id) for change in changes)
    if ("MODIFIED", "dune") in news:
        arrived.set()


batch = db.batch()
batch.set(books.document("dune"), {
    "pages": 412, "price": 9.5, "tags": ["sf"], "out": True, "none": None, "raw": b"\x00\xff",
    "place": firestore.GeoPoint(52, 21), "by": db.document("authors/herbert"),
    "printed": datetime.datetime(1965, 8, 1, tzinfo=datetime.timezone.utc)})
batch.set(books.document("emma"), {"pages": 474, "tags": ["novel"]})
batch.commit()

watch = books.where(filter=FieldFilter("pages", "<", 450)).on_snapshot(hear)
found = books.document("dune").get()
assert found.get("place") == firestore.GeoPoint(52, 21) and found.get("by").path == "authors/herbert"
assert found.get("raw") == b"\x00\xff" and found.get("none") is None

deadline = datetime.datetime.now() + datetime.timedelta(seconds=breadth.SECONDS)
while not news:
    assert datetime.datetime.now() < deadline, "The listener has no first snapshot"
books.document("dune").update({
    "pages": firestore.Increment(1), "tags": firestore.ArrayUnion(["classic"]), "out": firestore.DELETE_FIELD,
    "seen": firestore.SERVER_TIMESTAMP})
assert arrived.wait(breadth.SECONDS), news
watch.unsubscribe()
assert news[0] == ("ADDED", "dune"), news
changed = books.document("dune").get().to_dict()
assert changed["pages"] == 413 and changed["tags"] == ["sf", "classic"] and "out" not in changed, changed
assert changed["seen"].tzinfo is not None


@firestore.transactional
def move(transaction):
    one = books.document("dune").get(transaction=transaction).get("pages")
    other = books.document("emma").get(transaction=transaction).get("pages")
    transaction.update(books.document("dune"), {"pages": other})
    transaction.update(books.document("emma"), {"pages": one})


move(db.transaction())
ordered = [book.id for book in books.order_by("pages", direction=firestore.Query.DESCENDING).limit(2).stream()]
assert ordered == ["dune", "emma"], ordered
assert books.count().get()[0][0].value == 2
assert books.sum("pages").get()[0][0].value == 887
assert [book.id for book in books.where(filter=FieldFilter("tags", "array_contains", "novel")).stream()] == ["emma"]
assert [collection.id for collection in db.collections()] == ["books"]


async def asynchronously():
    own = firestore_async.client()
    await own.document("books/solaris").set({"pages": 204})
    return [book.id async for book in own.collection("books").where(filter=FieldFilter("pages", "<", 300)).stream()]


assert asyncio.run(asynchronously()) == ["solaris"]
assert db.recursive_delete(books) == 3
assert not list(books.stream())

# All that the clients can do, with those that an app makes. Each event loop needs a client of its own.
breadth.check(firestore.client())
other = firebase_admin.initialize_app(Nobody(), {"projectId": "admin"}, "other")
asyncio.run(breadth_async.check(firestore_async.client(other)))
print("admin: passed")
