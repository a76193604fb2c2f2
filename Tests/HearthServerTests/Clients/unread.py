"""Clients that ask for much and never read, while others use the server.

unread.py HEARTH [SECONDS]

Of each kind 20 connections, with windows of HTTP/2 that are larger than all answers: ten queries and batches of 7 MB each,
and a listener; the same calls with the windows that gRPC's clients have; a hundred documents of 1 MB each, and for some of
the connections updates that have them as answers; REST over HTTP/1.1; REST over HTTP/2. Fails if the server has 300 MiB at
any time, or if another client is refused, waits for long, or gets less than it asked for. Then fifty clients that
read slowly get all of their answers. Finally one client reads 100,000 documents, of which the server has a small part in
memory at any time.
"""

import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import grpc
from google.cloud.firestore_v1.types import firestore as messages

hearth = sys.argv[1]
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 4
ROOT = "projects/p/databases/(default)"
# Under the address sanitizer, freed memory stays for a while.
LIMIT = 900 if os.environ.get("HEARTH_SANITIZED") else 300
CLIENTS = 20
SLOW_CLIENTS = 50
MANY = 100_000
# Of memory that is not the file's, beside what the server had before: a page, and what encodes it.
MANY_LIMIT = 120 if os.environ.get("HEARTH_SANITIZED") else 40
# Seconds for a small document, and for a query of 7 MB: of a debug build, on a machine that compiles at the same time.
GET_SECONDS, QUERY_SECONDS = 120, 300

DATA, HEADERS, SETTINGS, WINDOW = 0, 1, 4, 8
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WINDOW_BYTES = 0x7FFF0000
BEGIN = (
    PREFACE
    + b"\0\0\x06" + struct.pack(">BBI", SETTINGS, 0, 0) + struct.pack(">HI", 4, WINDOW_BYTES)
    + b"\0\0\x04" + struct.pack(">BBI", WINDOW, 0, 0) + struct.pack(">I", WINDOW_BYTES)
    + b"\0\0\0" + struct.pack(">BBI", SETTINGS, 1, 0))


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def headers(stream, method, path, *more, ends=False):
    fields = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost"), *more]
    block = b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode() for name, value in fields)
    return frame(HEADERS, 5 if ends else 4, stream, block)


def call(stream, method, proto, ends=True):
    content = type(proto).serialize(proto)
    return (
        headers(
            stream, "POST", f"/google.firestore.v1.Firestore/{method}", ("content-type", "application/grpc"),
            ("te", "trailers"))
        + frame(DATA, 1 if ends else 0, stream, b"\0" + struct.pack(">I", len(content)) + content))


QUERY = {"parent": f"{ROOT}/documents", "structured_query": {"from_": [{"collection_id": "large"}]}}
BATCH = messages.BatchGetDocumentsRequest(
    database=ROOT, documents=[f"{ROOT}/documents/large/{number}" for number in range(14)])
PATH = "/v1/" + ROOT.replace("(", "%28").replace(")", "%29") + "/documents"
BODY = b'{"structuredQuery": {"from": [{"collectionId": "large"}]}}'


def queries(_):
    parts = [BEGIN, call(1, "Listen", messages.ListenRequest(
        database=ROOT, add_target={"target_id": 1, "query": QUERY}), ends=False)]
    for stream in range(3, 23, 4):
        parts.append(call(stream, "RunQuery", messages.RunQueryRequest(QUERY)))
        parts.append(call(stream + 2, "BatchGetDocuments", BATCH))
    return b"".join(parts)


def narrow(number):
    """No stream has a larger window than 64 KiB: what does not fit waits in the server for the client's application."""
    return queries(number).replace(struct.pack(">HI", 4, WINDOW_BYTES), struct.pack(">HI", 4, 0xFFFF), 1)


def documents(number):
    name = f"{ROOT}/documents/huge/{number}"
    if number % 4:
        request = messages.GetDocumentRequest(name=name)
        return BEGIN + b"".join(call(stream, "GetDocument", request) for stream in range(1, 201, 2))
    request = messages.UpdateDocumentRequest(
        document={"name": name, "fields": {"small": {"integer_value": 1}}}, update_mask={"field_paths": ["small"]})
    return BEGIN + b"".join(call(stream, "UpdateDocument", request) for stream in range(1, 21, 2))


def rest(number):
    if number % 2:
        return f"GET {PATH}/large HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    return f"POST {PATH}:runQuery HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY


def rest2(_):
    parts = [BEGIN]
    for stream in range(1, 41, 4):
        parts.append(headers(stream, "GET", f"{PATH}/large", ends=True))
        parts.append(headers(stream + 2, "POST", f"{PATH}:runQuery") + frame(DATA, 1, stream + 2, BODY))
    return b"".join(parts)


def silent(port, content):
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.connect(("127.0.0.1", port))
    peer.setblocking(False)
    end = time.time() + 5
    while content and time.time() < end:
        try:
            content = content[peer.send(content):]
        except BlockingIOError:
            time.sleep(0.01)
        except ConnectionError:
            break
    return peer


