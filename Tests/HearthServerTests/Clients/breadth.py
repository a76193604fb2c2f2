"""What Google's Python client can do, beyond slice.py; FIRESTORE_EMULATOR_HOST names the server.

admin.py runs this with a client of firebase-admin.
"""

import datetime
import math
import queue
import threading

from google.api_core import exceptions
from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.base_vector_query import DistanceMeasure
from google.cloud.firestore_v1.bulk_writer import BulkRetry, BulkWriterOptions, SendMode
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.query_profile import ExplainOptions
from google.cloud.firestore_v1.vector import Vector

# For what comes, however busy the machine is.
SECONDS = 120
NAME = FieldPath.document_id()
ITEMS = [
    {"n": number, "even": number % 2 == 0, "tags": [f"t{number % 5}"], "m": {"k": number % 4, "a.b": number % 3},
     "v": Vector([number, 1.0])}
    for number in range(40)
]
# A field's test, for each operator.
OPERATORS = {
    "<": lambda value, other: value < other,
    "<=": lambda value, other: value <= other,
    "==": lambda value, other: value == other,
    "!=": lambda value, other: value != other,
    ">=": lambda value, other: value >= other,
    ">": lambda value, other: value > other,
    "in": lambda value, others: value in others,
    "not-in": lambda value, others: value not in others,
    "array_contains": lambda value, other: other in value,
    "array_contains_any": lambda value, others: any(other in value for other in others),
}
FILTERS = [("n", op, pivot) for op in ["<", "<=", "==", "!=", ">=", ">"] for pivot in [-1, 0, 17, 17.5, 39, 40]] + [
    ("n", "in", [3, 1, 99]), ("n", "in", [7]), ("n", "not-in", [5, 39, 99]), ("n", "not-in", list(range(10))),
    ("tags", "array_contains", "t1"), ("tags", "array_contains", "t9"),
    ("tags", "array_contains_any", ["t1", "t2"]), ("tags", "in", [["t3"], ["t9"]]), ("tags", "==", ["t4"]),
    ("even", "==", True), ("even", "!=", True)]


def values(db):
    """A value of each kind, in Firestore's order of kinds."""
    return [
        None, False, True, math.nan, -math.inf, -2**63, -0.5, 0.1, 2**63 - 1, math.inf,
        DatetimeWithNanoseconds(2024, 2, 29, 1, 2, 3, nanosecond=123456000, tzinfo=datetime.timezone.utc),
        "", "za\u017c\u00f3\u0142\u0107", "\U0001f600", b"", bytes(range(256)), db.document("kinds/a"),
        db.document("kinds/a/b/c"), firestore.GeoPoint(-52.5, 21.25), [], [1, "a", None, {"x": [b"\0"]}],
        Vector([1.0, -2.5]), {}, {"a.b": {"`": 1, "\u017c": []}}]


def same(value, other):
    return value == other or value != value and other != other


def fails(error, body):
    try:
        body()
    except error as caught:
        return str(caught)
    raise AssertionError(f"{error.__name__} was not raised")


def ids(query, **options):
    return [int(document.id[1:]) for document in query.stream(**options)]


def results(aggregation, **options):
    return {result.alias: result.value for result in aggregation.get(**options)[0]}


def tomorrow():
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)


def check_lists(db):
    """Documents that only have documents below them are listed too."""
    shelf = db.collection("shelf")
    assert shelf.document("a").get().read_time.timestamp() > 0, "a state without commits is of the epoch"
    shelf.document("a").set({"n": 1})
    shelf.document("missing/notes/x").set({"n": 2})
    listed = {document.id for document in shelf.list_documents(page_size=1)}
    assert listed == {"a", "missing"}, listed
    assert [collection.id for collection in db.collections()] == ["shelf"]
    assert [collection.id for collection in shelf.document("missing").collections()] == ["notes"]


