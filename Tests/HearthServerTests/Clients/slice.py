"""Google's Python client against a running server; FIRESTORE_EMULATOR_HOST names it."""

import queue

from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

# For what comes, however busy the machine is.
SECONDS = 120
db = firestore.Client(project="slice")
books = db.collection("books")


def fails(error, body):
    try:
        body()
    except error as caught:
        return str(caught)
    raise AssertionError(f"{error.__name__} was not raised")


# Documents.
dune = books.document("dune")
written = dune.set({"title": "Dune", "pages": 412, "tags": ["sand"], "nested": {"a.b": None}})
found = dune.get()
assert found.exists and found.to_dict()["nested"] == {"a.b": None}
assert found.create_time == found.update_time == written.update_time
assert not books.document("none").get().exists
assert "projects/slice/databases/(default)/documents/books/dune" in fails(
    exceptions.AlreadyExists, lambda: dune.create({}))
assert "No document to update: projects/slice" in fails(
    exceptions.NotFound, lambda: books.document("none").update({"a": 1}))
dune.update({"pages": firestore.Increment(3), "tags": firestore.ArrayUnion(["spice"])})
assert dune.get(["pages", "tags"]).to_dict() == {"pages": 415, "tags": ["sand", "spice"]}

# Batches and several documents.
batch = db.batch()
for number in range(10):
    batch.set(books.document(f"b{number}"), {"pages": number * 100, "self": dune})
results = batch.commit()
assert len(results) == 10
several = list(db.get_all([books.document("none"), dune, books.document("b1")]))
assert [document.exists for document in several] == [True, True, False]

# Queries.
long = books.where(filter=FieldFilter("pages", ">", 300)).order_by("pages").limit(3)
assert [book.id for book in long.stream()] == ["b4", "dune", "b5"]
assert list(books.where(filter=FieldFilter("pages", "==", -1)).stream()) == []
assert books.count().get()[0][0].value == 11
assert "requires" in fails(
    exceptions.InvalidArgument, lambda: list(books.where(filter=FieldFilter("a", "in", [])).stream()))

# Listeners.
news = queue.Queue()
watch = long.on_snapshot(lambda documents, changes, time: news.put(
    ([document.id for document in documents], time)))
assert news.get(timeout=SECONDS)[0] == ["b4", "dune", "b5"]
books.document("b9").update({"pages": 301})
ids, time = news.get(timeout=SECONDS)
assert ids == ["b9", "b4", "dune"], ids
books.document("b4").delete()
assert news.get(timeout=SECONDS)[0] == ["b9", "dune", "b5"]
watch.unsubscribe()
one = queue.Queue()
watch = dune.on_snapshot(lambda documents, changes, time: one.put(documents))
assert one.get(timeout=SECONDS)[0].get("pages") == 415
dune.update({"pages": 1})
assert one.get(timeout=SECONDS)[0].get("pages") == 1
dune.delete()
assert one.get(timeout=SECONDS) == []
watch.unsubscribe()


# Transactions.
@firestore.transactional
def increment(transaction, reference):
    count = reference.get(transaction=transaction).to_dict()["count"]
    transaction.update(reference, {"count": count + 1})
    return count + 1


counter = db.document("counters/a")
counter.set({"count": 0})
assert increment(db.transaction(), counter) == 1
assert counter.get().get("count") == 1
db.close()
print("slice: passed")
