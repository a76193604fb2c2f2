"""Peers that send garbage, send slowly, or do not read, while another client uses the server.

hostile.py HEARTH [SECONDS]

Each kind of peer has so many seconds: the second argument, or 3. Prints the memory of the server and the times of
the client's calls while they are there. Fails if the server ends, if a call of the client fails, if its memory is not
bounded, or if an answer has the status INTERNAL.
"""

import asyncio
import multiprocessing
import os
import random
import re
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import time

import grpc
from google.cloud.firestore_v1.types import firestore as messages

hearth = sys.argv[1]
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3
KEY = "a-service-key-for-the-tests"
ROOT = "projects/p/databases/(default)"
# Under the address sanitizer, freed memory stays for a while, and the process ends with a list of what was never freed.
SANITIZED = bool(os.environ.get("HEARTH_SANITIZED"))
LIMIT = 1500 if SANITIZED else 700
# gRPC keeps a handler of a connection that has ended before it began.
LEAKED = 20_000
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
seed = random.randrange(1 << 32)
chance = random.Random(seed)

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


# MARK: The bytes of HTTP/2 and gRPC


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def text(value):
    """A string of HPACK, without Huffman's code."""
    value = value.encode() if isinstance(value, str) else value
    assert len(value) < 127 + 128
    return bytes([len(value)]) + value if len(value) < 127 else b"\x7f" + bytes([len(value) - 127]) + value


def block(headers):
    return b"".join(b"\x00" + text(name) + text(value) for name, value in headers)


def header(method, key=KEY, service="google.firestore.v1.Firestore", kind="application/grpc"):
    headers = [
        (":method", "POST"), (":scheme", "http"), (":path", f"/{service}/{method}"), (":authority", "127.0.0.1"),
        ("content-type", kind), ("te", "trailers")]
    return block(headers + ([("authorization", f"Bearer {key}")] if key else []))


def message(proto):
    content = proto if isinstance(proto, bytes) else type(proto).serialize(proto)
    return b"\0" + struct.pack(">I", len(content)) + content


def settings(**values):
    numbers = {"window": 4, "frame": 5}
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", numbers[k], v) for k, v in values.items()))


def call(stream, method, *protos, ends=True, **options):
    content = b"".join(message(proto) for proto in protos)
    return frame(HEADERS, 4, stream, header(method, **options)) + frame(DATA, 1 if ends else 0, stream, content)


def commit(name, value=b"x"):
    return messages.CommitRequest(
        database=ROOT,
        writes=[{"update": {"name": f"{ROOT}/documents/{name}", "fields": {"value": {"bytes_value": value}}}}])


def query(collection, **parts):
    return messages.RunQueryRequest(
        parent=f"{ROOT}/documents", structured_query={"from_": [{"collection_id": collection}], **parts})


def listen(collection):
    return messages.ListenRequest(
        database=ROOT,
        add_target={
            "target_id": 1,
            "query": {
                "parent": f"{ROOT}/documents", "structured_query": {"from_": [{"collection_id": collection}]}}})


CALLS = [
    ("GetDocument", messages.GetDocumentRequest(name=f"{ROOT}/documents/big/0")),
    ("ListDocuments", messages.ListDocumentsRequest(parent=f"{ROOT}/documents", collection_id="big", page_size=1)),
    ("BatchGetDocuments", messages.BatchGetDocumentsRequest(database=ROOT, documents=[f"{ROOT}/documents/a/b"])),
    ("BeginTransaction", messages.BeginTransactionRequest(database=ROOT)),
    ("Commit", commit("fuzzed/a")),
    ("RunQuery", query("small", where={"field_filter": {
        "field": {"field_path": "value"}, "op": 5, "value": {"integer_value": 1}}}, limit=3)),
    ("RunAggregationQuery", messages.RunAggregationQueryRequest(
        parent=f"{ROOT}/documents",
        structured_aggregation_query={
            "structured_query": {"from_": [{"collection_id": "small"}]}, "aggregations": [{"count": {}}]})),
    ("PartitionQuery", messages.PartitionQueryRequest(
        parent=f"{ROOT}/documents", partition_count=4,
        structured_query={"from_": [{"collection_id": "small", "all_descendants": True}]})),
    ("Listen", listen("small")),
    ("Write", messages.WriteRequest(database=ROOT)),
    ("ListCollectionIds", messages.ListCollectionIdsRequest(parent=f"{ROOT}/documents")),
    ("BatchWrite", messages.BatchWriteRequest(database=ROOT, writes=commit("fuzzed/b").writes)),
    ("ExecutePipeline", b"\x0a\x03abc"),
]
# What no caller's mistake may be.
OURS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS, grpc.StatusCode.DEADLINE_EXCEEDED}