def check_values(db):
    kinds = db.collection("kinds")
    all_values = values(db)
    for number, value in enumerate(all_values):
        kinds.document(f"k{number:02}").set({"value": value})
    for number, value in enumerate(all_values):
        found = kinds.document(f"k{number:02}").get().get("value")
        assert same(found, value) and isinstance(found, type(value)), (value, found)
        # An equality without an index of vectors and NaN finds them too.
        equal = ids(kinds.where(filter=FieldFilter("value", "==", value)))
        assert equal == [number], (value, equal)
    assert ids(kinds.order_by("value")) == list(range(len(all_values)))
    assert ids(kinds.order_by("value", direction="DESCENDING")) == list(reversed(range(len(all_values))))
    # A comparison finds values of the same kind only, and null and NaN have tests of their own.
    assert ids(kinds.where(filter=FieldFilter("value", ">", -1)).order_by("value")) == [6, 7, 8, 9]
    assert ids(kinds.where(filter=FieldFilter("value", "<", "zz")).order_by("value")) == [11, 12]
    assert ids(kinds.where(filter=FieldFilter("value", "!=", None))) == list(range(1, len(all_values)))
    others = [number for number in range(len(all_values)) if number not in (0, 3)]
    assert ids(kinds.where(filter=FieldFilter("value", "!=", math.nan))) == others
    # Times have microseconds.
    kinds.document("time").set({"value": DatetimeWithNanoseconds(
        2024, 1, 1, nanosecond=123456789, tzinfo=datetime.timezone.utc)})
    time = kinds.document("time").get().get("value")
    assert (time.microsecond, time.timestamp_pb().nanos) == (123456, 123456000)


def check_writes(db):
    shelf = db.collection("writes")
    a = shelf.document("a")
    a.set({"n": 1})
    snapshot = a.get()
    future = snapshot.update_time + datetime.timedelta(hours=1)
    fails(exceptions.InvalidArgument, lambda: a.delete(option=db.write_option(last_update_time=future)))
    past = snapshot.update_time - datetime.timedelta(hours=1)
    fails(exceptions.FailedPrecondition, lambda: a.update({"n": 2}, option=db.write_option(last_update_time=past)))
    fails(exceptions.FailedPrecondition, lambda: a.delete(option=db.write_option(last_update_time=past)))
    assert a.get().to_dict() == {"n": 1}
    a.update({"n": 2}, option=db.write_option(last_update_time=snapshot.update_time))
    fails(exceptions.NotFound, lambda: shelf.document("none").delete(option=db.write_option(exists=True)))
    shelf.document("none").delete()

    # Merges.
    a.set({"m": {"x": 1, "y": 2}, "n": 1})
    a.set({"m": {"y": 3}, "o": [1]}, merge=True)
    assert a.get().to_dict() == {"m": {"x": 1, "y": 3}, "n": 1, "o": [1]}
    a.set({"m": {"x": 5, "y": 6}, "n": 7}, merge=["m.x"])
    assert a.get().to_dict() == {"m": {"x": 5, "y": 3}, "n": 1, "o": [1]}
    a.set({"n": firestore.DELETE_FIELD, "m": {"y": firestore.DELETE_FIELD}}, merge=True)
    assert a.get().to_dict() == {"m": {"x": 5}, "o": [1]}
    shelf.document("merged").set({"m": {"x": 1}}, merge=True)
    assert shelf.document("merged").get().to_dict() == {"m": {"x": 1}}
    a.update({"m.z": 1, "`a.b`": 2, "o": firestore.DELETE_FIELD})
    assert a.get().to_dict() == {"m": {"x": 5, "z": 1}, "a.b": 2}
    assert a.get(["m.z", "`a.b`", "none"]).to_dict() == {"m": {"z": 1}, "a.b": 2}

    # Transforms.
    a.set({"n": 5, "d": 1.5, "list": [1, 2, 2.0, 3], "text": "x"})
    a.update({
        "n": firestore.Increment(2.5), "d": firestore.Maximum(1), "e": firestore.Minimum(4),
        "text": firestore.Increment(3),
        "list": firestore.ArrayRemove([2, 9]), "union": firestore.ArrayUnion([1, 1.0, "a"]),
        "at": firestore.SERVER_TIMESTAMP})
    changed = a.get()
    at = changed.get("at")
    assert changed.to_dict() == {
        "n": 7.5, "d": 1.5, "e": 4, "text": 3, "list": [1, 3], "union": [1, "a"], "at": at}, changed.to_dict()
    assert at == changed.update_time
    a.update({"n": firestore.Maximum(8), "d": firestore.Minimum(1), "e": firestore.Increment(2**63 - 1)})
    assert a.get(["n", "d", "e"]).to_dict() == {"n": 8, "d": 1, "e": 2**63 - 1}

    # Names that the client makes, and several documents.
    added_at, added = shelf.add({"n": 1})
    assert len(added.id) == 20 and added.get().update_time == added_at
    fails(exceptions.AlreadyExists, lambda: shelf.add({}, added.id))
    several = list(db.get_all([a, shelf.document("none"), added], ["n"]))
    assert {found.id: found.to_dict() for found in several} == {"a": {"n": 8}, "none": None, added.id: {"n": 1}}

    # A batch is written whole, or not at all.
    batch = db.batch()
    batch.create(shelf.document("made"), {"n": 1})
    batch.update(shelf.document("nowhere"), {"n": 1})
    fails(exceptions.NotFound, batch.commit)
    assert not shelf.document("made").get().exists
    batch = db.batch()
    batch.create(shelf.document("made"), {"n": 1})
    batch.set(a, {"n": 1}, merge=True)
    batch.delete(added)
    assert len(batch.commit()) == 3
    assert shelf.document("made").get().exists and not added.get().exists and a.get().get("n") == 1
    with db.batch() as batch:
        batch.delete(a)
    assert not a.get().exists
    twice = db.batch()
    twice.set(a, {"n": 1})
    twice.update(a, {"n": firestore.Increment(1), "at": firestore.SERVER_TIMESTAMP})
    times = twice.commit()
    assert a.get().get("at") == times[1].update_time and a.get().get("n") == 2


