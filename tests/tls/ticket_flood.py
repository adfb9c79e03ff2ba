"""Servers that flood http::Client with tickets (RFC 8446 §4.6.1): it ends them, and its memory is bounded."""

import contextlib
import pathlib
import re
import socket
import subprocess
import tempfile
import threading

import openssl
from service import Authority

SECONDS = 15           # For one case.
RESIDENT_MIB_MAX = 48  # Of a client that begins with some 20: what it keeps of tickets is at most 2 MiB.
BETWEEN = 16           # Tickets between two pieces of a body: fewer than the client allows without data.
PIECES = 64


def flood(listener, pair, ticket_bytes, has_data):
    """Serves one connection: the tickets, and between them a response when it `has_data`."""
    peer, _ = listener.accept()
    end = openssl.End(pair=pair, ticket_bytes=ticket_bytes)
    with peer, contextlib.suppress(OSError):
        peer.settimeout(SECONDS)
        done = False
        while not done:
            done = end.shake(peer.recv(65536))
            peer.sendall(end.taken())
        came = b""  # The request may have come with the end of the handshake.
        while not end.read(came):
            came = peer.recv(65536)
        if not has_data:
            while True:  # Until the client closes.
                peer.sendall(end.tickets(BETWEEN))
        peer.sendall(end.write(f"HTTP/1.1 200 OK\r\nContent-Length: {PIECES * 100}\r\n\r\n".encode()))
        for _ in range(PIECES):
            peer.sendall(end.tickets(BETWEEN) + end.write(b"x" * 100))
        while peer.recv(65536):
            pass


def resident_mib(pid):
    """The most memory that a process has had; 0 when it is gone."""
    with contextlib.suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) // 1024 if found else 0
    return 0


def is_sanitized(build):
    """Whether the build has AddressSanitizer, which keeps freed memory: it is judged without."""
    return b"__asan_init" in (build / "tests/tls/tls_client").read_bytes()


def asked(build, root, pair, ticket_bytes, has_data):
    """(what the client says of such a server, the most memory that it had in MiB)."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=flood, args=(listener, pair, ticket_bytes, has_data))
        thread.start()
        client = subprocess.Popen([build / "tests/tls/tls_client", "--roots", root,
                                   f"https://localhost:{listener.getsockname()[1]}/"], stdout=subprocess.PIPE, text=True)
        most, said = 0, []
        reading = threading.Thread(target=lambda: said.append(client.stdout.read().strip()))
        reading.start()
        while reading.is_alive():
            most = max(most, resident_mib(client.pid))
            reading.join(0.01)
        client.wait(SECONDS)
        client.stdout.close()
        thread.join()
    return said[0], most


def floods_of_servers(build):
    """(how many cases there are, what is wrong with them)."""
    cases = {
        "tickets": (0, False, "32 handshake messages"),
        "large tickets": (openssl.TICKET_BYTES_MAX, False, "32 handshake messages"),
        "tickets between data": (0, True, f"200 {PIECES * 100}"),
        "large tickets between data": (openssl.TICKET_BYTES_MAX, True, f"200 {PIECES * 100}"),
    }
    bad = []
    with tempfile.TemporaryDirectory(prefix="keel-tls-") as folder:
        authority = Authority(pathlib.Path(folder))
        pair = pathlib.Path(folder) / "service.pem"
        pair.write_bytes(b"".join(authority.issue()))
        for name, (ticket_bytes, has_data, words) in cases.items():
            said, resident = asked(build, authority.root, pair, ticket_bytes, has_data)
            if words not in said or (resident > RESIDENT_MIB_MAX and not is_sanitized(build)):
                bad.append(f"a server's {name}: '{said}', {resident} MiB of memory")
    return len(cases), bad
