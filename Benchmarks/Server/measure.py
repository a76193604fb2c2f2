"""Prints the figures of `hearth serve`, built for release.

    swift build -c release --product hearth --traits Server,Tools \\
        -Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs
    swift build -c release --package-path Benchmarks/Server
    python3 Benchmarks/Server/measure.py [--quick] [HEARTH]

Calls are raw gRPC by a Go program, load.go, in turns with a stub that answers at once: the floor, which is subtracted;
and with Google's Firestore emulator, which keeps documents in memory. Scripts/clients installs Go where it can. What is
not installed is printed as skipped.
"""

import json
import os
import pathlib
import re
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
sys.path.append(str(REPOSITORY / "Benchmarks/Emulator"))
import emulator  # noqa: E402

arguments = [argument for argument in sys.argv[1:] if argument != "--quick"]
QUICK = "--quick" in sys.argv
HEARTH = arguments[0] if arguments else str(REPOSITORY / ".build/release/hearth")
IN_PROCESS = HERE / ".build/release/InProcess"
ROUNDS, COUNT, STREAMS = (1, 300, 1000) if QUICK else (5, 3000, 10_000)


def start(folder, *options):
    server = subprocess.Popen(
        [HEARTH, "serve", f"{folder}/data", "--create", "--port", "0", *options], stdout=subprocess.PIPE, text=True)
    return server, int(re.search(r":(\d+)", server.stdout.readline())[1])


def stop(server):
    server.terminate()
    server.wait()


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def get(name):
    """The bytes of a connection with one GetDocument."""
    headers = [
        (":method", "POST"), (":scheme", "http"), (":path", "/google.firestore.v1.Firestore/GetDocument"),
        (":authority", "localhost"), ("content-type", "application/grpc"), ("te", "trailers")]
    block = b"".join(
        b"\0" + bytes([len(key)]) + key.encode() + bytes([len(value)]) + value.encode() for key, value in headers)
    message = b"\x0a" + bytes([len(name)]) + name.encode()
    return (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + frame(1, 4, 1, block)
        + frame(0, 1, 1, b"\0" + struct.pack(">I", len(message)) + message))


def cold_start(folder):
    """Milliseconds from the start of the process to the end of the first answer."""
    port = emulator.free_port()
    began = time.perf_counter()
    server = subprocess.Popen(
        [HEARTH, "serve", f"{folder}/data", "--create", "--port", str(port)], stdout=subprocess.DEVNULL)
    while True:
        connection = socket.socket()
        try:
            connection.connect(("127.0.0.1", port))
            break
        except ConnectionRefusedError:
            connection.close()
            time.sleep(0.0005)
    connection.sendall(get("projects/bench/databases/(default)/documents/books/1"))
    content = b""
    while True:
        content += connection.recv(65536)
        place = 0
        while place + 9 <= len(content):
            length, kind, flags = int.from_bytes(content[place:place + 3], "big"), content[place + 3], content[place + 4]
            if kind == 1 and flags & 1:
                taken = (time.perf_counter() - began) * 1000
                connection.close()
                stop(server)
                return taken
            place += 9 + length


def resident(server):
    """MiB: all, and without pages of files."""
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    return [int(re.search(name + r":\s+(\d+)", status)[1]) / 1024 for name in ("VmRSS", "RssAnon")]


def program():
    """The path of load.go, built; None without Go."""
    path = REPOSITORY / ".build-clients/load"
    built = subprocess.run([str(REPOSITORY / "Scripts/clients"), "go"], capture_output=True)
    if built.returncode != 0:
        return None
    environment = {
        **os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
        "GOCACHE": str(REPOSITORY / ".build-clients/go-cache")}
    subprocess.run(["go", "build", "-o", str(path), str(HERE / "load.go")], check=True, env=environment)
    return str(path)


def load(program, *arguments):
    return json.loads(subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.PIPE).stdout)