def check_queries(db):
    items = db.collection("items")
    writer = db.bulk_writer()
    for number, item in enumerate(ITEMS):
        writer.create(items.document(f"i{number:02}"), item)
    writer.close()

    def where(field, op, value):
        return items.where(filter=FieldFilter(field, op, value))

    for field, op, value in FILTERS:
        expected = [item["n"] for item in ITEMS if OPERATORS[op](item[field], value)]
        found = ids(where(field, op, value).order_by("n"))
        assert found == expected, (field, op, value, found, expected)
        assert results(where(field, op, value).count(alias="n")) == {"n": len(expected)}, (field, op, value)
    assert ids(where("m.k", "==", 3).limit(3)) == [3, 7, 11]
    assert ids(where("m.`a.b`", "==", 2).limit(3)) == [2, 5, 8]
    assert ids(where("m", "==", {"k": 1, "a.b": 1})) == [1, 13, 25, 37]
    assert ids(where("none", "==", None)) == [] and ids(where("none", "!=", 1)) == []
    assert ids(where("tags", "array_contains", "t1").where(filter=FieldFilter("even", "==", True))) == [6, 16, 26, 36]
    assert ids(where("n", ">", 3).where(filter=FieldFilter("n", "<=", 6))) == [4, 5, 6]
    assert ids(where("n", ">", 3).where(filter=FieldFilter("m.k", "<", 1)).limit(3)) == [4, 8, 12]
    either = Or([FieldFilter("n", "<", 2), And([FieldFilter("n", ">", 37), FieldFilter("even", "==", True)])])
    assert ids(items.where(filter=either)) == [0, 1, 38]
    both = And([either, Or([FieldFilter("even", "==", True), FieldFilter("tags", "array_contains", "t9")])])
    assert ids(items.where(filter=both)) == [0, 38]
    # By name.
    assert ids(where(NAME, "==", items.document("i07"))) == [7]
    assert ids(where(NAME, "in", [items.document("i07"), items.document("i03"), items.document("no")])) == [3, 7]
    assert ids(where(NAME, ">=", items.document("i38"))) == [38, 39]
    assert ids(where(NAME, "!=", items.document("i00")).limit(1)) == [1]

    # Orders, cursors, limits, projections.
    ordered = items.order_by("n")
    assert ids(ordered.start_after({"n": 3}).end_at({"n": 5})) == [4, 5]
    assert ids(ordered.start_at({"n": 3}).end_before({"n": 5})) == [3, 4]
    assert ids(ordered.start_at(items.document("i37").get())) == [37, 38, 39]
    assert ids(ordered.start_after(items.document("i37").get())) == [38, 39]
    assert ids(ordered.end_at(items.document("i01").get())) == [0, 1]
    assert ids(ordered.end_before(items.document("i01").get())) == [0]
    assert ids(ordered.offset(38)) == [38, 39] and ids(ordered.offset(3).limit(2)) == [3, 4]
    down = items.order_by("n", direction=firestore.Query.DESCENDING)
    assert ids(down.start_at({"n": 2})) == [2, 1, 0] and ids(down.limit(2)) == [39, 38]
    groups = items.order_by("m.k", direction="DESCENDING").order_by("n")
    expected = sorted(range(40), key=lambda number: (-(number % 4), number))
    assert ids(groups) == expected
    assert ids(groups.start_after({"m": {"k": 2}, "n": 10}).limit(3)) == [14, 18, 22]
    assert ids(groups.start_at({"m": {"k": 1}}).limit(2)) == [1, 5]
    assert ids(items.order_by(NAME, direction="DESCENDING").limit(2)) == [39, 38]
    assert ids(items.order_by(NAME).start_after({NAME: items.document("i37")})) == [38, 39]
    # The client turns the orders of this query in place.
    assert [document.id for document in items.order_by("n").limit_to_last(2).get()] == ["i38", "i39"]
    assert items.select(["even"]).limit(1).get()[0].to_dict() == {"even": True}
    assert items.select(["m.`a.b`", "none"]).limit(1).get()[0].to_dict() == {"m": {"a.b": 0}}
    assert items.select([NAME]).limit(1).get()[0].to_dict() == {}
    assert [len(chunk) for chunk in items.limit(25)._chunkify(10)] == [10, 10, 5]
    fails(exceptions.InvalidArgument, lambda: list(where("n", ">", 1).order_by(NAME).stream()))
    fails(exceptions.InvalidArgument, lambda: list(where("n", "not-in", [1]).where(
        filter=FieldFilter("n", "!=", 3)).stream()))


