"""Records both ways at the same time, between our transport and those of others, whose keys change on the way.

Our end is tls_exchange, theirs are the programs of openssl, GnuTLS and Go. Between them lies a relay that counts the
records on the wire, and every byte is compared where it arrives.
"""

import contextlib
import multiprocessing
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from servers import free_port
from service import Authority, Failed

RECORDS = 700_000
RECORDS_SAMPLE = 50_000
# Both sides renew their keys after this many records; Go does only where it is asked. GnuTLS takes 8 updates in a second.
RECORDS_PER_KEY = 20_000
SECONDS = 240

PERIOD = 65521
RECORD_BYTES_MAX = 16 * 1024
OPENSSL_BYTES_MAX = 8 * 1024  # It reads no more in one call.
RENEWED = b"SSL_do_handshake -> 1\n"  # s_server says so; s_client says KEYUPDATE among its errors.

HERE = pathlib.Path(__file__).parent


def digits():
    """The sequence of exchange.cc, and once more its beginning."""
    made, state = bytearray(), 27
    for _ in range(PERIOD):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        made.append(48 + (state >> 16) % 10)
    return bytes(made) * 2


def sizes(count, largest=RECORD_BYTES_MAX):
    """Of the records of exchange.cc."""
    state = 1
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        yield largest if i % 1000 == 999 else 1 + (state >> 16) % 1200


def records_of(part, state):
    """The number of records with data (RFC 8446 §5.1) that begin in `part`; what is unfinished is in `state`."""
    head, skip = state
    count, at, size = 0, 0, len(part)
    while at < size:
        if skip:
            step = min(skip, size - at)
            at, skip = at + step, skip - step
            continue
        needed = 5 - len(head)
        head += part[at:at + needed]
        at += needed
        if len(head) == 5:
            count += head[0] == 23
            head, skip = b"", head[3] << 8 | head[4]
    state[:] = head, skip
    return count


def relay(listener, port, counts):
    """Forwards one connection to `port`, and counts the records that go each way."""
    client, _ = listener.accept()
    server = socket.create_connection(("127.0.0.1", port))

    def forward(source, target, index):
        state = [b"", 0]
        try:
            while part := source.recv(262144):
                counts[index] += records_of(part, state)
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)
        except OSError:  # One of them is gone: so is the other one's connection.
            for end in (source, target):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    ways = [threading.Thread(target=forward, args=way) for way in ((client, server, 0), (server, client, 1))]
    for way in ways:
        way.start()
    for way in ways:
        way.join()


@contextlib.contextmanager
def relaying(port):
    """(the port of a relay to `port`, what it has counted: from who connects, from who listens)"""
    counts = multiprocessing.Array("q", 2, lock=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = multiprocessing.get_context("fork").Process(target=relay, args=(listener, port, counts), daemon=True)
        process.start()
        try:
            yield listener.getsockname()[1], counts
            process.join(timeout=5)
        finally:
            process.kill()
            process.join()


def await_listening(process, port):
    """Without a connection, which the program would take for the one it is to serve."""
    for _ in range(300):
        if f":{port:04X} 00000000:0000 0A" in pathlib.Path("/proc/net/tcp").read_text():
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise Failed(f"{process.args[0]} does not listen")


class Ours:
    """tls_exchange: it connects to the port `peer`, or listens."""

    def __init__(self, build, folder, engine, records, expected, peer=None):
        role = (["serve", "--certificate", folder / "service.pem"] if peer is None else
                ["ask", "--peer", f"127.0.0.1:{peer}", "--roots", folder / "root.pem"])
        self.process = subprocess.Popen([
            build / "tests/tls/tls_exchange", *role, "--engine", engine, "--records", str(records), "--expect",
            str(expected), "--records-per-key", str(RECORDS_PER_KEY)
        ], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1]) if peer is None else None

    def end(self):
        try:
            out, error = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            raise Failed("ours does not end") from None
        if self.process.returncode != 0 or "TLS 1.3" not in out:
            raise Failed(f"ours: {out} {error}"[-300:])

    def kill(self):
        self.process.kill()
        self.process.wait()


