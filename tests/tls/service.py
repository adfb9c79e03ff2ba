"""Certificates of an authority of its own, and the full-stack example that serves with them."""

import contextlib
import datetime
import ipaddress
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VENV = ROOT / "build/tls-venv"


class Failed(Exception):
    """Why a suite has no score."""


class Authority:
    """Issues certificates for this machine."""

    def __init__(self, folder, name="Test Root"):
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._sign(self.name, self.key.public_key(), 365, [
            (x509.BasicConstraints(ca=True, path_length=None), True),
            (x509.KeyUsage(True, False, False, False, False, True, True, False, False), True),
            (x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), False),
        ])
        self.root = folder / "root.pem"
        self.root.write_bytes(certificate)

    def _sign(self, subject, key, days, extensions, first_day=-10, by=None):
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(subject if by else self.name).public_key(
            key).serial_number(x509.random_serial_number()).not_valid_before(
                now + datetime.timedelta(days=first_day)).not_valid_after(now + datetime.timedelta(days=days)))
        for extension, is_critical in extensions:
            builder = builder.add_extension(extension, critical=is_critical)
        return builder.sign(by or self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def issue(self, days=90, first_day=-10, name="localhost", is_self_signed=False):
        """A certificate for `name` and 127.0.0.1, valid from a day to another, and its key, each as a text."""
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        certificate = self._sign(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key.public_key(), days, [
            (x509.SubjectAlternativeName(names), False),
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (x509.KeyUsage(True, False, False, False, False, False, False, False, False), True),
            (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
            (x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), False),
        ], first_day, key if is_self_signed else None)
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                    serialization.NoEncryption())
        return certificate, private

    def revoke(self, certificate):
        """A list of revoked certificates that has this one."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        now = datetime.datetime.now(datetime.timezone.utc)
        number = x509.load_pem_x509_certificate(certificate).serial_number
        entry = x509.RevokedCertificateBuilder().serial_number(number).revocation_date(now).build()
        revoked = x509.CertificateRevocationListBuilder().issuer_name(self.name).last_update(now).next_update(
            now + datetime.timedelta(days=1)).add_revoked_certificate(entry)
        return revoked.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


class Service:
    """The full-stack example with TLS, in a folder of its own; it must end well."""

    def __init__(self, build, folder, predecessor=None, arguments=()):
        self.folder = folder
        self.authority = predecessor.authority if predecessor else Authority(folder)
        self.pair = folder / "service.pem"
        self.pair.write_bytes(b"".join(self.authority.issue()))
        self.log = folder / "log"
        environment = {
            **os.environ,
            "KEEL_NETWORK__HTTP__PORT": "0",
            "KEEL_NETWORK__HTTPS__PORT": "0",
            "KEEL_NETWORK__HTTPS__CERTIFICATE": str(self.pair),
            "KEEL_MONITORING__METRICS__EXPORT_PORT": "0",
            "KEEL_NETWORK__HTTP__ACCESS_LOG": "false",
            "KEEL_DATABASE__PATH": str(folder / "data.db"),
        }
        self.process = subprocess.Popen(
            [build / "examples/fullstack/fullstack", "--config", "examples/fullstack/service.yaml",
             "--logging.sinks=[{type: console, format: json}]", *arguments],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=open(self.log, "a"), text=True)
        found = {}
        for line in self.process.stdout:
            if match := re.search(r"^  service  (\w+)://127\.0\.0\.1:(\d+)", line):
                found[match[1]] = int(match[2])
            if line.startswith("  engine"):
                break
        if "https" not in found:
            raise Failed(f"the service did not start: {self.log.read_text()[-300:]}")
        self.port = found["https"]
        self.url = f"https://localhost:{self.port}"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def context(self):
        return ssl.create_default_context(cafile=self.authority.root)

    def session_after(self, context, session=None):
        """(the session that a client has after a request, whether it resumed `session`, which is of the same context)"""
        with context.wrap_socket(self.connect(), server_hostname="localhost", session=session) as secure:
            secure.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            secure.recv(100)  # The tickets come before.
            return secure.session, secure.session_reused

    def is_well(self):
        with self.context().wrap_socket(self.connect(), server_hostname="localhost") as secure:
            secure.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return secure.recv(100).startswith(b"HTTP/1.1 200 ")

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) // 1024

    def times_logged(self, text):
        return self.log.read_text().count(text)

    def end(self, is_relieved=False):
        if not is_relieved:
            self.process.send_signal(signal.SIGTERM)
        if self.process.wait(timeout=30) != 0:
            raise Failed(f"the service ended with {self.process.returncode}: {self.log.read_text()[-300:]}")


@contextlib.contextmanager
def serving(build):
    with tempfile.TemporaryDirectory(prefix="keel-tls-") as name:
        service = Service(build, pathlib.Path(name))
        try:
            yield service
            service.end()
        finally:
            if service.process.poll() is None:
                service.process.kill()
                service.process.wait()


def run(command, seconds, **options):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, **options)
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]} took more than {seconds} s") from None