def check_vectors(db):
    items = db.collection("items")
    nearest = items.find_nearest("v", Vector([10.2, 1.0]), 2, DistanceMeasure.EUCLIDEAN)
    assert ids(nearest) == [10, 11]
    near = items.find_nearest(
        "v", [10.0, 1.0], 10, DistanceMeasure.EUCLIDEAN, distance_result_field="away", distance_threshold=1.5)
    assert {found.id: found.get("away") for found in near.get()} == {"i10": 0, "i09": 1, "i11": 1}
    product = items.find_nearest("v", [1.0, 0.0], 3, DistanceMeasure.DOT_PRODUCT, distance_result_field="away")
    assert [found.get("away") for found in product.get()] == [39, 38, 37]
    # The direction of (0, 1) is the first item's.
    cosine = items.find_nearest("v", [0.0, 1.0], 2, DistanceMeasure.COSINE, distance_result_field="away")
    found = cosine.get()
    assert [item.id for item in found] == ["i00", "i01"]
    assert abs(found[0].get("away")) < 1e-9 and abs(found[1].get("away") - (1 - 1 / math.sqrt(2))) < 1e-9
    among = items.where(filter=FieldFilter("even", "==", True)).find_nearest(
        "v", [11.0, 1.0], 2, DistanceMeasure.EUCLIDEAN)
    assert ids(among) == [10, 12]
    metrics = nearest.get(explain_options=ExplainOptions(analyze=True)).get_explain_metrics()
    assert metrics.execution_stats.results_returned == 2
    fails(exceptions.InvalidArgument, lambda: items.find_nearest(
        "v", [1.0], 1001, DistanceMeasure.EUCLIDEAN).get())


def check_aggregations(db):
    items = db.collection("items")
    numbers = items.sum("n", alias="sum").avg("n", alias="avg").count(alias="count")
    assert results(numbers) == {"sum": 780, "avg": 19.5, "count": 40}
    assert "duplicate alias" in fails(
        exceptions.InvalidArgument, lambda: items.sum("n", alias="a").avg("n", alias="a").get())
    assert results(items.order_by("n").limit(4).sum("n", alias="s").count(alias="c")) == {"s": 6, "c": 4}
    assert results(items.order_by("n").start_at({"n": 38}).avg("n", alias="a")) == {"a": 38.5}
    nothing = items.where(filter=FieldFilter("n", ">", 99))
    # The client shows an average of nothing, which is null, as 0.
    assert results(nothing.sum("n", alias="s").avg("n", alias="a").count(alias="c")) == {"s": 0, "a": 0, "c": 0}
    assert results(items.sum("tags", alias="s").avg("tags", alias="a")) == {"s": 0, "a": 0}
    assert results(items.sum(FieldPath("m", "a.b"), alias="s")) == {"s": sum(number % 3 for number in range(40))}
    # Other names than the user's are field_1, field_2, ...
    assert results(items.count().sum("n")) == {"field_1": 40, "field_2": 780}
    streamed = [result.value for row in items.count().stream() for result in row]
    assert streamed == [40]
    sums = db.collection("sums")
    for name, value in [("a", 2**63 - 1), ("b", 1), ("c", 0.5), ("d", "text"), ("e", None)]:
        sums.document(name).set({"n": value})
    assert results(sums.where(filter=FieldFilter(NAME, "<=", sums.document("b"))).sum("n", alias="s")) == {"s": 2.0**63}
    assert results(sums.where(filter=FieldFilter(NAME, ">", sums.document("a"))).avg("n", alias="a")) == {"a": 0.75}


