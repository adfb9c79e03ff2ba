#!/usr/bin/env python3
"""Clients that mean no good, against a real service on both engines, and what good ones and probes notice: a table.

  make abuse                                            builds what is needed, and runs this
  tests/abuse/suites.py [--engine uring|epoll]... [--build build/release] [--only TEXT] [--list]

Each suite is one attack. While it lasts, the p99 of good clients is at most 3 times (slow clients: 1.5 times, a flood of
handshakes: 4 times; in a burst of thousands of handshakes good ones wait for their turn, within the time limit of one) what
it is without: the least of five windows (over TLS mostly three) of two seconds beside the attack
against the least of five alone, in turns, for other work of the machine only adds, and what an attack does it does in each
window. The ratio of the medians is shown as well. /readyz of the admin listener says 200 within a second, and the memory of
the process and of the kernel stays within what docs/operations.md says. Then its negative control: the same attack on a
service whose limit is off or raised, where the check that is named has to fail; a control that is within its bounds is a
failure of the suite.

Code 1 on any failure. All of it happens in a network namespace of its own, which needs root; without it there are no
thousand addresses, and the suites that need them are skipped, and say so.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import attacks
import gauges
from attacks import Attack

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MIB = 1 << 20
KIB = 1 << 10

ROUNDS = 5            # Pairs of measurements, alone and beside the attack, in turns.
GOOD_RATE = 300
GOOD_SECONDS = 2.3
GOOD_CONNECTIONS = 16
GOOD_RATE_IN_BURST = 20  # Each second some that connect anew, of which a burst makes each wait.
GOOD = ["--connections", str(GOOD_CONNECTIONS), "--duration", "2s", "--warmup", "300ms"]
HANDSHAKE_SECONDS = 2
SLOWDOWN_MAX = 3.0
SLOWDOWN_MAX_SLOW = 1.5
SLOWDOWN_MAX_FLOOD = 4.0
PROBE_MAX = 1.0       # Seconds.
CPU_MAX = 8           # What a request that is as large as the limits let in may cost beside one of a good client.
SAMPLES_MIN = 5       # Of some thirty: with fewer, the cores had no time for the gauges, and nothing is known of the memory.
SLACK = 16 * MIB      # Of the process: what the allocator keeps and the good clients take.
# The bound of docs/memory.md: of a connection, with TLS, during its handshake, of a record that is not whole, of encrypted
# bytes that are not read, and of the free blocks that a worker keeps for OpenSSL.
CONNECTION = 16 * KIB
SECURED = 24 * KIB
SHAKING = 40 * KIB
UNFINISHED = 16 * KIB
SEALED = 80 * KIB
FREE_BLOCKS = 8 * MIB
KERNEL_SLACK = 4 * MIB
NETWORK = "fd00:abe"  # Of the thousand addresses; all of it is local in the namespace.

# What a service is told, unless a suite says otherwise: limits of seconds, so that an attack is seen from its beginning to
# its end.
SETTINGS = {
    "network.workers": 1,
    "network.http.port": 0,
    "monitoring.metrics.export_port": 0,
    "network.http.header_timeout_sec": 2,
    "network.http.body_timeout_sec": 3,
    "network.http.body_rate_grace_sec": 1,
    "network.http.idle_timeout_sec": 3,
    "network.http.send_timeout_sec": 2,
    "network.http.send_rate_grace_sec": 1,
    "network.http.linger_timeout_sec": 1,
    "network.http.access_log": "false",
    "network.send_buffer_kb": 64,
    "network.recv_buffer_kb": 64,
    "common.log_level": "info",
    "logging.sinks": "[{type: console, format: json}]",
}
# And for suites over TLS, beside a certificate; the key that a client's handshake costs is P-256, as in practice.
SETTINGS_HTTPS = {
    "network.https.port": 0,
    "network.https.plain_http": "off",
    "network.https.handshake_timeout_sec": HANDSHAKE_SECONDS,
}
OFF = 86_400  # Seconds: the longest that a time limit may be.
# No limit ends a handshake that stalls.
PATIENT = {f"network.{key}_sec": OFF for key in ("https.handshake_timeout", "http.header_timeout", "http.idle_timeout")}
# The kernel's, of one connection: it doubles what is asked for and counts what it manages the bytes with.
KERNEL_BYTES_PER_CONNECTION = 2 * 2 * 64 * KIB

HEAD = "GET /hello HTTP/1.1\r\nHost: a\r\n"


class Failed(Exception):
    """Why a suite has no result."""


@dataclasses.dataclass
class Suite:
    name: str
    attack: dict                        # Of Attack, but for the port.
    lasts: float = 2.5                  # Seconds for which it lasts before good clients are measured.
    settings: dict = dataclasses.field(default_factory=dict)
    slowdown_max: float = SLOWDOWN_MAX
    p99_max: float = 0                  # Seconds, in place of the slowdown.
    good_rate: int = GOOD_RATE
    rss_max: int = SLACK                # Bytes beyond what it had before.
    kernel_max: int = KERNEL_SLACK
    ends: bool = False                  # Each of the clients is rejected or closed within its limit.
    cpu_max: float = 0                  # Times that of a good request, for one of the attack's; 0: no matter.
    open_max: int = 0                   # How many of them are let in at most; 0: no matter.
    waiting_min: int = 0                # As many handshakes wait together, else it was no burst; 0: no matter.
    admin: bool = False                 # It is the admin listener that is attacked.
    churn: bool = False                 # Good clients connect anew for each request.
    notes: bool = False                 # The log has each warning of the service, and hardly a line of the attack.
    addresses: bool = False
    https: bool = False                 # All of it is over TLS, good clients as well.
    rounds: int = ROUNDS
    expensive_key: bool = False         # The control's certificate has a key of RSA of 4,096 bits.
    control: dict = dataclasses.field(default_factory=dict)
    control_attack: dict = dataclasses.field(default_factory=dict)
    control_fails: str = ""


def formula(connections, held=0, unread=False, unfinished=False, shaking=False):
    """What docs/memory.md promises of connections with TLS to one worker: `held` are bodies, responses and received bytes."""
    each = CONNECTION + SECURED + SHAKING * shaking + SEALED * unread + UNFINISHED * unfinished
    return (connections + GOOD_CONNECTIONS) * each + held + FREE_BLOCKS


def keys(form, separator, bytes_max):
    """As many different short keys as fit."""
    made, size, number = [], 0, 0
    while size < bytes_max:
        made.append(form.format(number))
        size += len(made[-1]) + len(separator)
        number += 1
    return separator.join(made[:-1])


def post(path, body, fields=""):
    return f"POST {path} HTTP/1.1\r\nHost: a\r\n{fields}Content-Length: {len(body)}\r\n\r\n{body}"


def get(path, fields=""):
    return f"GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"


def colliding(request, raised, settings, control):
    """Requests whose keys are as many as the limits let in, in a closed loop at a rate that is little for good ones. For the
    control a limit is raised and the attacker sends as much as that lets in."""
    shape = {"count": 8, "waits": True, "reads": -1, "rate": 50, "again": True}
    return {"attack": shape | {"repeat": request}, "settings": settings, "control": control, "lasts": 0.5,
            "rss_max": SLACK + 8 * len(request) * 8, "cpu_max": CPU_MAX, "control_attack": {"repeat": raised},
            "control_fails": "cpu"}


# A record of 16 KiB of which 1,000 bytes are missing: the beginning of a client's hello.
HALF_RECORD = "\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03" + "\0" * (16 * KIB - 6 - 1000)


def secure(**attack):
    """What suites over TLS have in common."""
    return {"attack": attack, "https": True, "rounds": 3}


BURST = 3000
BURST_SECONDS = 3  # The time limit of a handshake: as long as a good client waits for a response.
BODY = post("/echo", "").replace("Length: 0", "Length: 9000") + "x"  # One that has begun.
MEMBERS = 1 * MIB - 64 * KIB
SUITES = [
    Suite("half-begun heads, admin listener", {"count": 64, "first": "G", "again": True}, lasts=1, admin=True,
          # That listener has no key for its limits: the control is the service's, with as many places and without limits.
          control={"network.http.max_connections": 64, "network.http.body_timeout_sec": OFF,
                   "network.http.body_rate_min": 0},
          control_attack={"first": BODY}, control_fails="/readyz"),
    Suite("half-begun heads", {"count": 300, "first": "G", "again": True}, churn=True,
          settings={"network.http.max_connections": 200}, rss_max=SLACK + 300 * 8 * KIB,
          # A body that has begun does not give way: without its limits no place is ever free.
          control={"network.http.body_timeout_sec": OFF, "network.http.body_rate_min": 0},
          control_attack={"first": BODY}, control_fails="served"),
    Suite("slow heads", {"count": 300, "first": HEAD, "drip": "X-Slow: and slower\r\n", "ramp": 1}, lasts=4.5,
          slowdown_max=SLOWDOWN_MAX_SLOW, rss_max=SLACK + 300 * 8 * KIB, ends=True,
          control={"network.http.header_timeout_sec": OFF}, control_fails="ended"),
    Suite("slow bodies", {"count": 300, "first": "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n",
                          "drip": "x", "ramp": 1}, lasts=6.5,
          slowdown_max=SLOWDOWN_MAX_SLOW, rss_max=SLACK + 300 * 16 * KIB, ends=True,
          control={"network.http.body_timeout_sec": OFF, "network.http.body_rate_min": 0}, control_fails="ended"),
    Suite("slow readers", {"count": 100, "first": get("/bytes/500000"), "reads": 10, "receive_buffer": 4096, "ramp": 1},
          lasts=6, slowdown_max=SLOWDOWN_MAX_SLOW, rss_max=SLACK + 100 * MIB,
          kernel_max=KERNEL_SLACK + 100 * KERNEL_BYTES_PER_CONNECTION, ends=True,
          control={"network.http.send_timeout_sec": OFF, "network.http.send_rate_min": 0}, control_fails="ended"),
    Suite("pipelined, never read", {"count": 100, "repeat": get("/bytes/4000") * 20, "receive_buffer": 4096},
          lasts=1, rss_max=SLACK + 100 * (64 + 4 + 80 + 16) * KIB,
          kernel_max=KERNEL_SLACK + 100 * KERNEL_BYTES_PER_CONNECTION,
          settings={"network.http.send_timeout_sec": 10, "network.http.send_rate_min": 0},
          control={"network.write_buffer_size_kb": 16 * KIB}, control_fails="memory"),
    Suite("huge responses, not read", {"count": 150, "first": get("/bytes/4000000"), "receive_buffer": 4096, "again": True},
          # The last response may pass the bound.
          lasts=1, rss_max=SLACK + (64 + 4) * MIB, kernel_max=KERNEL_SLACK + 150 * KERNEL_BYTES_PER_CONNECTION,
          settings={"network.http.max_response_memory": "64MiB"}, control={"network.http.max_response_memory": "4096MiB"},
          control_fails="memory"),
    Suite("unread and gone", {"count": 50, "first": get("/bytes/4000000"), "receive_buffer": 4096, "ramp": 1}, lasts=6,
          rss_max=SLACK + 200 * MIB, kernel_max=KERNEL_SLACK, ends=True,
          control={"network.http.send_timeout_sec": OFF, "network.http.send_rate_min": 0}, control_fails="kernel"),
    Suite("1,000 addresses of one /64", {"count": 1000, "host": "::1", "sources": NETWORK + "::{:x}", "again": True},
          addresses=True, churn=True, open_max=100, rss_max=SLACK + 1000 * 8 * KIB, lasts=1,
          settings={"network.http.max_connections": 600, "network.http.max_connections_per_client": 100},
          control={"network.http.max_connections_per_client": 600}, control_fails="let in"),
    Suite("1,000 addresses of 1,000 /64", {"count": 1000, "first": "G", "host": "::1", "sources": NETWORK + ":0:{:x}::1",
                                           "again": True},
          addresses=True, churn=True, rss_max=SLACK + 1000 * 8 * KIB,
          settings={"network.http.max_connections": 600},
          control={"network.http.body_timeout_sec": OFF, "network.http.body_rate_min": 0},
          control_attack={"first": BODY}, control_fails="served"),
    Suite("header collisions", **colliding(
        get("/count?wanted=1", "".join(f"K{i:x}: {'v' * 500}\r\n" for i in range(98))),
        get("/count?wanted=1", "".join(f"K{i:x}: {'v' * 10_000}\r\n" for i in range(98))), {},
        {"network.http.max_header": "1MiB"})),
    Suite("cookie collisions", **colliding(
        get("/count?wanted=1", f"Cookie: {keys('k{:x}=v', '; ', 15000)}\r\n"),
        get("/count?wanted=1", f"Cookie: {keys('k{:x}=v', '; ', 900_000)}\r\n"), {},
        {"network.http.max_header_line": "1MiB", "network.http.max_header": "1MiB"})),
    Suite("query collisions", **colliding(
        get(f"/count?{keys('k{:x}=v', '&', 7000)}&wanted=1"), get(f"/count?{keys('k{:x}=v', '&', 900_000)}&wanted=1"), {},
        {"network.http.max_request_line": "1MiB", "network.http.max_header": "1MiB"})),
    Suite("JSON key collisions", **colliding(
        post("/members", "{" + keys('"k{:x}":1', ",", 60_000) + "}"),
        post("/members", "{" + keys('"k{:x}":1', ",", MEMBERS) + "}"),
        {"network.http.max_body": "64KiB"}, {"network.http.max_body": "1MiB"})),
    Suite("log flood", {"count": 16, "repeat": get("/nothing") * 20 + "GET / HTTP/1.1\r\nHost: a\r\nno field\r\n\r\n",
                        "waits": True, "reads": -1, "rate": 100, "again": True},
          lasts=1, notes=True, rss_max=SLACK + 8 * MIB,
          settings={"network.http.access_log": "true", "logging.sinks": "[{type: console, format: json, level: warn}]"},
          control={"logging.sinks": "[{type: console, format: json}]"}, control_fails="log"),

    # The hellos of a few clients that never finish a handshake take the whole processor. A good client waits for one of them,
    # and for what accepting and closing their connections costs.
    Suite("https: handshake flood", **secure(count=32, tls="hello", reads=-1, leaves=True, again=True) | {"rounds": ROUNDS},
          lasts=1, slowdown_max=SLOWDOWN_MAX_FLOOD, rss_max=formula(32, shaking=True), expensive_key=True, control_fails="p99"),
    # A balancer's failover: all connect anew, and speak in the same moment, which is when good ones begin. A good client waits
    # for the first steps of all handshakes that have come before its own, but only in turns for its second. With a key that costs ten times as much,
    # and no limit that ends those that wait, the burst takes longer than a good client does: the control.
    Suite("https: burst of hellos", **secure(count=BURST, tls="hello", every=2 * BURST_SECONDS), lasts=0, churn=True,
          good_rate=GOOD_RATE_IN_BURST, p99_max=BURST_SECONDS, waiting_min=BURST // 4, rss_max=formula(BURST, shaking=True),
          settings={"network.https.handshake_timeout_sec": BURST_SECONDS},
          kernel_max=KERNEL_SLACK + BURST * 2 * KIB, expensive_key=True, control=PATIENT, control_fails="served"),
    Suite("https: half handshakes", **secure(count=300, tls="hello", ramp=1), lasts=4, slowdown_max=SLOWDOWN_MAX_SLOW,
          rss_max=formula(300, shaking=True), ends=True, control=PATIENT, control_fails="ended"),
    Suite("https: half records", **secure(count=300, first=HALF_RECORD, drip="\0", ramp=1), lasts=4,
          slowdown_max=SLOWDOWN_MAX_SLOW, rss_max=formula(300, unfinished=True), ends=True,
          control=PATIENT, control_fails="ended"),
    Suite("https: slow readers", **secure(count=100, tls="1.3", first=get("/bytes/500000"), reads=10, receive_buffer=4096,
                                          ramp=1),
          lasts=6, slowdown_max=SLOWDOWN_MAX_SLOW, rss_max=formula(100, 100 * 500_000, unread=True),
          kernel_max=KERNEL_SLACK + 100 * KERNEL_BYTES_PER_CONNECTION, ends=True,
          control={"network.http.send_timeout_sec": OFF, "network.http.send_rate_min": 0}, control_fails="ended"),
    Suite("https: huge responses, not read", **secure(count=150, tls="1.3", first=get("/bytes/4000000"),
                                                      receive_buffer=4096, again=True),
          lasts=1, rss_max=formula(150, (64 + 4) * MIB, unread=True),
          kernel_max=KERNEL_SLACK + 150 * KERNEL_BYTES_PER_CONNECTION,
          settings={"network.http.max_response_memory": "64MiB"}, control={"network.http.max_response_memory": "4096MiB"},
          control_fails="memory"),
    # With a request after each few of them a connection continues: that is the control, because no key raises the limit.
    Suite("https: key updates", **secure(count=100, tls="1.3", messages=20, ramp=2), lasts=2.5, rss_max=formula(100, shaking=True),
          ends=True, control_attack={"repeat": get("/hello"), "reads": -1}, control_fails="ended"),
    Suite("https: renegotiations", **secure(count=100, tls="1.2", messages=20, ramp=2), lasts=2.5, rss_max=formula(100, shaking=True),
          ends=True, control_attack={"repeat": get("/hello"), "reads": -1}, control_fails="ended"),
]


# --- The service.


@dataclasses.dataclass
class Service:
    pid: int
    port: int
    admin: int
    errors: int  # Where its log can be read.
    roots: pathlib.Path | None = None  # What believes its certificate; None: it speaks no TLS.


def pinned(core):
    cores = sorted(os.sched_getaffinity(0))
    return {cores[core % len(cores)]}


def certificate(build, folder, is_expensive):
    """(what the service needs for TLS, what its clients need)."""
    pair, roots = pathlib.Path(folder) / "service.pem", pathlib.Path(folder) / "root.pem"
    command = [build / "tools/keel/keel", "cert", "localhost", "127.0.0.1", "--dir", folder]
    if is_expensive:
        roots = pair
        command = ["openssl", "req", "-x509", "-newkey", "rsa:4096", "-nodes", "-keyout", pair, "-out", pair, "-days", "2",
                   "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise Failed(f"no certificate: {done.stderr[-200:]}")
    return {**SETTINGS_HTTPS, "network.https.certificate": pair}, roots


@contextlib.contextmanager
def serving(build, engine, settings, host, https=False, expensive_key=False):
    """The service on the first core, in a folder of its own; it must end when it is told to."""
    with tempfile.TemporaryDirectory(prefix="keel-abuse-") as folder:
        roots = None
        if https:
            secured, roots = certificate(build, folder, expensive_key)
            settings = secured | settings
        flags = [f"--{key}={value}" for key, value in (SETTINGS | settings).items()]
        read, write = os.pipe()
        server = subprocess.Popen([
            build / "tests/abuse/server", *flags, f"--network.engine={engine}", f"--network.http.address={host}",
            f"--database.path={folder}/app.db"
        ], cwd=folder, stdout=subprocess.PIPE, stderr=write, text=True,
                                  preexec_fn=lambda: os.sched_setaffinity(0, pinned(0)))
        os.close(write)
        try:
            yield started(server, read, roots)
            server.send_signal(signal.SIGTERM)
            os.set_blocking(read, False)
            deadline = time.monotonic() + 40
            while server.poll() is None and time.monotonic() < deadline:
                drained(read)
                time.sleep(0.05)
            if server.poll() not in (0, 1):  # 1: clients that were cut off at the drain's deadline.
                raise Failed(f"the service did not end as it should: {server.poll()}")
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()
            os.close(read)


def started(server, errors, roots=None):
    ports = {}
    for line in server.stdout:
        if found := re.match(r" +(service|admin) .*:(\d+)\b", line):
            ports[found[1]] = int(found[2])
        if len(ports) == 2:
            return Service(server.pid, ports["service"], ports["admin"], errors, roots)
    raise Failed("the service does not start: " + os.read(errors, 65536).decode(errors="replace").strip()[-300:])


def drained(descriptor):
    """What can be read without waiting."""
    text = b""
    with contextlib.suppress(BlockingIOError):
        while got := os.read(descriptor, 1 << 20):
            text += got
    return text.decode(errors="replace")


# --- Clients.


@dataclasses.dataclass
class Good:
    p99: float
    served: float  # Of what was asked.


def good_clients(build, host, port, churn, roots=None, rate=GOOD_RATE):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        address = f"[{host}]" if ":" in host else host
        done = subprocess.run([
            build / "tools/keel/keel", "load", f"{'https' if roots else 'http'}://{address}:{port}/hello", *GOOD,
            "--rate", str(rate), *(["--churn", "1"] if churn else []), *(["--roots", roots] if roots else []), "--timeout", "3s", "--json", report.name
        ], capture_output=True, text=True, timeout=60, preexec_fn=lambda: os.sched_setaffinity(0, pinned(1)))
        try:
            told = json.load(open(report.name))
        except ValueError:
            raise Failed(f"good clients could not begin: {done.stdout[-200:]}{done.stderr[-200:]}") from None
    asked, errors = told["requests"], sum(told["errors"].values()) if isinstance(told["errors"], dict) else told["errors"]
    return Good(told["latency"]["percentiles"]["99"] / 1e6, (asked - errors) / asked if asked else 0.0)


@contextlib.contextmanager
def beside(attack):
    """The attack while the block runs; gives what has, after it, what its clients did."""
    process = subprocess.Popen([sys.executable, str(pathlib.Path(attacks.__file__))], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, pinned(1)))
    told = {}
    try:
        process.stdin.write(json.dumps(dataclasses.asdict(attack)) + "\n")
        process.stdin.flush()
        if process.stdout.readline() != "ready\n":
            raise Failed("the attack did not begin")
        yield told
        told |= json.loads(process.communicate("", timeout=60)[0])
    finally:
        process.kill()
        process.wait()


# --- What is looked at.


@dataclasses.dataclass
class Seen:
    alone: float = 0     # The p99 of good clients, in seconds.
    good: float = 0      # And beside the attack.
    slowdown: float = 0
    typical: float = 0
    served: float = 0
    probe: float = 0
    rss: int = 0
    kernel: int = 0
    cpu: float = 0
    attack: dict = dataclasses.field(default_factory=dict)
    notes: int = -1  # Of `NOTES` warnings, how many are in the log.
    lines: int = 0   # What else is there.
    waiting: int = 0  # Handshakes that wait together.


NOTES = 20
LINES_MAX = 10


def look(build, service, suite, attack, host, is_admin):
    """One pair: good clients alone, and beside the attack."""
    cpu = gauges.cpu(service.pid)
    alone = good_clients(build, host, service.port, suite.churn, service.roots, suite.good_rate)
    cpu_alone = gauges.cpu(service.pid) - cpu
    before = gauges.rss(service.pid)
    seen = Seen()
    # What is attacked in place of the admin listener is also what is asked.
    probed = (service.admin, "/readyz") if is_admin or not suite.admin else (service.port, "/hello")
    watch = gauges.Watch(service.pid, service.port, *probed, cores=pinned(1))
    with contextlib.ExitStack() as around:
        # A burst has the core for itself until all have connected: the probe would wait for it, and not for the service.
        if attack.every:
            told = around.enter_context(beside(attack))
            around.enter_context(watch)
        else:
            around.enter_context(watch)
            told = around.enter_context(beside(attack))
        if suite.waiting_min:
            seen.waiting = gauges.metric(service.admin, "http_tls_handshakes_waiting")
        time.sleep(suite.lasts)
        cpu = gauges.cpu(service.pid)
        good = good_clients(build, host, service.port, suite.churn, service.roots, suite.good_rate)
        if suite.notes:
            for _ in range(NOTES):
                call(host, service.port, "/note")
        cpu = gauges.cpu(service.pid) - cpu
        left = gauges.kernel_memory(service.port)
    if watch.samples < SAMPLES_MIN:
        raise Failed(f"memory was looked at {watch.samples} times, at least {SAMPLES_MIN}: the machine has too few cores")
    if suite.ends:  # What the kernel still holds once the clients were to be ended; they are there, and read nothing.
        watch.kernel = left
    seen.alone, seen.good, seen.served = alone.p99, good.p99, good.served
    seen.probe, seen.rss, seen.kernel, seen.attack = watch.probe, max(watch.rss - before, 0), watch.kernel, told
    if suite.cpu_max and told["sent"]:
        asked = told["sent"] / len(attack.repeat) * GOOD_SECONDS / (GOOD_SECONDS + suite.lasts)
        seen.cpu = max(cpu - cpu_alone, 0) / asked / (cpu_alone / (suite.good_rate * GOOD_SECONDS))
    if suite.notes:
        seen.notes, seen.lines = noted(service.errors)
    return seen


def call(host, port, path):
    import socket
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=5) as one:
        one.sendall(get(path).encode())
        one.recv(1000)


def noted(errors):
    """(how many warnings, how many other lines) are in a log that is read now, until it has been quiet for a second."""
    os.set_blocking(errors, False)
    text, quiet = "", 0
    while quiet < 10:
        got = drained(errors)
        text += got
        quiet = 0 if got else quiet + 1
        time.sleep(0.1)
    notes = text.count('"noted"')
    return notes, text.count("\n") - notes


def worst(seen):
    """The least of what noise adds to, the median of what it moves, and the worst of what is a bound."""
    last = seen[-1]
    return dataclasses.replace(last, slowdown=min(one.good for one in seen) / min(one.alone for one in seen),
                               typical=statistics.median(one.good for one in seen) /
                               statistics.median(one.alone for one in seen),
                               served=min(one.served for one in seen), probe=max(one.probe for one in seen),
                               rss=max(one.rss for one in seen),
                               good=max(one.good for one in seen), waiting=min(one.waiting for one in seen),
                               cpu=statistics.median(one.cpu for one in seen), kernel=max(one.kernel for one in seen))


def faults(suite, seen):
    """{check: what is wrong}."""
    found = {}
    if seen.served < 0.99:
        found["served"] = f"{seen.served:.0%} of good requests served"
    if suite.p99_max:
        if seen.good > suite.p99_max:
            found["p99"] = f"p99 {seen.good:.2f} s, at most {suite.p99_max}"
    elif seen.slowdown > suite.slowdown_max:
        found["p99"] = f"p99 x {seen.slowdown:.2f}, at most {suite.slowdown_max}"
    if seen.probe > PROBE_MAX:
        found["/readyz"] = f"/readyz after {seen.probe:.1f} s"
    if seen.rss > suite.rss_max:
        found["memory"] = f"{seen.rss / MIB:.0f} MiB more, at most {suite.rss_max / MIB:.0f}"
    if seen.kernel > suite.kernel_max:
        found["kernel"] = f"{seen.kernel / MIB:.1f} MiB in the kernel, at most {suite.kernel_max / MIB:.1f}"
    if suite.cpu_max and seen.cpu > suite.cpu_max:
        found["cpu"] = f"{seen.cpu:.0f} times the CPU of a good request, at most {suite.cpu_max:.0f}"
    if suite.ends and (seen.attack["ended"] < seen.attack["connected"] or not seen.attack["connected"]):
        found["ended"] = f"{seen.attack['ended']} of {seen.attack['connected']} ended"
    if suite.open_max and seen.attack["open"] > suite.open_max:
        found["let in"] = f"{seen.attack['open']} let in, at most {suite.open_max}"
    if seen.waiting < suite.waiting_min:
        found["burst"] = f"{seen.waiting:.0f} handshakes waited together, at least {suite.waiting_min}"
    if suite.notes and (seen.notes < NOTES or seen.lines > LINES_MAX):
        found["log"] = f"{seen.notes} of {NOTES} warnings in the log, and {seen.lines} lines of the attack"
    return found


def measure(build, engine, suite, settings, shape, rounds, is_admin, expensive_key=False):
    host = shape.get("host", "127.0.0.1")
    with serving(build, engine, settings, host, suite.https, expensive_key) as service:
        attack = Attack(port=service.admin if is_admin else service.port, **shape)
        good_clients(build, host, service.port, suite.churn, service.roots)  # What the first requests pay for is no one's fault.
        return worst([look(build, service, suite, attack, host, is_admin) for _ in range(rounds)])


def said(seen):
    return (f"p99 {seen.alone * 1000:.2f} ms alone, x {seen.slowdown:.2f} (medians {seen.typical:.2f}), /readyz {seen.probe * 1000:.0f} ms, memory +{seen.rss / MIB:.0f} MiB, "
            f"kernel {seen.kernel / MIB:.1f} MiB, {seen.attack['open']} open, {seen.attack['ended']} ended" +
            (f", CPU x {seen.cpu:.1f}" if seen.cpu else "") +
            (f", {seen.waiting:.0f} handshakes waited, p99 {seen.good:.2f} s" if seen.waiting else ""))


def run(build, engine, suite):
    """(what was seen, {check: what is wrong})."""
    seen = measure(build, engine, suite, suite.settings, suite.attack, suite.rounds, suite.admin)
    wrong = faults(suite, seen)
    try:
        without = measure(build, engine, suite, suite.settings | suite.control, suite.attack | suite.control_attack, 1,
                          False, suite.expensive_key)
        control = faults(suite, without)
        if suite.control_fails not in control:
            wrong["control"] = f"without its limit {suite.control_fails} is as with it: {said(without)}"
    except Failed as problem:
        wrong["control"] = str(problem)
    return said(seen), wrong


def enter_namespace():
    """Moves this program into a network namespace of its own, where NETWORK is local; whether it could."""
    if os.environ.get("KEEL_ABUSE_APART"):
        return True
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    # When the gauges list sockets, the kernel also walks over those in TIME_WAIT: 30,000 take 20 ms, for which a good client
    # waits for the core.
    few = "echo 256 2>/dev/null >/proc/sys/net/ipv4/tcp_max_tw_buckets || true"
    route = f'ip -6 route add local {NETWORK.replace(":abe", "::")}/16 dev lo'
    script = f'ip link set lo up && {{ {few}; }} && {route} && exec "$@"'
    os.execvpe("unshare", ["unshare", "--net", "sh", "-c", script, "sh", sys.executable, *sys.argv],
               os.environ | {"KEEL_ABUSE_APART": "1"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", choices=["uring", "epoll"])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--only", default="", help="suites whose name contains this")
    parser.add_argument("--list", action="store_true", help="their names")
    options = parser.parse_args()
    chosen = [suite for suite in SUITES if options.only.lower() in suite.name.lower()]
    if options.list:
        print("\n".join(suite.name for suite in chosen))
        return 0
    apart = enter_namespace()
    os.environ.pop("KEEL_ABUSE_APART", None)  # A service takes every KEEL_… for a setting.
    failed = ran = skipped = 0
    for engine in options.engine or ["uring", "epoll"]:
        for suite in chosen:
            if suite.addresses and not apart:
                print(f"{engine:6} {suite.name:32} SKIPPED  needs root, unshare and ip for a network namespace")
                skipped += 1
                continue
            began = time.monotonic()
            try:
                text, wrong = run(options.build.resolve(), engine, suite)
            except (Failed, OSError, subprocess.TimeoutExpired) as problem:
                text, wrong = "", {"result": str(problem)}
            ran += 1
            failed += bool(wrong)
            print(f"{engine:6} {suite.name:32} {'FAILED ' if wrong else 'held   '}  {'; '.join(wrong.values()) or text} "
                  f"({time.monotonic() - began:.0f} s)", flush=True)
            if wrong and text:
                print(f"{'':50}{text}", flush=True)
    print(f"{ran - failed} of {ran} suites held" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
