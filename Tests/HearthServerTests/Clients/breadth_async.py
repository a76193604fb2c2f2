"""What Google's asynchronous Python client can do; FIRESTORE_EMULATOR_HOST names the server.

The client has no listeners. admin.py runs this with a client of firebase-admin.
"""

import asyncio
import datetime
import math

from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.base_vector_query import DistanceMeasure
from google.cloud.firestore_v1.query_profile import ExplainOptions

from breadth import FILTERS, ITEMS, NAME, OPERATORS, same, tomorrow, values


async def fails(error, call):
    """The message of the error with which a call, or a stream, ends."""
    try:
        if hasattr(call, "__aiter__"):
            await rest(call)
        else:
            await call
    except error as caught:
        return str(caught)
    raise AssertionError(f"{error.__name__} was not raised")


async def rest(stream):
    return [element async for element in stream]


async def names(stream):
    return [element.id for element in await rest(stream)]


async def ids(query, **options):
    return [int(document.id[1:]) async for document in query.stream(**options)]


async def results(aggregation, **options):
    return {result.alias: result.value for result in (await aggregation.get(**options))[0]}


async def check_documents(db):
    shelf = db.collection("async")
    a = shelf.document("a")
    created = await a.create({"m": {"x": 1, "y": 2}, "n": 1})
    assert (await a.get()).create_time == created.update_time
    await fails(exceptions.AlreadyExists, a.create({}))
    await fails(exceptions.NotFound, shelf.document("none").update({"n": 1}))
    await fails(exceptions.NotFound, shelf.document("none").delete(option=db.write_option(exists=True)))
    snapshot = await a.get()
    past = db.write_option(last_update_time=snapshot.update_time - datetime.timedelta(hours=1))
    await fails(exceptions.FailedPrecondition, a.delete(option=past))
    await fails(exceptions.FailedPrecondition, a.update({"n": 9}, option=past))
    await a.update({"n": 2, "m.z": 3}, option=db.write_option(last_update_time=snapshot.update_time))
    await a.set({"m": {"y": firestore.DELETE_FIELD}, "l": [1, 2]}, merge=True)
    assert (await a.get()).to_dict() == {"m": {"x": 1, "z": 3}, "n": 2, "l": [1, 2]}
    await a.set({"m": {"x": 5}, "n": 7}, merge=["n"])
    await a.update({
        "n": firestore.Increment(0.5), "l": firestore.ArrayRemove([1]), "u": firestore.ArrayUnion(["a"]),
        "max": firestore.Maximum(3), "min": firestore.Minimum(4), "at": firestore.SERVER_TIMESTAMP})
    changed = await a.get()
    assert changed.get("at") == changed.update_time
    assert (await a.get(["m.x", "n", "l", "u", "max", "min"])).to_dict() == {
        "m": {"x": 1}, "n": 7.5, "l": [2], "u": ["a"], "max": 3, "min": 4}
    for number, value in enumerate(values(db)):
        await db.document(f"async-kinds/k{number:02}").set({"value": value})
        assert same((await db.document(f"async-kinds/k{number:02}").get()).get("value"), value), value
    added_at, added = await shelf.add({"n": 1})
    assert (await added.get()).update_time == added_at
    found = {found.id: found.exists async for found in db.get_all([a, shelf.document("none"), added])}
    assert found == {"a": True, "none": False, added.id: True}
    await shelf.document("missing/notes/x").set({})
    assert set(await names(shelf.list_documents(page_size=1))) == {"a", "missing", added.id}
    assert "async" in await names(db.collections())
    assert await names(shelf.document("missing").collections()) == ["notes"]

    batch = db.batch()
    batch.create(shelf.document("made"), {"n": 1})
    batch.update(shelf.document("nowhere"), {"n": 1})
    await fails(exceptions.NotFound, batch.commit())
    assert not (await shelf.document("made").get()).exists
    async with db.batch() as batch:
        batch.create(shelf.document("made"), {"n": 1})
        batch.set(a, {"n": 1})
        batch.delete(added)
    assert (await shelf.document("made").get()).exists and not (await added.get()).exists
    await a.delete()
    assert not (await a.get()).exists