def check_explanations(db):
    items = db.collection("items")
    fourth = items.where(filter=FieldFilter("n", "==", 4))
    analyze, plan = ExplainOptions(analyze=True), ExplainOptions(analyze=False)
    explained = fourth.get(explain_options=analyze)
    metrics = explained.get_explain_metrics()
    assert [found.id for found in explained] == ["i04"]
    assert metrics.plan_summary.indexes_used[0]["properties"] == "(n ASC, __name__ ASC)"
    assert metrics.plan_summary.indexes_used[0]["query_scope"] == "Collection"
    assert metrics.execution_stats.results_returned == 1 and metrics.execution_stats.read_operations == 1
    assert metrics.execution_stats.execution_duration.total_seconds() > 0
    planned = items.get(explain_options=plan)
    assert len(planned) == 0 and planned.get_explain_metrics().plan_summary.indexes_used
    streamed = fourth.stream(explain_options=analyze)
    assert ids_of(streamed) == ["i04"]
    assert streamed.get_explain_metrics().execution_stats.results_returned == 1
    nothing = items.where(filter=FieldFilter("n", "==", -4)).get(explain_options=analyze)
    assert len(nothing) == 0 and nothing.get_explain_metrics().execution_stats.results_returned == 0
    counted = fourth.count(alias="c").get(explain_options=analyze)
    assert counted[0][0].value == 1 and counted.get_explain_metrics().execution_stats.results_returned == 1
    assert counted.get_explain_metrics().plan_summary.indexes_used[0]["properties"] == "(n ASC, __name__ ASC)"
    planned = fourth.count().get(explain_options=plan)
    assert len(planned) == 0 and planned.get_explain_metrics().plan_summary.indexes_used


def ids_of(documents):
    return [document.id for document in documents]


def check_past(db):
    items = db.collection("items")
    ordered = items.order_by("n")
    before = items.document("i00").get().read_time
    items.document("i00").set({"n": -1})
    items.document("i99").set({"n": 99})
    items.document("i01").delete()
    items.document("i02/below/x").set({})
    db.document("later/x").set({})
    assert items.document("i00").get(read_time=before).get("n") == 0
    assert items.document("i01").get(read_time=before).exists and not items.document("i01").get().exists
    assert [found.exists for found in db.get_all([items.document("i99")], read_time=before)] == [False]
    assert len(ordered.get(read_time=before)) == 40 and len(ordered.get()) == 40
    assert ids(ordered, read_time=before) == list(range(40))
    assert ids(ordered.limit(2)) == [0, 2]
    assert results(items.sum("n", alias="s"), read_time=before) == {"s": 780}
    assert results(items.sum("n", alias="s")) == {"s": 877}
    listed = ids_of(items.list_documents(read_time=before))
    assert "i99" not in listed and "i01" in listed
    assert "later" in ids_of(db.collections()) and "later" not in ids_of(db.collections(read_time=before))
    assert ids_of(items.document("i02").collections(read_time=before)) == []
    assert ids_of(items.document("i02").collections()) == ["below"]
    group = db.collection_group("items")
    assert sum(len(part.query().get(read_time=before)) for part in group.get_partitions(2, read_time=before)) == 40
    fails(exceptions.InvalidArgument, lambda: items.document("i00").get(read_time=tomorrow()))
    # Before the first commit there was nothing.
    assert not items.document("i00").get(read_time=before - datetime.timedelta(days=365)).exists


