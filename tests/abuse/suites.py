#!/usr/bin/env python3
"""Clients that mean no good, against a real service on both engines, and what good ones and probes notice: a table.

  make abuse                                            builds what is needed, and runs this
  tests/abuse/suites.py [--engine uring|epoll]... [--build build/release] [--only TEXT] [--list]

Each suite is one attack. While it goes on, the p99 of good clients is at most 3 times (slow clients: 1.5 times) what it is
without: the least of five windows of two seconds beside the attack against the least of five alone, in turns, for other work of
the machine only adds, and what an attack does it does in each window. The ratio of the medians is shown as well. /readyz of the
admin listener says 200 within a second, and the memory of the process and of the kernel stays within what docs/operations.md
says. Then its negative control: the same attack on a service whose limit is off or raised, where the check that is named has to
fail; a control that is within its bounds is a failure of the suite.

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
GOOD = ["--rate", str(GOOD_RATE), "--connections", "16", "--duration", "2s", "--warmup", "300ms"]
SLOWDOWN_MAX = 3.0
SLOWDOWN_MAX_SLOW = 1.5
PROBE_MAX = 1.0       # Seconds.
CPU_MAX = 8           # What a request that is as large as the limits let in may cost beside one of a good client.
SLACK = 16 * MIB      # Of the process: what the allocator keeps and the good clients take.
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
OFF = 86_400  # Seconds: the longest that a time limit may be.
# The kernel's, of one connection: it doubles what is asked for and counts what it manages the bytes with.
KERNEL_BYTES_PER_CONNECTION = 2 * 2 * 64 * KIB

HEAD = "GET /hello HTTP/1.1\r\nHost: a\r\n"


class Failed(Exception):
    """Why a suite has no result."""


@dataclasses.dataclass
class Suite:
    name: str
    attack: dict                        # Of Attack, but for the port.
    lasts: float = 2.5                  # Seconds that it goes on before good clients are measured.
    settings: dict = dataclasses.field(default_factory=dict)
    slowdown_max: float = SLOWDOWN_MAX
    rss_max: int = SLACK                # Bytes beyond what it had before.
    kernel_max: int = KERNEL_SLACK
    ends: bool = False                  # Each of the clients is turned away or ended within its limit.
    cpu_max: float = 0                  # Times that of a good request, for one of the attack's; 0: no matter.
    open_max: int = 0                   # How many of them are let in at most; 0: no matter.
    admin: bool = False                 # It is the admin listener that is attacked.
    churn: bool = False                 # Good clients connect anew for each request.
    notes: bool = False                 # The log has each warning of the service, and hardly a line of the attack.
    addresses: bool = False
    control: dict = dataclasses.field(default_factory=dict)
    control_attack: dict = dataclasses.field(default_factory=dict)
    control_fails: str = ""


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
          # The last one may pass the bound, and the handler makes its body from a text of the same size.
          lasts=1, rss_max=SLACK + (64 + 2 * 4) * MIB, kernel_max=KERNEL_SLACK + 150 * KERNEL_BYTES_PER_CONNECTION,
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
]


# --- The service.


@dataclasses.dataclass
class Service:
    pid: int
    port: int
    admin: int
    errors: int  # Where its log can be read.


def pinned(core):
    cores = sorted(os.sched_getaffinity(0))
    return {cores[core % len(cores)]}


@contextlib.contextmanager
def serving(build, engine, settings, host):
    """The service on the first core, in a folder of its own; it must end when it is told to."""
    with tempfile.TemporaryDirectory(prefix="keel-abuse-") as folder:
        flags = [f"--{key}={value}" for key, value in (SETTINGS | settings).items()]
        read, write = os.pipe()
        server = subprocess.Popen([
            build / "tests/abuse/server", *flags, f"--network.engine={engine}", f"--network.http.address={host}",
            f"--database.path={folder}/app.db"
        ], cwd=folder, stdout=subprocess.PIPE, stderr=write, text=True,
                                  preexec_fn=lambda: os.sched_setaffinity(0, pinned(0)))
        os.close(write)
        try:
            yield started(server, read)
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


def started(server, errors):
    ports = {}
    for line in server.stdout:
        if found := re.match(r" +(service|admin) .*:(\d+)\b", line):
            ports[found[1]] = int(found[2])
        if len(ports) == 2:
            return Service(server.pid, ports["service"], ports["admin"], errors)
    raise Failed("the service does not start: " + os.read(errors, 65536).decode(errors="replace").strip()[-300:])


def drained(descriptor):
    """What can be read at once."""
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


def good_clients(build, host, port, churn):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        address = f"[{host}]" if ":" in host else host
        done = subprocess.run([
            build / "tools/keel/keel", "load", f"http://{address}:{port}/hello", *GOOD, *(["--churn", "1"] if churn else []),
            "--timeout", "3s", "--json", report.name
        ], capture_output=True, text=True, timeout=60, preexec_fn=lambda: os.sched_setaffinity(0, pinned(1)))
        try:
            told = json.load(open(report.name))
        except ValueError:
            raise Failed(f"good clients could not begin: {done.stdout[-200:]}{done.stderr[-200:]}") from None
    asked, errors = told["requests"], sum(told["errors"].values()) if isinstance(told["errors"], dict) else told["errors"]
    return Good(told["latency"]["percentiles"]["99"], (asked - errors) / asked if asked else 0.0)


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


NOTES = 20
LINES_MAX = 10


def look(build, service, suite, attack, host, is_admin):
    """One pair: good clients alone, and beside the attack."""
    cpu = gauges.cpu(service.pid)
    alone = good_clients(build, host, service.port, suite.churn)
    cpu_alone = gauges.cpu(service.pid) - cpu
    before = gauges.rss(service.pid)
    seen = Seen()
    # What is attacked in place of the admin listener is also what is asked.
    probed = (service.admin, "/readyz") if is_admin or not suite.admin else (service.port, "/hello")
    with gauges.Watch(service.pid, service.port, *probed) as watch:
        with beside(attack) as told:
            time.sleep(suite.lasts)
            cpu = gauges.cpu(service.pid)
            good = good_clients(build, host, service.port, suite.churn)
            if suite.notes:
                for _ in range(NOTES):
                    call(host, service.port, "/note")
            cpu = gauges.cpu(service.pid) - cpu
            left = gauges.kernel_memory(service.port)
    if suite.ends:  # What the kernel still holds once the clients were to be ended; they are there, and read nothing.
        watch.kernel = left
    seen.alone, seen.good, seen.served = alone.p99, good.p99, good.served
    seen.probe, seen.rss, seen.kernel, seen.attack = watch.probe, max(watch.rss - before, 0), watch.kernel, told
    if suite.cpu_max and told["sent"]:
        asked = told["sent"] / len(attack.repeat) * GOOD_SECONDS / (GOOD_SECONDS + suite.lasts)
        seen.cpu = max(cpu - cpu_alone, 0) / asked / (cpu_alone / (GOOD_RATE * GOOD_SECONDS))
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
                               cpu=statistics.median(one.cpu for one in seen), kernel=max(one.kernel for one in seen))


def faults(suite, seen):
    """{check: what is wrong}."""
    found = {}
    if seen.served < 0.99:
        found["served"] = f"{seen.served:.0%} of good requests served"
    if seen.slowdown > suite.slowdown_max:
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
    if suite.notes and (seen.notes < NOTES or seen.lines > LINES_MAX):
        found["log"] = f"{seen.notes} of {NOTES} warnings in the log, and {seen.lines} lines of the attack"
    return found


def measure(build, engine, suite, settings, shape, rounds, is_admin):
    host = shape.get("host", "127.0.0.1")
    with serving(build, engine, settings, host) as service:
        attack = Attack(port=service.admin if is_admin else service.port, **shape)
        good_clients(build, host, service.port, suite.churn)  # What the first requests pay for is no one's fault.
        return worst([look(build, service, suite, attack, host, is_admin) for _ in range(rounds)])


def said(seen):
    return (f"p99 x {seen.slowdown:.2f} (medians {seen.typical:.2f}), /readyz {seen.probe * 1000:.0f} ms, memory +{seen.rss / MIB:.0f} MiB, "
            f"kernel {seen.kernel / MIB:.1f} MiB, {seen.attack['open']} open, {seen.attack['ended']} ended" +
            (f", CPU x {seen.cpu:.1f}" if seen.cpu else ""))


def run(build, engine, suite):
    """(what was seen, {check: what is wrong})."""
    seen = measure(build, engine, suite, suite.settings, suite.attack, ROUNDS, suite.admin)
    wrong = faults(suite, seen)
    try:
        without = measure(build, engine, suite, suite.settings | suite.control, suite.attack | suite.control_attack, 1,
                          False)
        control = faults(suite, without)
        if suite.control_fails not in control:
            wrong["control"] = f"without its limit {suite.control_fails} is as with it: {said(without)}"
    except Failed as problem:
        wrong["control"] = str(problem)
    return said(seen), wrong


def enter_namespace():
    """Goes on in a network namespace of its own, where NETWORK is local; whether it could."""
    if os.environ.get("KEEL_ABUSE_APART"):
        return True
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    script = f'ip link set lo up && ip -6 route add local {NETWORK.replace(":abe", "::")}/16 dev lo && exec "$@"'
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
