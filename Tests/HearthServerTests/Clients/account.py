"""A server with TLS and a service account: clients sign their tokens themselves, and other tokens are refused. The
server's certificate is replaced while it runs.

account.py HEARTH
"""

import base64
import datetime
import hashlib
import hmac
import ipaddress
import json
import os
import signal
import ssl
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

hearth = sys.argv[1]
# For what comes, however busy the machine is.
SECONDS = 120
AUDIENCE = "https://firestore.googleapis.com/"


def certificate():
    """A certificate and its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(
            [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256()))
    return made.public_bytes(serialization.Encoding.PEM), key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def replace(path, content):
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.rename(path + ".new", path)


def run(*arguments):
    return subprocess.run([hearth, *arguments], capture_output=True, text=True, timeout=SECONDS)


def segment(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=")


with tempfile.TemporaryDirectory() as folder:
    made, key = certificate()
    roots = f"{folder}/roots.pem"
    for path, content in [("cert.pem", made), ("key.pem", key), ("roots.pem", made)]:
        replace(f"{folder}/{path}", content)
    # Read by gRPC when it is imported.
    os.environ["GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"] = roots
    os.environ.pop("FIRESTORE_EMULATOR_HOST", None)
    from google.api_core import exceptions
    from google.auth import crypt, jwt
    from google.cloud import firestore
    from google.oauth2 import service_account

    assert run("service-account", "backend", f"{folder}/backend.json", "--project", "shop").returncode == 0
    again = run("service-account", "backend", f"{folder}/backend.json", "--project", "shop")
    assert again.returncode != 0 and "exists" in again.stderr, again
    assert run("service-account", "a b", f"{folder}/other.json", "--project", "shop").returncode != 0
    assert run("service-account", "stranger", f"{folder}/stranger.json", "--project", "shop").returncode == 0
    assert stat.S_IMODE(os.stat(f"{folder}/backend.json").st_mode) == 0o600
    with open(f"{folder}/backend.server.json") as file:
        server_part = json.load(file)
    assert "private_key" not in server_part, "The server's part has the secret"
    with open(f"{folder}/backend.json") as file:
        info = json.load(file)
    with open(f"{folder}/stranger.json") as file:
        stranger = json.load(file)

    server = subprocess.Popen(
        [hearth, "serve", f"{folder}/data", "--create", "--host", "0.0.0.0", "--port", "0",
         "--tls-certificate", f"{folder}/cert.pem", "--tls-key", f"{folder}/key.pem", "--tls-refresh-seconds", "1",
         "--service-account", f"{folder}/backend.server.json"],
        stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().split(":")[-1].strip()

        def database(info):
            return firestore.Client(
                project="shop", credentials=service_account.Credentials.from_service_account_info(info)
                .with_always_use_jwt_access(True),
                client_options={"api_endpoint": f"localhost:{port}"})

        db = database(info)
        books = db.collection("books")
        books.document("dune").set({"pages": 412})
        assert [found.id for found in books.where(
            filter=firestore.FieldFilter("pages", ">", 1)).stream()] == ["dune"]

        @firestore.transactional
        def grow(transaction, book):
            pages = book.get(transaction=transaction).get("pages")
            transaction.update(book, {"pages": pages + 1})

        grow(db.transaction(), books.document("dune"))
        assert books.document("dune").get().to_dict() == {"pages": 413}
        try:
            database(stranger).document("books/dune").get(retry=None)
            raise AssertionError("A stranger was let in")
        except exceptions.Unauthenticated:
            pass

        def rest(token, roots=roots):
            request = urllib.request.Request(
                f"https://localhost:{port}/v1/projects/shop/databases/(default)/documents/books/dune")
            if token:
                request.add_header("Authorization", f"Bearer {token}")
            try:
                context = ssl.create_default_context(cafile=roots)
                with urllib.request.urlopen(request, context=context, timeout=SECONDS) as answer:
                    return answer.status
            except urllib.error.HTTPError as refused:
                return refused.code

        signer = crypt.RSASigner.from_service_account_info(info)
        now = int(time.time())
        email = info["client_email"]
        claims = {"iss": email, "sub": email, "aud": AUDIENCE, "iat": now, "exp": now + 3600}

        def token(header=None, by=signer, **changes):
            own = {name: value for name, value in {**claims, **changes}.items() if value is not None}
            return jwt.encode(by, own, header).decode()

        scope = "https://www.googleapis.com/auth/datastore"
        for good in [
            token(), token(), token(aud=None, scope=f"openid {scope}"), token(exp=now + 10),
            # Clocks differ.
            token(iat=now + 30, exp=now + 3600), token(iat=now - 3630, exp=now - 30),
        ]:
            assert rest(good) == 200, good

        def forged(algorithm, signature, kid=info["private_key_id"]):
            header = segment(json.dumps({"alg": algorithm, "typ": "JWT", "kid": kid}).encode())
            body = header + b"." + segment(json.dumps(claims).encode())
            return (body + b"." + segment(signature(body))).decode()

        def hashed(body):
            return hmac.new(server_part["public_key"].encode(), body, hashlib.sha256).digest()

        one, two = token().split("."), token(exp=now + 60).split(".")
        for bad in [
            None, "owner", "a.b.c", "..", token()[:-8], token() + "AAAA", ".".join([one[0], two[1], one[2]]),
            token(by=crypt.RSASigner.from_service_account_info(stranger)),
            token(by=crypt.RSASigner.from_service_account_info({**info, "private_key_id": "unknown"})),
            token(iss="stranger@shop"), token(sub="stranger@shop"), token(aud="https://example.org/"),
            token(aud=None), token(aud=None, scope="openid"),
            token(iat=now - 7200, exp=now - 3600), token(iat=now + 600, exp=now + 1200), token(exp=now + 7200),
            forged("none", lambda body: b""), forged("HS256", hashed), forged("RS256", lambda body: b"x" * 256),
            token(padding="x" * 5000),
        ]:
            assert rest(bad) == 401, bad

        # A new certificate, while a client is connected; a broken one leaves what there is.
        first = ssl.get_server_certificate(("127.0.0.1", int(port)))
        replace(f"{folder}/cert.pem", b"not a certificate")
        time.sleep(1.5)
        assert ssl.get_server_certificate(("127.0.0.1", int(port))) == first
        made, key = certificate()
        replace(f"{folder}/key.pem", key)
        replace(f"{folder}/cert.pem", made)
        deadline = time.time() + SECONDS
        while ssl.get_server_certificate(("127.0.0.1", int(port))).strip() != made.decode().strip():
            assert time.time() < deadline, "The new certificate is not used"
            time.sleep(0.2)
        assert books.document("dune").get().to_dict() == {"pages": 413}
        assert rest(token(), f"{folder}/cert.pem") == 200
    finally:
        server.terminate()
        server.wait()

    # On SIGHUP, all is read again at once.
    with open(f"{folder}/log", "w") as log:
        server = subprocess.Popen(
            [hearth, "serve", f"{folder}/data", "--port", "0", "--tls-certificate", f"{folder}/cert.pem",
             "--tls-key", f"{folder}/key.pem", "--tls-refresh-seconds", "3600",
             "--service-account", f"{folder}/backend.server.json"],
            stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        port = server.stdout.readline().split(":")[-1].strip()

        def logged():
            with open(f"{folder}/log") as log:
                return log.read()

        def wait(is_done):
            deadline = time.time() + SECONDS
            while not is_done():
                assert time.time() < deadline, logged()
                time.sleep(0.2)

        def reread(is_done):
            server.send_signal(signal.SIGHUP)
            wait(is_done)

        def served():
            return ssl.get_server_certificate(("127.0.0.1", int(port))).strip()

        wait(lambda: "tls=yes" in logged())
        assert logged().count("chmod 600") == 1, logged()
        assert rest(token(), f"{folder}/cert.pem") == 200
        before = served()
        replace(f"{folder}/cert.pem", b"not a certificate")
        reread(lambda: "The certificate is not read again." in logged())
        assert served() == before
        made, key = certificate()
        replace(f"{folder}/key.pem", key)
        replace(f"{folder}/cert.pem", made)
        os.chmod(f"{folder}/key.pem", 0o600)
        reread(lambda: served() == made.decode().strip())
        assert logged().count("chmod 600") == 2, logged()
        # The account of a stranger takes the place of the former one.
        good, stranger_good = token(), token(
            by=crypt.RSASigner.from_service_account_info(stranger), iss=stranger["client_email"],
            sub=stranger["client_email"])
        with open(f"{folder}/stranger.server.json", "rb") as file:
            replace(f"{folder}/backend.server.json", file.read())
        assert rest(good, f"{folder}/cert.pem") == 200
        reread(lambda: rest(good, f"{folder}/cert.pem") == 401)
        assert rest(stranger_good, f"{folder}/cert.pem") == 200
        assert rest(good, f"{folder}/cert.pem") == 401
    finally:
        server.terminate()
        server.wait()
    print("account.py: a service account's own tokens over TLS, others refused, the certificate replaced, also on SIGHUP")