def check_transactions(db):
    items, accounts = db.collection("items"), db.collection("accounts")

    @firestore.transactional
    def move(transaction):
        first = list(items.where(filter=FieldFilter("n", "==", 5)).stream(transaction=transaction))[0]
        transaction.update(first.reference, {"n": 500})
        transaction.create(items.document("made"), {"n": 5})

    transaction = db.transaction()
    move(transaction)
    assert items.document("i05").get().get("n") == 500
    assert transaction.commit_time == items.document("made").get().update_time
    # One result for each write: what was read has none.
    assert len(transaction.write_results) == 2, transaction.write_results

    @firestore.transactional
    def fail(transaction):
        transaction.set(items.document("never"), {})
        raise KeyError

    fails(KeyError, lambda: fail(db.transaction()))
    assert not items.document("never").get().exists

    # All ways to read, and all writes.
    for name in "abc":
        accounts.document(name).set({"n": 10})

    @firestore.transactional
    def all_operations(transaction):
        a, b = transaction.get_all([accounts.document("a"), accounts.document("b")])
        c = next(transaction.get(accounts.document("c")))
        rich = list(transaction.get(accounts.where(filter=FieldFilter("n", ">", 5))))
        count = results(accounts.count(alias="n"), transaction=transaction)["n"]
        assert (a.get("n") + b.get("n") + c.get("n"), len(rich), count) == (30, 3, 3)
        transaction.update(a.reference, {"n": firestore.Increment(1)})
        transaction.set(b.reference, {"m": 1}, merge=True)
        transaction.delete(c.reference)
        transaction.create(accounts.document("d"), {"n": count})
        return "done"

    assert all_operations(db.transaction()) == "done"
    assert {found.id: found.to_dict() for found in accounts.stream()} == {
        "a": {"n": 11}, "b": {"n": 10, "m": 1}, "d": {"n": 3}}
    fails(exceptions.AlreadyExists, lambda: all_operations_again(db, accounts))

    # A conflict: another client writes between a read and the commit.
    for read in ["document", "query", "count"]:
        attempts = []

        @firestore.transactional
        def conflicting(transaction):
            many = accounts.where(filter=FieldFilter("n", ">=", 100))
            if read == "document":
                found = accounts.document(f"over {read}").get(transaction=transaction).exists
            elif read == "query":
                found = bool(list(many.stream(transaction=transaction)))
            else:
                found = results(many.count(alias="n"), transaction=transaction)["n"] > 0
            attempts.append(found)
            if len(attempts) == 1:
                accounts.document(f"over {read}").set({"n": 100})
            transaction.set(accounts.document("seen"), {"found": found})

        conflicting(db.transaction())
        assert attempts == [False, True], (read, attempts)
        assert accounts.document("seen").get().get("found") is True
        attempts.clear()
        accounts.document(f"over {read}").delete()
        assert "1 attempts" in fails(ValueError, lambda: conflicting(db.transaction(max_attempts=1)))
        assert accounts.document("seen").get().get("found") is True, "an aborted transaction wrote"
        accounts.document(f"over {read}").delete()

    # Reads of one state, without writes.
    @firestore.transactional
    def read_twice(transaction):
        first = accounts.document("a").get(transaction=transaction).get("n")
        accounts.document("a").update({"n": 1000})
        accounts.document("new").set({"n": 1})
        second = accounts.document("a").get(transaction=transaction).get("n")
        names = ids_of(accounts.stream(transaction=transaction))
        fails(ValueError, lambda: transaction.set(accounts.document("a"), {}))
        return first, second, "new" in names

    assert read_twice(db.transaction(read_only=True)) == (11, 11, False)
    assert accounts.document("a").get().get("n") == 1000


@firestore.transactional
def create_d(transaction, accounts):
    transaction.create(accounts.document("d"), {})


def all_operations_again(db, accounts):
    create_d(db.transaction(), accounts)


