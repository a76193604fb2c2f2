"""Transactions of several processes that increment one document; FIRESTORE_EMULATOR_HOST names the server.

increments.py [PROCESSES] [INCREMENTS]
"""

import subprocess
import sys

from google.cloud import firestore

processes, increments = (int(argument) for argument in (sys.argv[1:3] or ("4", "25")))


@firestore.transactional
def increment(transaction, reference):
    count = reference.get(transaction=transaction).to_dict()["count"]
    transaction.update(reference, {"count": count + 1})


def client():
    return firestore.Client(project="increments")


if len(sys.argv) > 3:
    db = client()
    for _ in range(increments):
        increment(db.transaction(), db.document("counters/one"))
    db.close()
    sys.exit()

db = client()
counter = db.document("counters/one")
counter.set({"count": 0})
children = [
    subprocess.Popen([sys.executable, __file__, str(processes), str(increments), "child"])
    for _ in range(processes)
]
failures = sum(child.wait() != 0 for child in children)
assert failures == 0, f"{failures} processes failed"
assert counter.get().get("count") == processes * increments
db.close()
print(f"increments: passed, {processes} processes, {processes * increments} transactions")
