#!/usr/bin/env python3
"""What a full handshake costs, and whose code it is: user instructions by callgrind, which noise does not change.

  tests/tls/handshake_cost.py [--build build/release]    needs valgrind, and abuse_server and keel of the build

Each of the connections shakes hands with TLS 1.3, sends one request, and is closed. What the kernel does is not counted.
"""

import argparse
import collections
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "bench"))

import openssl
from keel_lab import callgrind

WARM_UP = 50
HANDSHAKES = 200
OWNERS = {"libcrypto": "OpenSSL's libcrypto", "libssl": "OpenSSL's libssl", "libc.": "the C library, most of it for OpenSSL"}


def shake_hands(port):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as peer:
        end = openssl.End()
        done = end.shake()
        peer.sendall(end.taken())
        while not done:
            done = end.shake(peer.recv(65536))
            peer.sendall(end.taken())
        peer.sendall(end.write(b"GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
        got = b""
        while came := peer.recv(65536):
            got += end.read(came)
        end.close()
    if not got.startswith(b"HTTP/1.1 200 "):
        raise callgrind.NotCounted(f"no response: {got[:100]}")


def owner(binary, function):
    """Whose code a function of a binary is."""
    if binary.endswith("/server"):
        return "Keel's memory for OpenSSL" if "internal::(anonymous namespace)::" in function and re.search(
            r"::(allocate|release|reallocate)\(", function) else "Keel, everything else"
    return next((name for start, name in OWNERS.items() if pathlib.Path(binary).name.startswith(start)), "others")


def shares(path):
    """{owner: instructions} of a file of callgrind's, of which calls are no part."""
    found, binary, function, is_call = collections.Counter(), "", "", False
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("ob="):
            binary = line[3:]
        elif line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            if not is_call:
                found[owner(binary, function)] += int(line.split()[1])
            is_call = False
    return found


def measured(build, settings):
    """{owner: instructions of one handshake}"""
    with tempfile.TemporaryDirectory(prefix="keel-tls-") as folder:
        subprocess.run([build / "tools/keel/keel", "cert", "--dir", folder], check=True, stdout=subprocess.DEVNULL)
        flags = {"network.workers": 1, "network.engine": "epoll", "network.http.port": 0, "network.https.port": 0,
                 "network.https.plain_http": "off", "network.https.certificate": f"{folder}/service.pem",
                 "network.http.access_log": "false", "monitoring.metrics.export_port": 0,
                 "monitoring.stall_ms": 0,  # Its signals end callgrind.
                 "database.path": f"{folder}/app.db", "common.log_level": "warn"} | settings
        server = subprocess.Popen([*callgrind.prefix(folder), build / "tests/abuse/server",
                                   *(f"--{key}={value}" for key, value in flags.items())], cwd=folder,
                                  stdout=subprocess.PIPE, text=True)
        try:
            port = next((int(found[1]) for line in server.stdout if (found := re.match(r" +service .*:(\d+)\b", line))), 0)
            if not port:
                raise callgrind.NotCounted("the service did not start")
            for _ in range(WARM_UP):
                shake_hands(port)
            callgrind.dump(folder, server.pid)
            for _ in range(HANDSHAKES):
                shake_hands(port)
            found = shares(callgrind.dump(folder, server.pid))
        finally:
            server.kill()  # Valgrind sees no other signal.
            server.wait()
    return {name: count / HANDSHAKES for name, count in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    build = parser.parse_args().build.resolve()
    if why := callgrind.refusal():
        print(f"nothing is counted: {why}")
        return 2
    parts, without = (measured(build, settings) for settings in ({}, {"network.https.tickets": "false"}))
    total = sum(parts.values())
    print(f"{total:12,.0f}  a full handshake, a request and the close")
    for name, count in sorted(parts.items(), key=lambda part: -part[1]):
        print(f"{count:12,.0f}  {count / total:6.1%}  {name}")
    rest = sum(without.values())
    print(f"{total - rest:12,.0f}  {(total - rest) / total:6.1%}  for the ticket: less without (network.https.tickets: false)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