def check_groups(db):
    for parent in range(3):
        writer = db.bulk_writer()
        for number in range(200):
            writer.create(db.document(f"parents/p{parent}/children/c{number:03}"), {"n": number, "p": parent})
        writer.close()
    db.document("children/top").set({"n": -1, "p": 9})
    db.document("parents/p0/childrens/c").set({"n": -1})
    group = db.collection_group("children")
    assert results(group.count(alias="n").sum("n", alias="s")) == {"n": 601, "s": 3 * 19900 - 1}
    assert [found.reference.path for found in group.where(filter=FieldFilter("n", "==", 7)).stream()] == [
        f"parents/p{parent}/children/c007" for parent in range(3)]
    assert [found.get("p") for found in group.order_by("n", direction="DESCENDING").order_by(
        "p", direction="DESCENDING").limit(4).stream()] == [2, 1, 0, 2]
    start = db.document("parents/p2/children/c198")
    assert ids_of(group.where(filter=FieldFilter(NAME, ">", start)).stream()) == ["c199"]
    parts = list(group.get_partitions(3))
    pieces = [[document.reference.path for document in part.query().stream()] for part in parts]
    assert len(parts) > 1 and all(pieces)
    assert sum(pieces, []) == sorted(document.reference.path for document in group.stream())
    assert len(sum(pieces, [])) == 601
    fails(ValueError, lambda: list(group.where(filter=FieldFilter("n", "==", 7)).get_partitions(3)))


def check_bulk_writer(db):
    bulk = db.collection("bulk")
    for name in ["there", "old", "gone"]:
        bulk.document(name).set({"n": 1, "m": 1})
    lock, written, failed, batches = threading.Lock(), {}, [], []

    def on_write(reference, result, writer):
        with lock:
            written[reference.id] = result.update_time

    def on_error(failure, writer):
        with lock:
            failed.append((failure.operation.reference.id, failure.code))
        if failure.operation.reference.id != "late":
            return False
        # The document is there when the update is tried again.
        bulk.document("late").set({"m": 5})
        return True

    def make(mode):
        writer = db.bulk_writer(options=BulkWriterOptions(mode=mode, retry=BulkRetry.immediate))
        writer.on_write_result(on_write)
        writer.on_write_error(on_error)
        writer.on_batch_result(lambda batch, response, writer: batches.append(len(response.status)))
        return writer

    for mode in [SendMode.parallel, SendMode.serial]:
        writer = make(mode)
        for number in range(45):
            writer.create(bulk.document(f"{mode.name}{number:02}"), {"n": number})
        writer.close()
        fails(Exception, lambda: writer.delete(bulk.document("there")))
        assert (failed, len(written), sorted(batches)) == ([], 45, [5, 20, 20])
        writer = make(mode)
        writer.create(bulk.document("there"), {"n": 2})
        writer.set(bulk.document("old"), {"n": 3}, merge=True)
        writer.update(bulk.document("late"), {"n": 4})
        writer.update(bulk.document("nowhere"), {"n": 4})
        writer.delete(bulk.document("gone"))
        # One write fails alone. The client tries no more after close().
        writer.flush()
        assert sorted(failed) == [("late", 5), ("nowhere", 5), ("there", 6)], failed
        assert sorted(written)[:3] == ["gone", "late", "old"] and len(written) == 48 and sum(batches) == 51, batches
        assert written["late"] == bulk.document("late").get().update_time
        assert {name: bulk.document(name).get().to_dict() for name in ["there", "old", "late", "nowhere", "gone"]} == {
            "there": {"n": 1, "m": 1}, "old": {"n": 3, "m": 1}, "late": {"n": 4, "m": 5}, "nowhere": None, "gone": None}
        for made in [written, failed, batches]:
            made.clear()
        bulk.document("late").delete()
    assert results(bulk.where(filter=FieldFilter("n", "<", 45)).count(alias="n")) == {"n": 92}


def check_deletion(db):
    """All that is below a document or in a collection, and nothing beside it."""
    parents = db.collection("parents")
    parents.document("p").set({})
    for path in ["parentsandmore/x", "parents/p/deep/a", "parents/p/deep/a/deeper/b", "parents/pp/deep/a"]:
        db.document(path).set({})
    assert db.recursive_delete(parents.document("p"), chunk_size=2) == 3
    assert ids_of(parents.list_documents()) == ["p0", "p1", "p2", "pp"]
    assert db.document("parents/pp/deep/a").get().exists
    assert db.recursive_delete(parents, chunk_size=100) == 602
    assert ids_of(parents.list_documents()) == []
    assert db.document("parentsandmore/x").get().exists
    assert results(db.collection_group("children").count(alias="n")) == {"n": 1}