# MARK: Connections


class Peer:
    """A connection that sends bytes as they are."""

    def __init__(self, port, **options):
        self.options = options or {"host": "127.0.0.1", "port": port}

    async def __aenter__(self):
        self.reader, self.writer = await asyncio.open_connection(**self.options)
        return self

    async def __aexit__(self, *_):
        self.writer.transport.abort()

    async def send(self, content):
        self.writer.write(content)
        await self.writer.drain()

    async def begin(self, **values):
        """Sends the preface, and acknowledges the server's settings: before that, a peer has few streams."""
        await self.send(PREFACE + settings(**values))
        await self.reader.read(9)
        await self.send(frame(SETTINGS, 1, 0))

    async def received(self, time):
        """All that comes in this time, and whether the server has closed the connection."""
        content = b""
        end = asyncio.get_running_loop().time() + time
        while True:
            try:
                part = await asyncio.wait_for(
                    self.reader.read(65536), max(0.001, end - asyncio.get_running_loop().time()))
            except asyncio.TimeoutError:
                return content, False
            except ConnectionError:
                return content, True
            if not part:
                return content, True
            content += part


async def repeat(count, body):
    """Runs a body again and again, by so many at a time, while the kind of peer has time."""
    end = time.time() + seconds
    rounds = 0

    async def one(number):
        nonlocal rounds
        while time.time() < end:
            try:
                await body(number)
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            rounds += 1

    await asyncio.gather(*(one(number) for number in range(count)))
    return rounds


# MARK: Kinds of peers


def damaged(content):
    content = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 2, 5, 20])):
        place = chance.randrange(len(content)) if content else 0
        match chance.randrange(6):
            case 0 if content: content[place] ^= 1 << chance.randrange(8)
            case 1 if content: content[place] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
            case 2: content[place:place] = chance.randbytes(chance.randrange(1, 9))
            case 3: del content[place:place + chance.randrange(1, 9)]
            case 4: content[place:place] = content[place:place + chance.randrange(1, 64)]
            case _: del content[place + chance.randrange(1, 200):]
    return bytes(content)


async def fuzzed_frames(port):
    async def one(_):
        frames = [settings(window=65535)]
        for number in range(chance.randrange(1, 4)):
            method, proto = chance.choice(CALLS)
            whole = call(2 * number + 1, method, proto)
            length = 9 + int.from_bytes(whole[:3], "big")
            frames += [whole[:length], whole[length:]]
        frames += [frame(PING, 0, 0, b"12345678"), frame(WINDOW, 0, 0, b"\0\0\1\0"), frame(RESET, 0, 1, b"\0\0\0\x08")]
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(frames))
            match chance.randrange(4):
                case 0: frames.insert(place, frame(
                    chance.randrange(12), chance.randrange(256), chance.choice([0, 1, 2, 3, 5, 1 << 31]),
                    chance.randbytes(chance.choice([0, 1, 4, 5, 8, 100]))))
                case 1 if len(frames) > 1: del frames[place]
                case 2: frames[place], frames[0] = frames[0], frames[place]
                case _: frames[place] = damaged(frames[place])
        async with Peer(port) as peer:
            await peer.send(PREFACE + b"".join(frames))
            await peer.received(0.05)

    return await repeat(16, one)


async def fuzzed_messages(port):
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        calls = {
            method: channel.stream_stream(f"/google.firestore.v1.Firestore/{method}") for method, _ in CALLS}

        async def one(_):
            method, proto = chance.choice(CALLS)
            content = damaged(proto if isinstance(proto, bytes) else type(proto).serialize(proto))
            try:
                async for _ in calls[method](
                        iter([content]), metadata=[("authorization", f"Bearer {KEY}")], timeout=60):
                    pass
            except grpc.aio.AioRpcError as error:
                assert error.code() not in OURS, f"{error.code()} for a damaged {method}: {content}, seed {seed}"

        return await repeat(8, one)