class OfLibrary:
    """exchange.go or exchange_gnutls.c, which compare what they receive themselves."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def exchange(self):
        pass

    def end(self):
        try:
            _, error = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            raise Failed("it does not end") from None
        if self.process.returncode != 0:
            raise Failed(f"it says: {error[-200:]}")

    def said(self):
        return self.process.stderr.read()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Program:
    """One of openssl's, which sends what it reads, a record for each message, and prints what it receives.

    That comes after `before`, where that is not None.
    """

    def __init__(self, command, records, expected, before):
        self.input, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=end, stdout=subprocess.PIPE, stderr=self.errors)
        end.close()
        self.records, self.expected, self.before = records, expected, before
        self.renewed = 0

    def feed(self):
        sequence = memoryview(digits())
        sent = 0
        with contextlib.suppress(BrokenPipeError, ConnectionError):
            for i, size in enumerate(sizes(self.records, OPENSSL_BYTES_MAX)):
                at = sent % PERIOD
                self.input.send(sequence[at:at + size])
                sent += size
                if i % RECORDS_PER_KEY == RECORDS_PER_KEY - 1:
                    # Of its keys and ours, of its own alone.
                    self.input.send((b"K\n", b"k\n")[i // RECORDS_PER_KEY % 2])

    def exchange(self):
        # s_server says nothing of its handshake when it has something to send before.
        feeding = threading.Thread(target=self.feed, daemon=True)
        if self.before is None:
            feeding.start()
        sequence = digits()
        received, waiting = 0, b""
        is_begun = self.before is None
        while received < self.expected:
            part = self.process.stdout.read1(PERIOD // 2)
            if not part:
                raise Failed(f"it has printed {received} of {self.expected} bytes")
            waiting += part
            if not is_begun:
                found = re.search(self.before, waiting)
                if found is None:
                    continue
                waiting, is_begun = waiting[found.end():], True
                feeding.start()
            # What it says in between is lines of words; what it has received are digits.
            self.renewed += waiting.count(RENEWED)
            waiting = re.sub(rb"[^0-9][^\n]*\n", b"", waiting)
            data = re.match(rb"[0-9]*", waiting).group()
            waiting = waiting[len(data):]
            at = received % PERIOD
            if data != sequence[at:at + len(data)]:
                raise Failed(f"other bytes than we have sent, after {received}")
            received += len(data)
        feeding.join(timeout=SECONDS)

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self):
        self.input.close()  # With its input it ends.
        rest = self.process.stdout.read()
        renewed = self.renewed + rest.count(RENEWED) + self.said().count("KEYUPDATE")
        if renewed != self.records // RECORDS_PER_KEY:
            raise Failed(f"it has renewed its keys {renewed} times")

    def kill(self):
        self.input.close()
        self.process.kill()
        self.process.wait()


def theirs(name, folder, port, records, expected):
    """What is run as the other end. Those that connect do so to `port`, the others listen there."""
    pair, root = str(folder / "service.pem"), str(folder / "root.pem")
    if name == "s_client":
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", root, "-verify_return_error",
                   "-verify_hostname", "localhost", "-tls1_3", "-quiet", "-no_ign_eof"]
        return Program(command, records, expected, None)
    if name == "s_server":
        command = ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", pair, "-key", pair, "-tls1_3", "-naccept", "1"]
        return Program(command, records, expected, rb"Secure Renegotiation IS.*\n")
    role, address, file = ("serve", str(port), pair) if name.endswith("serving") else ("ask", str(port), root)
    if name.startswith("GnuTLS"):
        return OfLibrary([folder / "exchange_gnutls", role, address, file, str(records), str(expected), str(RECORDS_PER_KEY)])
    return OfLibrary([folder / "exchange_go", role, f"127.0.0.1:{address}", file, str(records), str(expected)])


# What it needs, whether it connects, and the largest record that it sends.
PEERS = {
    "s_client": ("openssl", True, OPENSSL_BYTES_MAX),
    "s_server": ("openssl", False, OPENSSL_BYTES_MAX),
    "GnuTLS, asking": ("exchange_gnutls", True, RECORD_BYTES_MAX),
    "GnuTLS, serving": ("exchange_gnutls", False, RECORD_BYTES_MAX),
    "Go, asking": ("exchange_go", True, RECORD_BYTES_MAX),
    "Go, serving": ("exchange_go", False, RECORD_BYTES_MAX),
}


def compile_peers(build, folder):
    """What there is a compiler and a library for. That of GnuTLS is a target."""
    if (build / "tests/tls/tls_exchange_gnutls").exists():
        (folder / "exchange_gnutls").symlink_to(build / "tests/tls/tls_exchange_gnutls")
    if shutil.which("go"):
        done = subprocess.run(["go", "build", "-o", folder / "exchange_go", HERE / "exchange.go"], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"go build: {done.stderr[-300:]}")


def exchange(build, folder, name, engine, records):
    """The smaller of the numbers of records that went each way."""
    _, connects, largest = PEERS[name]
    ours_sends, theirs_sends = sum(sizes(records)), sum(sizes(records, largest))
    with contextlib.ExitStack() as stack:
        if connects:
            ours = Ours(build, folder, engine, records, theirs_sends)
            stack.callback(ours.kill)
            port, counts = stack.enter_context(relaying(ours.port))
            peer = theirs(name, folder, port, records, ours_sends)
            stack.callback(peer.kill)
        else:
            port = free_port()
            peer = theirs(name, folder, port, records, ours_sends)
            stack.callback(peer.kill)
            await_listening(peer.process, port)
            port, counts = stack.enter_context(relaying(port))
            ours = Ours(build, folder, engine, records, theirs_sends, port)
            stack.callback(ours.kill)
        limit = threading.Timer(SECONDS, lambda: (ours.kill(), peer.kill()))
        limit.start()
        stack.callback(limit.cancel)
        try:
            peer.exchange()
            ours.end()
        except Failed as failure:
            peer.kill()
            raise Failed(f"{failure} {peer.said()[-200:]}") from None
        peer.end()
    if min(counts) < records:
        raise Failed(f"{counts[0]} and {counts[1]} records on the wire")
    return min(counts)


def score(build, _service):
    """(score, whether it is enough, what is demanded)"""
    good, bad, missing = 0, [], []
    least = None
    with tempfile.TemporaryDirectory(prefix="keel-tls-") as name:
        folder = pathlib.Path(name)
        authority = Authority(folder)
        (folder / "service.pem").write_bytes(b"".join(authority.issue()))
        compile_peers(build, folder)
        for peer, (program, _, _) in PEERS.items():
            if not (folder / program).exists() and shutil.which(program) is None:
                missing.append(peer)
                continue
            for engine in ("uring", "epoll"):
                began = time.monotonic()
                try:
                    count = exchange(build, folder, peer, engine, RECORDS)
                    least = count if least is None else min(least, count)
                    good += 1
                    print(f"    {peer}, {engine}: {count} records each way, {time.monotonic() - began:.1f} s", flush=True)
                except Failed as failure:
                    bad.append(f"{peer} on {engine}: {failure}")
    result = f"{good} of {good + len(bad)}, at least {least} records each way"
    if missing:
        result += f", not here: {', '.join(missing)}"
    return result + (f", failed: {'; '.join(bad)}" if bad else ""), not bad and good >= 4, f"{RECORDS} each way"