class Server:
    def __init__(self, folder):
        self.process = subprocess.Popen(
            [hearth, "serve", f"{folder}/data", "--create", "--port", "0"],
            stdout=subprocess.PIPE, stderr=open(f"{folder}/log", "w"), text=True)
        self.port = int(re.search(r":(\d+)", self.process.stdout.readline())[1])

    def memory(self, name):
        """In MiB: VmRSS, or the most since it was forgotten, VmHWM."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(name + r":\s+(\d+)", status.read())[1]) // 1024

    def forget(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5")


class Client:
    """One connection of its own."""

    def __init__(self, port):
        service = "/google.firestore.v1.Firestore/"
        self.channel = grpc.insecure_channel(
            f"127.0.0.1:{port}",
            options=[("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", 1 << 24)])
        self.commit = self.channel.unary_unary(service + "Commit")
        self.get = self.channel.unary_unary(service + "GetDocument")
        self.run = self.channel.unary_stream(service + "RunQuery")

    def fill(self, count, size):
        for start in range(0, count, 500):
            self.commit(messages.CommitRequest.serialize(messages.CommitRequest(database=ROOT, writes=[{"update": {
                "name": f"{ROOT}/documents/many/{number:06}", "fields": {"value": {"bytes_value": b"x" * size}}}}
                for number in range(start, start + 500)])))

    def set(self, name, size):
        self.commit(messages.CommitRequest.serialize(messages.CommitRequest(database=ROOT, writes=[{"update": {
            "name": f"{ROOT}/documents/{name}", "fields": {"value": {"bytes_value": b"x" * size}}}}])))

    def count(self, collection):
        """How many documents a query without a limit has."""
        query = {"parent": f"{ROOT}/documents", "structured_query": {"from_": [{"collection_id": collection}]}}
        request = messages.RunQueryRequest.serialize(messages.RunQueryRequest(query))
        return sum(1 for _ in self.run(request, timeout=QUERY_SECONDS * 5, wait_for_ready=True))

    def read(self, limit, pause):
        """The sizes of the documents of the query."""
        sizes = []
        query = {**QUERY, "structured_query": {**QUERY["structured_query"], "limit": limit}}
        # gRPC gives a connection that is slow to come 20 seconds, and then begins another one.
        request = messages.RunQueryRequest.serialize(messages.RunQueryRequest(query))
        for answer in self.run(request, timeout=QUERY_SECONDS, wait_for_ready=True):
            sizes.append(len(messages.RunQueryResponse.deserialize(answer).document.fields["value"].bytes_value))
            time.sleep(pause)
        return sizes


def run(folder):
    server = Server(folder)
    one = Client(server.port)
    for number in range(14):
        one.set(f"large/{number}", 500_000)
    for number in range(CLIENTS):
        one.set(f"huge/{number}", 1_000_000)
    one.set("small/0", 10)
    small = messages.GetDocumentRequest.serialize(messages.GetDocumentRequest(name=f"{ROOT}/documents/small/0"))
    failures = []

    def reading(count, limit, pause, times):
        def work():
            try:
                sizes = Client(server.port).read(limit, pause)
                if sizes != [500_000] * limit:
                    raise AssertionError(f"got {sizes}")
                times.append(time.perf_counter() - began)
            except Exception as error:
                failures.append(error)

        began = time.perf_counter()
        threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads

    print(f"{'clients':10} {'MiB':>5} {'gets':>6} {'max ms':>7} {'query s':>8}", flush=True)
    print(f"{'none':10} {server.memory('VmRSS'):5}")
    worst, slowest_of_all, slowest_query = 0, 0, 0
    for kind in [queries, narrow, rest, rest2, documents]:
        server.forget()
        peers = [silent(server.port, kind(number)) for number in range(CLIENTS)]
        times = []
        threads = reading(1, 14, 0, times)
        end, gets, slowest = time.time() + seconds, 0, 0
        while time.time() < end or any(thread.is_alive() for thread in threads):
            began = time.perf_counter()
            one.get(small, timeout=GET_SECONDS)
            slowest = max(slowest, time.perf_counter() - began)
            gets += 1
            time.sleep(0.01)
        highest = server.memory("VmHWM")
        worst, slowest_of_all = max(worst, highest), max(slowest_of_all, slowest)
        slowest_query = max([slowest_query] + times)
        print(f"{kind.__name__:10} {highest:5} {gets:6} {slowest * 1000:7.1f} {max(times, default=0):8.1f}", flush=True)
        for peer in peers:
            peer.close()
        time.sleep(0.5)
    server.forget()
    times = []
    for thread in reading(SLOW_CLIENTS, 4, 0.1, times):
        thread.join()
    highest = server.memory("VmHWM")
    print(f"{'slow':10} {highest:5} {'':6} {'':7} {max(times, default=0):8.1f}")
    print(f"{'gone':10} {server.memory('VmRSS'):5}")
    one.fill(MANY, 500)
    before, most, over = server.memory("RssAnon"), [0], threading.Event()

    def watch():
        while not over.wait(0.01):
            most[0] = max(most[0], server.memory("RssAnon"))

    watching = threading.Thread(target=watch)
    watching.start()
    began = time.perf_counter()
    found = one.count("many")
    over.set()
    watching.join()
    print(f"{'many':10} {most[0] - before:5} {'':6} {'':7} {time.perf_counter() - began:8.1f}")
    assert server.process.poll() is None, f"the server ended with {server.process.poll()}"
    server.process.terminate()
    assert server.process.wait(timeout=60) == 0, open(f"{folder}/log").read()[-10_000:]
    assert not failures, failures[:3]
    assert worst < LIMIT, f"the server had {worst} MiB"
    assert found == MANY, f"{found} documents of {MANY}"
    assert most[0] - before < MANY_LIMIT, f"for {MANY} documents the server had {most[0] - before} MiB more"
    assert slowest_of_all < GET_SECONDS, f"a get took {slowest_of_all} s"
    assert slowest_query < QUERY_SECONDS, f"a query took {slowest_query} s"
    print("unread: passed")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        run(place)