async def check_queries(db):
    items = db.collection("async-items")
    # The writer of this client is the synchronous one.
    writer = db.bulk_writer()
    for number, item in enumerate(ITEMS):
        writer.create(items.document(f"i{number:02}"), item)
    await asyncio.to_thread(writer.close)
    ordered = items.order_by("n")

    def where(field, op, value):
        return items.where(filter=FieldFilter(field, op, value))

    for field, op, value in FILTERS:
        expected = [item["n"] for item in ITEMS if OPERATORS[op](item[field], value)]
        assert await ids(where(field, op, value).order_by("n")) == expected, (field, op, value)
    assert await ids(where("n", "==", math.nan)) == [] and len(await ids(where("n", "!=", None))) == 40
    either = Or([FieldFilter("n", "<", 2), And([FieldFilter("n", ">", 37), FieldFilter("even", "==", True)])])
    assert await ids(items.where(filter=either)) == [0, 1, 38]
    assert await ids(where(NAME, "in", [items.document("i07"), items.document("i03")])) == [3, 7]
    assert await ids(ordered.start_after({"n": 3}).end_at({"n": 5})) == [4, 5]
    assert await ids(ordered.start_at({"n": 3}).end_before({"n": 5})) == [3, 4]
    assert await ids(ordered.start_at(await items.document("i37").get())) == [37, 38, 39]
    assert await ids(ordered.offset(3).limit(2)) == [3, 4]
    assert await ids(items.order_by("m.k", direction="DESCENDING").order_by("n").limit(2)) == [3, 7]
    assert [found.id for found in await items.order_by("n").limit_to_last(2).get()] == ["i38", "i39"]
    assert (await items.select(["m.k"]).limit(1).get())[0].to_dict() == {"m": {"k": 0}}
    await fails(exceptions.InvalidArgument, where("n", ">", 1).order_by(NAME).stream())

    near = items.find_nearest(
        "v", [10.0, 1.0], 10, DistanceMeasure.EUCLIDEAN, distance_result_field="away", distance_threshold=1.5)
    assert {found.id: found.get("away") for found in await near.get()} == {"i10": 0, "i09": 1, "i11": 1}
    assert await ids(items.find_nearest("v", [1.0, 0.0], 2, DistanceMeasure.DOT_PRODUCT)) == [39, 38]
    assert await ids(items.find_nearest("v", [0.0, 1.0], 2, DistanceMeasure.COSINE)) == [0, 1]

    numbers = items.sum("n", alias="sum").avg("n", alias="avg").count(alias="count")
    assert await results(numbers) == {"sum": 780, "avg": 19.5, "count": 40}
    assert await results(ordered.limit(4).sum("n", alias="s")) == {"s": 6}
    assert [result.value async for row in items.count().stream() for result in row] == [40]

    analyze, plan = ExplainOptions(analyze=True), ExplainOptions(analyze=False)
    fourth = where("n", "==", 4)
    explained = await fourth.get(explain_options=analyze)
    assert [found.id for found in explained] == ["i04"]
    assert explained.get_explain_metrics().plan_summary.indexes_used[0]["properties"] == "(n ASC, __name__ ASC)"
    assert explained.get_explain_metrics().execution_stats.results_returned == 1
    streamed = fourth.stream(explain_options=analyze)
    assert await names(streamed) == ["i04"]
    assert (await streamed.get_explain_metrics()).execution_stats.read_operations == 1
    assert len(await fourth.get(explain_options=plan)) == 0
    counted = await fourth.count().get(explain_options=analyze)
    assert counted.get_explain_metrics().execution_stats.results_returned == 1
    nearest = await near.get(explain_options=analyze)
    assert nearest.get_explain_metrics().execution_stats.results_returned == 3


async def check_past(db):
    items = db.collection("async-items")
    before = (await items.document("i00").get()).read_time
    await items.document("i00").set({"n": -1})
    await items.document("i99").set({"n": 99})
    await items.document("i01").delete()
    await db.document("async-later/x").set({})
    assert (await items.document("i00").get(read_time=before)).get("n") == 0
    assert await ids(items.order_by("n"), read_time=before) == list(range(40))
    assert len(await items.get(read_time=before)) == 40
    assert await results(items.sum("n", alias="s"), read_time=before) == {"s": 780}
    assert [found.exists async for found in db.get_all([items.document("i99")], read_time=before)] == [False]
    listed = await names(items.list_documents(read_time=before))
    assert "i99" not in listed and "i01" in listed
    assert "async-later" in await names(db.collections())
    assert "async-later" not in await names(db.collections(read_time=before))
    group = db.collection_group("async-items")
    parts = await rest(group.get_partitions(2, read_time=before))
    assert sum([len(await part.query().get(read_time=before)) for part in parts]) == 40
    await fails(exceptions.InvalidArgument, items.document("i00").get(read_time=tomorrow()))


