"""A server with TLS and a service key: the key opens it, and nothing else does. All of breadth.py works over it.

secure.py HEARTH
"""

import datetime
import ipaddress
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1.services.firestore import client as firestore_client
from google.cloud.firestore_v1.services.firestore.transports import grpc as firestore_grpc

import breadth

hearth = sys.argv[1]
KEY = "0123456789abcdef0123456789abcdef"


def make_certificate(folder):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256()))
    with open(f"{folder}/cert.pem", "wb") as file:
        file.write(certificate.public_bytes(serialization.Encoding.PEM))
    with open(f"{folder}/key.pem", "wb") as file:
        file.write(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


def database(port, folder, token, project="secure"):
    with open(f"{folder}/cert.pem", "rb") as file:
        credentials = grpc.ssl_channel_credentials(file.read())
    if token:
        credentials = grpc.composite_channel_credentials(
            credentials, grpc.access_token_call_credentials(token))
    channel = grpc.secure_channel(f"127.0.0.1:{port}", credentials)
    db = firestore.Client(project=project, credentials=AnonymousCredentials())
    db._firestore_api_internal = firestore_client.FirestoreClient(
        transport=firestore_grpc.FirestoreGrpcTransport(channel=channel))
    return db


def rest(port, folder, path, token):
    """The status and the object that REST answers."""
    request = urllib.request.Request(f"https://127.0.0.1:{port}/v1/projects/secure/databases/(default)/{path}")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    context = ssl.create_default_context(cafile=f"{folder}/cert.pem")
    try:
        with urllib.request.urlopen(request, context=context, timeout=breadth.SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def send_strange_timeout(port, folder):
    """A call without a key whose time is negative."""
    headers = [
        (":method", "POST"), (":scheme", "https"), (":path", "/google.firestore.v1.Firestore/GetDocument"),
        (":authority", "localhost"), ("content-type", "application/grpc"), ("te", "trailers"), ("grpc-timeout", "-1S")]
    block = b"".join(
        b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode() for name, value in headers)
    context = ssl.create_default_context(cafile=f"{folder}/cert.pem")
    context.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", port)) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as peer:
            peer.sendall(
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + frame(1, 5, 1, block) + frame(6, 0, 0, b"12345678"))
            peer.settimeout(breadth.SECONDS)
            received = b""
            while frame(6, 1, 0, b"12345678") not in received:
                part = peer.recv(65536)
                assert part, f"the connection has ended after {received}"
                received += part


def serve(*arguments):
    return subprocess.run([hearth, "serve", *arguments], capture_output=True, text=True, timeout=breadth.SECONDS)


with tempfile.TemporaryDirectory() as folder:
    make_certificate(folder)
    with open(f"{folder}/tokens", "w") as file:
        file.write(f"# One key a line.\n{KEY}\n")
    tls = ["--tls-certificate", f"{folder}/cert.pem", "--tls-key", f"{folder}/key.pem"]
    for arguments in [[], tls, ["--token-file", f"{folder}/tokens"], ["--emulator"]]:
        refused = serve(f"{folder}/data", "--host", "0.0.0.0", "--port", "0", *arguments)
        assert refused.returncode != 0 and "loopback only" in refused.stderr, refused
    assert serve(f"{folder}/data", *tls[:2]).returncode != 0

    # Nothing of the environment must lead the client elsewhere.
    os.environ.pop("FIRESTORE_EMULATOR_HOST", None)
    server = subprocess.Popen(
        [hearth, "serve", f"{folder}/data", "--create", "--port", "0", *tls, "--token-file", f"{folder}/tokens"],
        stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().split(":")[-1].strip()
        db = database(port, folder, KEY)
        books = db.collection("books")
        books.document("dune").set({"pages": 412})
        assert [found.id for found in books.where(
            filter=firestore.FieldFilter("pages", ">", 1)).stream()] == ["dune"]
        status, found = rest(port, folder, "documents/books/dune", KEY)
        assert status == 200 and found["fields"] == {"pages": {"integerValue": "412"}}, found
        for token in [None, "owner", KEY[:-1], KEY + "0", KEY[:-1] + "0"]:
            try:
                database(port, folder, token).document("books/dune").get(retry=None)
                raise AssertionError(f"{token} was let in")
            except exceptions.Unauthenticated:
                pass
            status, refused = rest(port, folder, "documents/books/dune", token)
            assert status == 401 and refused["error"]["status"] == "UNAUTHENTICATED", refused
        try:
            plain = grpc.insecure_channel(f"127.0.0.1:{port}")
            grpc.channel_ready_future(plain).result(timeout=2)
            raise AssertionError("Without TLS, a client was let in")
        except grpc.FutureTimeoutError:
            pass
        send_strange_timeout(port, folder)
        assert server.poll() is None, f"the server ended with {server.poll()}"
        assert db.document("books/dune").get().to_dict() == {"pages": 412}
        breadth.check(database(port, folder, KEY, "breadth"))
    finally:
        server.terminate()
        server.wait()
    print("secure.py: a service key over TLS, with gRPC and REST, breadth.py, and nothing without either")
