"""The rest of what Google's Python client can do; FIRESTORE_EMULATOR_HOST names the server."""

import asyncio
import datetime

from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.base_vector_query import DistanceMeasure
from google.cloud.firestore_v1.query_profile import ExplainOptions
from google.cloud.firestore_v1.vector import Vector

db = firestore.Client(project="breadth")


def fails(error, body):
    try:
        body()
    except error as caught:
        return str(caught)
    raise AssertionError(f"{error.__name__} was not raised")


# Lists: documents that only have documents below them are listed too.
shelf = db.collection("shelf")
shelf.document("a").set({"n": 1})
shelf.document("missing/notes/x").set({"n": 2})
listed = {document.id for document in shelf.list_documents(page_size=1)}
assert listed == {"a", "missing"}, listed
assert [collection.id for collection in db.collections()] == ["shelf"]
assert [collection.id for collection in shelf.document("missing").collections()] == ["notes"]

# Preconditions.
snapshot = shelf.document("a").get()
future = snapshot.update_time + datetime.timedelta(hours=1)
fails(exceptions.InvalidArgument, lambda: shelf.document("a").delete(
    option=db.write_option(last_update_time=future)))
past = snapshot.update_time - datetime.timedelta(hours=1)
fails(exceptions.FailedPrecondition, lambda: shelf.document("a").update(
    {"n": 2}, option=db.write_option(last_update_time=past)))
shelf.document("a").update({"n": 2}, option=db.write_option(
    last_update_time=snapshot.update_time))

# Query operators, cursors, projections.
items = db.collection("items")
writer = db.bulk_writer()
for number in range(40):
    writer.create(items.document(f"i{number:02}"), {
        "n": number, "even": number % 2 == 0, "tags": [f"t{number % 5}"], "v": Vector([number, 1.0])})
writer.close()


def ids(query):
    return [int(document.id[1:]) for document in query.stream()]


def where(field, op, value):
    return items.where(filter=FieldFilter(field, op, value))


assert ids(where("n", "in", [3, 1, 99])) == [1, 3]
assert ids(where("n", "not-in", list(range(38)[-10:])).limit(3)) == [0, 1, 2]
assert ids(where("tags", "array_contains", "t1").where(filter=FieldFilter("even", "==", True))) == [6, 16, 26, 36]
assert ids(where("tags", "array_contains_any", ["t1", "t2"]).limit(3)) == [1, 2, 6]
assert ids(where("n", "!=", 0).order_by("n").limit(2)) == [1, 2]
either = Or([FieldFilter("n", "<", 2), And([FieldFilter("n", ">", 37), FieldFilter("even", "==", True)])])
assert ids(items.where(filter=either)) == [0, 1, 38]
ordered = items.order_by("n")
assert ids(ordered.start_after({"n": 3}).end_at({"n": 5})) == [4, 5]
assert ids(ordered.offset(38)) == [38, 39]
# The client turns the orders of this query in place.
assert [document.id for document in items.order_by("n").limit_to_last(2).get()] == ["i38", "i39"]
assert ids(ordered.start_at(items.document("i37").get())) == [37, 38, 39]
assert items.select(["even"]).limit(1).get()[0].to_dict() == {"even": True}
nearest = items.find_nearest("v", Vector([10.2, 1.0]), 2, DistanceMeasure.EUCLIDEAN)
assert ids(nearest) == [10, 11]

# Aggregations.
numbers = items.sum("n", alias="sum").avg("n", alias="avg").count(alias="count").get()
assert {result.alias: result.value for result in numbers[0]} == {"sum": 780, "avg": 19.5, "count": 40}
assert "duplicate alias" in fails(
    exceptions.InvalidArgument, lambda: items.sum("n", alias="a").avg("n", alias="a").get())

# Explain.
explained = where("n", "==", 4).get(explain_options=ExplainOptions(analyze=True))
metrics = explained.get_explain_metrics()
assert metrics.plan_summary.indexes_used[0]["properties"] == "(n ASC, __name__ ASC)"
assert metrics.execution_stats.results_returned == 1
assert metrics.execution_stats.execution_duration.total_seconds() > 0
planned = items.get(explain_options=ExplainOptions(analyze=False))
assert len(planned) == 0

# Past states.
before = items.document("i00").get().read_time
items.document("i00").set({"n": -1})
items.document("i99").set({"n": 99})
assert items.document("i00").get(read_time=before).get("n") == 0
assert len(ordered.get(read_time=before)) == 40
assert items.count().get(read_time=before)[0][0].value == 40
assert "i99" not in {document.id for document in items.list_documents(read_time=before)}
tomorrow = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
fails(exceptions.InvalidArgument, lambda: items.document("i00").get(read_time=tomorrow))


# Transactions with queries.
@firestore.transactional
def move(transaction):
    first = list(where("n", "==", 5).stream(transaction=transaction))[0]
    transaction.update(first.reference, {"n": 500})
    transaction.create(items.document("made"), {"n": 5})


move(db.transaction())
assert items.document("i05").get().get("n") == 500


@firestore.transactional
def fail(transaction):
    transaction.set(items.document("never"), {})
    raise KeyError


fails(KeyError, lambda: fail(db.transaction()))
assert not items.document("never").get().exists

# Groups, partitions, and deletion of all that is below a document.
for parent in range(3):
    writer = db.bulk_writer()
    for number in range(200):
        writer.create(db.document(f"parents/p{parent}/children/c{number:03}"), {"n": number})
    writer.close()
group = db.collection_group("children")
assert group.count().get()[0][0].value == 600
parts = list(group.get_partitions(3))
found = [document.id for part in parts for document in part.query().stream()]
assert len(parts) > 1 and len(found) == 600
assert db.recursive_delete(db.collection("parents")) == 600
assert group.count().get()[0][0].value == 0
duplicate = db.batch()
duplicate.set(items.document("twice"), {"n": 1})
duplicate.update(items.document("twice"), {"n": firestore.Increment(1), "at": firestore.SERVER_TIMESTAMP})
times = duplicate.commit()
assert items.document("twice").get().get("at") == times[1].update_time

# Databases do not see each other.
other = firestore.Client(project="breadth", database="other")
try:
    other.collection("items").document("i00").get()
    other.document("a/b").set({"here": True})
    assert not db.document("a/b").get().exists
except exceptions.NotFound as refused:
    # The server has one database only.
    assert "other" in str(refused)

# Mistakes.
fails(exceptions.InvalidArgument, lambda: db.document("a/__x__").set({}))
fails(exceptions.InvalidArgument, lambda: list(where("n", ">", 1).order_by("__name__").stream()))
fails(exceptions.InvalidArgument, lambda: db.document("a/b").set({"__x__": 1}))


async def asynchronous():
    client = firestore.AsyncClient(project="breadth")
    document = client.document("async/one")
    await document.set({"n": 1})
    assert (await document.get()).get("n") == 1
    assert [found.id async for found in client.collection("async").stream()] == ["one"]

    @firestore.async_transactional
    async def increment(transaction):
        found = await document.get(transaction=transaction)
        transaction.update(document, {"n": found.get("n") + 1})

    await asyncio.gather(*(increment(client.transaction()) for _ in range(5)))
    assert (await document.get()).get("n") == 6
    client.close()


asyncio.run(asynchronous())
db.close()
print("breadth: passed")