def check_listeners(db):
    games = db.collection("games")
    games.document("a").set({"n": 1, "open": True})
    games.document("b").set({"n": 2, "open": False})

    def listen(target):
        news = queue.Queue()
        watch = target.on_snapshot(lambda documents, changes, time: news.put((
            ids_of(documents), [(change.type.name, change.document.id) for change in changes], time)))
        return watch, news

    def expect(news, documents, changes):
        found = news.get(timeout=SECONDS)
        assert (found[0], sorted(found[1])) == (documents, sorted(changes)), found
        return found[2]

    everything, all_news = listen(games)
    opened, open_news = listen(games.where(filter=FieldFilter("open", "==", True)).order_by("n"))
    # The client sorts snapshots of descending orders in ascending order.
    top, top_news = listen(games.order_by("n", direction="DESCENDING").limit(1))
    either, either_news = listen(games.where(filter=Or([FieldFilter("n", ">", 2), FieldFilter("open", "==", True)])))
    below, group_news = listen(db.collection_group("moves").where(filter=FieldFilter("n", ">", 0)))
    one, one_news = listen(games.document("c"))
    expect(all_news, ["a", "b"], [("ADDED", "a"), ("ADDED", "b")])
    expect(open_news, ["a"], [("ADDED", "a")])
    expect(top_news, ["b"], [("ADDED", "b")])
    expect(either_news, ["a"], [("ADDED", "a")])
    expect(group_news, [], [])
    first = expect(one_news, [], [])
    # One commit is one snapshot.
    batch = db.batch()
    batch.update(games.document("b"), {"open": True})
    batch.set(games.document("c"), {"n": 3, "open": False})
    batch.set(db.document("games/a/moves/x"), {"n": 1})
    batch.set(db.document("games/b/moves/y"), {"n": 0})
    batch.commit()
    expect(all_news, ["a", "b", "c"], [("MODIFIED", "b"), ("ADDED", "c")])
    expect(open_news, ["a", "b"], [("ADDED", "b")])
    expect(top_news, ["c"], [("ADDED", "c"), ("REMOVED", "b")])
    expect(either_news, ["a", "b", "c"], [("ADDED", "b"), ("ADDED", "c")])
    expect(group_news, ["x"], [("ADDED", "x")])
    assert expect(one_news, ["c"], [("ADDED", "c")]) > first
    batch = db.batch()
    batch.update(games.document("a"), {"n": 5})
    batch.delete(games.document("c"))
    batch.update(db.document("games/a/moves/x"), {"n": 0})
    batch.commit()
    expect(all_news, ["a", "b"], [("MODIFIED", "a"), ("REMOVED", "c")])
    expect(open_news, ["b", "a"], [("MODIFIED", "a")])
    expect(top_news, ["a"], [("ADDED", "a"), ("REMOVED", "c")])
    expect(either_news, ["a", "b"], [("MODIFIED", "a"), ("REMOVED", "c")])
    expect(group_news, [], [("REMOVED", "x")])
    # The client does not say that one document was removed.
    assert one_news.get(timeout=SECONDS)[0] == []
    for watch in [everything, opened, top, either, below, one]:
        watch.unsubscribe()
    games.document("d").set({"n": 9, "open": True})
    assert all(news.empty() for news in [all_news, open_news, top_news, either_news, group_news, one_news])


def check_mistakes(db):
    fails(exceptions.InvalidArgument, lambda: db.document("a/__x__").set({}))
    fails(exceptions.InvalidArgument, lambda: db.document("a/b").set({"__x__": 1}))
    fails(exceptions.InvalidArgument, lambda: db.document("a/b").set({"x": "y" * 1_100_000}))
    fails(exceptions.InvalidArgument, lambda: list(db.collection("a").limit(-1).stream()))
    # The server has no pipelines, which are for Firestore's enterprise edition.
    assert "ENTERPRISE" in fails(exceptions.FailedPrecondition, lambda: db.pipeline().collection("items").execute())


def check(db):
    """Runs all, over an empty database."""
    check_lists(db)
    check_values(db)
    check_writes(db)
    check_queries(db)
    check_vectors(db)
    check_aggregations(db)
    check_explanations(db)
    check_past(db)
    check_transactions(db)
    check_groups(db)
    check_bulk_writer(db)
    check_deletion(db)
    check_listeners(db)
    check_mistakes(db)


if __name__ == "__main__":
    client = firestore.Client(project="breadth")
    check(client)
    client.close()
    print("breadth: passed")