async def fuzzed_requests(port):
    async def one(_):
        path = f"/v1/{ROOT}/documents"
        body = b'{"structuredQuery": {"from": [{"collectionId": "small"}], "limit": 2}}'
        head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        plain = chance.choice([
            f"GET {path}/small/1?mask.fieldPaths=value HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode(),
            f"POST {path}:runQuery HTTP/1.1\r\n".encode() + head + body,
            b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"])
        async with Peer(port) as peer:
            await peer.send(damaged(plain))
            await peer.received(0.05)

    return await repeat(16, one)


async def slow_senders(port):
    """A byte a second, of a head, a preface, frames, and a body."""
    whole = [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 100, PREFACE,
        PREFACE + settings() + call(1, "Commit", commit("slow/a")),
        f"POST /v1/{ROOT}/documents/slow HTTP/1.1\r\nContent-Length: 1000\r\n\r\n".encode() + b" " * 1000]

    async def one(number):
        content = whole[number % len(whole)]
        async with Peer(port) as peer:
            end = time.time() + seconds
            for place in range(len(content)):
                if time.time() > end:
                    return
                await peer.send(content[place:place + 1])
                await asyncio.sleep(1)

    return await repeat(400, one)


async def endless_headers(port):
    async def one(number):
        async with Peer(port) as peer:
            end = time.time() + seconds
            if number % 2:
                await peer.send(b"GET / HTTP/1.1\r\n")
                part = b"X-Name: " + b"y" * 100 + b"\r\n"
            else:
                await peer.send(PREFACE + settings() + frame(HEADERS, 0, 1, header("Commit")))
                part = frame(CONTINUATION, 0, 1, block([("x-name", "y" * 100)] * 10))
            while time.time() < end:
                await peer.send(part * 10)
                await asyncio.sleep(0)

    return await repeat(20, one)


async def control_floods(port):
    """PING, SETTINGS, streams that are reset at once, and windows that overflow."""
    async def one(number):
        async with Peer(port) as peer:
            await peer.begin()
            end, stream = time.time() + seconds, 1
            while time.time() < end:
                match number % 5:
                    case 0: part = frame(PING, 0, 0, b"12345678") * 200
                    case 1: part = settings(window=1000) * 200
                    case 2: part = frame(WINDOW, 0, 0, b"\x7f\xff\xff\xff") * 2
                    case 3: part = frame(DATA, 0, 1, b"") * 200
                    case _:
                        part = b"".join(
                            frame(HEADERS, 4, stream + 2 * index, header("GetDocument"))
                            + frame(RESET, 0, stream + 2 * index, b"\0\0\0\x08") for index in range(50))
                        stream += 100
                await peer.send(part)
                await asyncio.sleep(0.01)

    return await repeat(20, one)


async def without_key(port):
    """Many streams on many connections, each with a large message, and one that asks for health."""
    async def one(number):
        async with Peer(port) as peer:
            await peer.begin()
            large = b"\0\x01\0\0\0" + b"x" * 16379
            for stream in range(1, 400, 2):
                service = {"service": "grpc.health.v1.Health"} if stream % 10 == 1 else {}
                await peer.send(
                    frame(HEADERS, 4, stream, header("Check" if service else "Commit", key=None, **service))
                    + frame(DATA, 0, stream, large) * 3)
            await peer.received(0.5)

    return await repeat(50, one)


async def many_connections(port):
    """More than the server accepts. Each is closed when it has sent nothing for ten seconds, or is one too many."""
    wanted = min(10_500, FILES - 500)
    sockets = []

    async def open_one():
        try:
            sockets.append(await asyncio.open_connection("127.0.0.1", port))
        except OSError:
            pass

    end = time.time() + max(seconds, 12)
    while len(sockets) < wanted and time.time() < end:
        await asyncio.gather(*(open_one() for _ in range(100)))
    opened = len(sockets)
    await asyncio.sleep(max(0, end - time.time()))
    for _, writer in sockets:
        writer.transport.abort()
    return opened


async def silent_readers(port):
    """Streams without a window, and connections that are not read, that ask for much."""
    async def one(number):
        small = socket.socket()
        small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        small.connect(("127.0.0.1", port))
        async with Peer(None, sock=small) as peer:
            await peer.begin(window=0 if number % 2 else 1 << 30)
            if not number % 2:
                await peer.send(frame(WINDOW, 0, 0, b"\x3f\xff\0\0"))
                peer.writer.transport.pause_reading()
            for stream in range(1, 21, 2):
                await peer.send(call(stream, "RunQuery", query("big")))
                await peer.send(call(stream + 100, "Listen", listen("big"), ends=False))
            await asyncio.sleep(seconds)

    return await repeat(20, one)


# MARK: The client that is not hostile


def use(port, phase, results, failed):
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    service = "/google.firestore.v1.Firestore/"
    metadata = [("authorization", f"Bearer {KEY}")]
    set = channel.unary_unary(service + "Commit")
    get = channel.unary_unary(service + "GetDocument")
    number = 0
    while phase.value >= 0:
        number += 1
        now = phase.value
        began = time.perf_counter()
        try:
            if number % 2:
                set(messages.CommitRequest.serialize(commit("good/a", b"x" * 100)), metadata=metadata, timeout=60)
            else:
                get(messages.GetDocumentRequest.serialize(
                    messages.GetDocumentRequest(name=f"{ROOT}/documents/good/a")), metadata=metadata, timeout=60)
        except grpc.RpcError as error:
            failed.put(f"{error.code()} {error.details()}")
        results.put((now, time.perf_counter() - began))
        time.sleep(0.01)
    results.put(None)


def resident(process):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) // 1024


async def attack(kind, port, server):
    highest = 0

    async def watch():
        nonlocal highest
        while True:
            highest = max(highest, resident(server))
            await asyncio.sleep(0.05)

    watching = asyncio.create_task(watch())
    try:
        return await kind(port), highest
    finally:
        watching.cancel()


def run(folder):
    with open(f"{folder}/keys", "w") as file:
        file.write(KEY + "\n")
    server = subprocess.Popen(
        [hearth, "serve", f"{folder}/data", "--create", "--port", "0", "--token-file", f"{folder}/keys",
         # All peers have the same address.
         "--max-connections-per-address", "20000"],
        stdout=subprocess.PIPE, stderr=open(f"{folder}/log", "w"), text=True)
    port = int(re.search(r":(\d+)", server.stdout.readline())[1])
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    set = channel.unary_unary("/google.firestore.v1.Firestore/Commit")
    metadata = [("authorization", f"Bearer {KEY}")]
    for number in range(20):
        for name, size in [("big", 500_000), ("small", 10)]:
            set(messages.CommitRequest.serialize(commit(f"{name}/{number}", b"x" * size)), metadata=metadata)
    channel.close()

    context = multiprocessing.get_context("spawn")
    phase, results, failed = context.Value("i", 0), context.Queue(), context.Queue()
    client = context.Process(target=use, args=(port, phase, results, failed))
    client.start()
    kinds = [
        fuzzed_frames, fuzzed_messages, fuzzed_requests, slow_senders, endless_headers, control_floods, without_key,
        many_connections, silent_readers]
    names = ["nobody hostile"] + [kind.__name__.replace("_", " ") for kind in kinds]
    time.sleep(seconds)
    rows = [(0, resident(server))]
    for number, kind in enumerate(kinds):
        phase.value = number + 1
        rows.append(asyncio.run(attack(kind, port, server)))
        assert server.poll() is None, f"the server ended with {server.poll()}; seed {seed}"
    phase.value = -1
    times = {}
    while (result := results.get()) is not None:
        times.setdefault(result[0], []).append(result[1] * 1000)
    client.join()
    print(f"{'peers':18} {'times':>7} {'MiB':>5} {'calls':>6} {'p50 ms':>7} {'p99 ms':>7} {'max ms':>7}")
    for number, (name, (count, memory)) in enumerate(zip(names, rows)):
        taken = sorted(times.get(number, [0]))
        print(
            f"{name:18} {count:7} {memory:5} {len(taken):6} {taken[len(taken) // 2]:7.1f} "
            f"{taken[len(taken) * 99 // 100]:7.1f} {taken[-1]:7.1f}")
    assert failed.empty(), f"a call of the client failed: {failed.get()}"
    highest = max(memory for _, memory in rows)
    assert highest < LIMIT, f"the server had {highest} MiB"
    server.terminate()
    status = server.wait(timeout=60)
    log = open(f"{folder}/log").read()
    found = re.search(r"SUMMARY: AddressSanitizer: (\d+) byte\(s\) leaked", log) if SANITIZED else None
    if found:
        print(f"never freed: {found[1]} bytes")
        status = 0 if int(found[1]) < LEAKED else status
    assert status == 0, f"the server ends with status {status}: {log[-10_000:]}"
    print(f"hostile: passed, {len(kinds)} kinds of peers for {seconds:.0f} s each")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        run(place)