async def check_transactions(db):
    accounts = db.collection("async-accounts")
    one = accounts.document("one")
    await one.set({"n": 1})

    async def increment(transaction):
        found = await one.get(transaction=transaction)
        transaction.update(one, {"n": found.get("n") + 1})

    # Each has a wrapper of its own: calls of one would repeat, and so end, each other's attempts.
    await asyncio.gather(*(
        firestore.async_transactional(increment)(db.transaction(max_attempts=20)) for _ in range(5)))
    assert (await one.get()).get("n") == 6
    for name in "abc":
        await accounts.document(name).set({"n": 10})

    @firestore.async_transactional
    async def all_operations(transaction):
        # The client's own transaction.get_all(...) and transaction.get(document) always end with a TypeError.
        a, b = await rest(db.get_all([accounts.document("a"), accounts.document("b")], transaction=transaction))
        c = await accounts.document("c").get(transaction=transaction)
        rich = await rest(await transaction.get(accounts.where(filter=FieldFilter("n", ">", 9))))
        count = (await results(accounts.count(alias="n"), transaction=transaction))["n"]
        assert (a.get("n") + b.get("n") + c.get("n"), len(rich), count) == (30, 3, 4)
        transaction.update(a.reference, {"n": firestore.Increment(1)})
        transaction.set(b.reference, {"m": 1}, merge=True)
        transaction.delete(c.reference)
        transaction.create(accounts.document("d"), {"n": count})

    transaction = db.transaction()
    await all_operations(transaction)
    assert len(transaction.write_results) == 4, transaction.write_results
    assert {found.id: found.to_dict() for found in await accounts.get()} == {
        "a": {"n": 11}, "b": {"n": 10, "m": 1}, "d": {"n": 4}, "one": {"n": 6}}

    @firestore.async_transactional
    async def fail(transaction):
        transaction.set(accounts.document("never"), {})
        raise KeyError

    await fails(KeyError, fail(db.transaction()))
    assert not (await accounts.document("never").get()).exists

    attempts = []

    @firestore.async_transactional
    async def conflicting(transaction):
        found = await ids_in(transaction, accounts.where(filter=FieldFilter("n", ">=", 100)))
        attempts.append(found)
        if len(attempts) == 1:
            await accounts.document("over").set({"n": 100})
        transaction.set(accounts.document("seen"), {"found": found})

    await conflicting(db.transaction())
    assert attempts == [[], ["over"]], attempts
    assert (await accounts.document("seen").get()).get("found") == ["over"]
    await accounts.document("over").delete()
    attempts.clear()
    assert "1 attempts" in await fails(ValueError, conflicting(db.transaction(max_attempts=1)))

    @firestore.async_transactional
    async def read_twice(transaction):
        first = (await one.get(transaction=transaction)).get("n")
        await one.update({"n": 1000})
        return first, (await one.get(transaction=transaction)).get("n")

    assert await read_twice(db.transaction(read_only=True)) == (6, 6)
    assert (await one.get()).get("n") == 1000


async def ids_in(transaction, query):
    return [found.id async for found in query.stream(transaction=transaction)]


async def check_groups(db):
    writer = db.bulk_writer()
    for number in range(600):
        writer.create(db.document(f"async-parents/p{number % 3}/async-children/c{number:03}"), {"n": number})
    await asyncio.to_thread(writer.close)
    await db.document("async-parentsandmore/x").set({})
    group = db.collection_group("async-children")
    assert await results(group.count(alias="n")) == {"n": 600}
    assert await names(group.where(filter=FieldFilter("n", "<", 3)).order_by("n").stream()) == ["c000", "c001", "c002"]
    parts = await rest(group.get_partitions(3))
    pieces = [[found.reference.path for found in await part.query().get()] for part in parts]
    assert len(parts) > 1 and all(pieces)
    assert sum(pieces, []) == [found.reference.path for found in await group.get()]
    assert len(sum(pieces, [])) == 600
    # The document itself is counted, although it does not exist.
    assert await db.recursive_delete(db.document("async-parents/p0")) == 201
    assert await results(group.count(alias="n")) == {"n": 400}
    assert await db.recursive_delete(db.collection("async-parents"), chunk_size=100) == 400
    assert await results(group.count(alias="n")) == {"n": 0}
    assert (await db.document("async-parentsandmore/x").get()).exists


async def check(db):
    """Runs all. The database has no collection whose name begins with "async"."""
    await check_documents(db)
    await check_queries(db)
    await check_past(db)
    await check_transactions(db)
    await check_groups(db)


async def main():
    client = firestore.AsyncClient(project="breadth-async")
    await check(client)
    client.close()


if __name__ == "__main__":
    asyncio.run(main())
    print("breadth_async: passed")