def main(folder):
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "-o", stripped.name, HEARTH], check=True)
        size = pathlib.Path(stripped.name).stat().st_size
    print(f"stripped binary: {size / 1048576:.1f} MiB (at most 60)")

    server, port = start(folder)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(get("projects/bench/databases/(default)/documents/books/1"))
        time.sleep(2)
        everything, own = resident(server)
    stop(server)
    print(f"resident at rest: {everything:.1f} MiB, {own:.1f} of them not of files (at most 40)")
    starts = sorted(cold_start(folder) for _ in range(5 if QUICK else 30))
    print(
        f"cold start to the first answered call: {statistics.median(starts):.1f} ms, at most {starts[-1]:.1f} (at most 50)")

    go = program()
    if go is None:
        print("skipped: times of calls, sets in a second, and idle streams. Go is not installed.")
    else:
        calls(folder, go)


def calls(folder, go):
    own, floor, rates, floor_rates, peer, peer_rates = [], [], [], [], [], []
    google = emulator.jar()
    if google is None:
        print("skipped: Google's emulator, which is not installed.")
    for round in range(ROUNDS):
        server, port = start(f"{folder}/{round}")
        own.append(load(go, "times", f"127.0.0.1:{port}", server.pid, COUNT))
        rates.append(load(go, "rate", f"127.0.0.1:{port}", 3)["rate"])
        stop(server)
        stub = subprocess.Popen([go, "stub"], stdout=subprocess.PIPE, text=True)
        address = stub.stdout.readline().strip()
        floor.append(load(go, "times", address, stub.pid, COUNT))
        floor_rates.append(load(go, "rate", address, 3)["rate"])
        stop(stub)
        if google:
            with emulator.running(google) as (process, port):
                # Java compiles what it has run for some time.
                load(go, "times", f"127.0.0.1:{port}", process.pid, COUNT)
                peer.append(load(go, "times", f"127.0.0.1:{port}", process.pid, COUNT))
                peer_rates.append(load(go, "rate", f"127.0.0.1:{port}", 3)["rate"])
    inside = []
    if IN_PROCESS.exists():
        for round in range(ROUNDS):
            inside.append(load(str(IN_PROCESS), f"{folder}/inside-{round}.hearth", COUNT))
    else:
        print("skipped: the calls in a process. Build Benchmarks/Server.")

    def middle(runs, kind, name):
        return statistics.median(run[kind][name] for run in runs)

    print(f"\nMedian of {ROUNDS} rounds of {COUNT} calls, µs. The floor is the same call of a stub.\n")
    print("| | p50 | floor | difference | p99 | floor | server's CPU | in-process CPU | emulator's p50 | p99 | CPU |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for kind in ("set", "get", "query", "transaction", "news"):
        p50, low = middle(own, kind, "p50"), middle(floor, kind, "p50")
        within = f"{statistics.median(run[kind] for run in inside):.0f}" if inside and kind in inside[0] else ""
        print(
            f"| {kind} | {p50:.0f} | {low:.0f} | {p50 - low:.0f} | {middle(own, kind, 'p99'):.0f} "
            f"| {middle(floor, kind, 'p99'):.0f} | {middle(own, kind, 'cpu'):.0f} | {within} "
            + "".join(f"| {middle(peer, kind, name):.0f} " if peer else "| " for name in ("p50", "p99", "cpu")) + "|")
    print(
        f"\nsets in a second from 64 connections: {statistics.median(rates):.0f} (floor "
        f"{statistics.median(floor_rates):.0f})")
    if peer_rates:
        print(
            f"the emulator, which flushes nothing: {statistics.median(peer_rates):.0f}; Hearth makes "
            f"{statistics.median(rates) / statistics.median(peer_rates):.1f} times as many (at least 5)")
    server, port = start(f"{folder}/idle")
    idle = load(go, "idle", f"127.0.0.1:{port}", server.pid, STREAMS)
    stop(server)
    print(
        f"idle listen streams: {idle['each']:.1f} KiB each, of {idle['streams']:.0f} on "
        f"{idle['connections']:.0f} connections (at most 32)")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(place)
