"""A collection group of many documents is divided into parts of about the same size.

partitions.py [DOCUMENTS]

FIRESTORE_EMULATOR_HOST names the server.
"""

import sys
import time

from google.cloud import firestore
from google.cloud.firestore_v1.field_path import FieldPath

count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
asked = 16
db = firestore.Client(project="partitions")
written = time.time()
# Parents of very different sizes: half of the documents are below one of them.
names = [f"users/u{(number % 100) * (number % 2):02}/visits/v{number:06}" for number in range(count)]
for start in range(0, count, 500):
    batch = db.batch()
    for number in range(start, min(start + 500, count)):
        batch.set(db.document(names[number]), {"n": number})
    batch.commit()
written = time.time() - written

group = db.collection_group("visits")
asking = time.time()
parts = list(group.get_partitions(asked))
asking = time.time() - asking
# The last part has no cursor after it.
assert len(parts) - 1 >= 8, f"{len(parts) - 1} cursors"
assert len(parts) - 1 <= asked, f"{len(parts) - 1} cursors"
# A part begins with the document of its cursor.
names.sort()
positions = [0] + [names.index(part.start_at.path) for part in parts[1:]] + [count]
assert parts[0].start_at is None and parts[-1].end_at is None
assert all(part.end_at == after.start_at for part, after in zip(parts, parts[1:]))
sizes = [end - start for start, end in zip(positions, positions[1:])]
assert min(sizes) > 0 and max(sizes) <= 3 * min(sizes), sizes
reading = time.time()
for number in [0, len(parts) // 2, len(parts) - 1]:
    documents = parts[number].query().select([FieldPath.document_id()]).stream()
    found = [document.reference.path for document in documents]
    assert found == names[positions[number]:positions[number + 1]], f"part {number}: {len(found)} documents"
reading = time.time() - reading
# The parts of an earlier time, after many documents were added at one end.
before = parts[0].query().limit(1).get()[0].read_time
for start in range(0, count // 10, 500):
    batch = db.batch()
    for number in range(start, min(start + 500, count // 10)):
        batch.set(db.document(f"users/z/visits/w{number:06}"), {"n": number})
    batch.commit()
past = list(group.get_partitions(asked, read_time=before))
assert [part.end_at for part in past] == [part.end_at for part in parts]
assert [part.end_at for part in group.get_partitions(asked)] != [part.end_at for part in parts]
assert len(list(group.get_partitions(1))) == 2
db.close()
print(
    f"partitions: passed, {count} documents, {len(parts) - 1} cursors, parts of {min(sizes)} to {max(sizes)}; "
    f"{written:.1f} s to write, {asking:.1f} s to divide, {reading:.1f} s to read three")
