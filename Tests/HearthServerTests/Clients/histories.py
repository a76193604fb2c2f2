"""Random transactions over six cells, which a test replays; FIRESTORE_EMULATOR_HOST names the server.

histories.py PROJECT NAME TRANSACTIONS

Prints "ready", waits for a line, and then prints what each transaction that was committed saw and wrote, as the
transactions of hearth-test-helper do.
"""

import json
import random
import sys

from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

project, name, transactions = sys.argv[1], sys.argv[2], int(sys.argv[3])
db = firestore.Client(project=project)
cells = db.collection("cells")


def episode(id):
    ids = random.sample([f"c{number}" for number in range(6)], 6)
    reads = ids[: random.randint(0, 2)]
    questions = [random.choice([None, random.randrange(3)]) for _ in range(random.randint(0, 2))]
    writes = [
        {"id": cell, "key": random.randrange(3) if random.randrange(4) else None}
        for cell in ids[::-1][: random.randint(0, 2)]
    ]

    @firestore.transactional
    def run(transaction):
        seen = {"id": id, "reads": [], "questions": [], "writes": writes}
        for cell in reads:
            found = cells.document(cell).get(transaction=transaction).to_dict() or {}
            seen["reads"].append({"id": cell, "by": found.get("by")})
        for key in questions:
            query = cells.order_by("k").limit(2) if key is None else cells.where(filter=FieldFilter("k", "==", key))
            found = [{"id": cell.id, "by": cell.get("by")} for cell in query.get(transaction=transaction)]
            seen["questions"].append({"key": key, "found": found})
        for write in writes:
            if write["key"] is None:
                transaction.delete(cells.document(write["id"]))
            else:
                transaction.set(cells.document(write["id"]), {"k": write["key"], "by": id})
        transaction.set(db.document(f"episodes/{id}"), {"n": 1})
        return seen

    while True:
        try:
            return run(db.transaction(max_attempts=1000))
        except exceptions.Aborted:
            # A document was read twice, and another commit was in between. The client repeats only what the commit
            # refuses.
            pass


print("ready", flush=True)
sys.stdin.readline()
for number in range(transactions):
    print(json.dumps(episode(f"{name}-{number}")), flush=True)
db.close()
