"""One run of one side under its work: what the client saw, and what the server used meanwhile."""

import dataclasses
import json
import os
import pathlib
import subprocess
import time

from keel_lab import load_client, resources, sides
from keel_lab.sides import CLIENT_CORE, SERVER_CORE, Invalid

DISTURBED = 0.08  # Of one core, used by anything but the server and the client.
REPEATS = 3
PROGRAMS = {"lockstep": "bench/bench_client", "bytes": "bench/bench_bytes"}
PATIENCE = 30  # Seconds beyond its window until a client that says nothing is given up.


@dataclasses.dataclass(frozen=True)
class Settings:
    """How long and how often. `cool_down` lets the kernel finish what one side left, before the next begins."""
    build: pathlib.Path
    profile: str = "full"
    pairs: int = 12
    seconds: float = 1.5
    warmup: float = 0.3
    cool_down: float = 0.2
    starts: int = 21
    repeats: int = 36  # Of disturbed runs, in one comparison.
    only: tuple = ()

    def wants(self, text):
        return not self.only or any(one in text for one in self.only)


@dataclasses.dataclass(frozen=True)
class Half:
    """One side of a comparison: who, doing what, from which build."""
    side: object
    work: object
    build: pathlib.Path

    @property
    def name(self):
        return self.side.name

    @property
    def missing(self):
        return sides.missing(self.side, self.build)


def options_of(work):
    if work.client == "bytes":
        return {
            "payload": work.payload, "connections": work.connections, "depth": work.depth, "framing": work.framing,
            "churn": int(work.churn)
        }
    found = {
        "path": work.path, "expect-status": work.status, "connections": work.connections, "depth": work.depth,
        "method": work.method
    }
    if work.body:
        found["body"] = work.body
    if work.range:
        found["range"] = work.range
    return found


def client_command(settings, server, work, **more):
    options = {
        "port": server.port, "cpu": CLIENT_CORE, "seconds": settings.seconds, "warmup": settings.warmup,
        "server": server.pid, **options_of(work), **more
    }
    return [str(settings.build / PROGRAMS[work.client]), *(f"--{name}={value}" for name, value in options.items())]


def client(settings, server, work, **more):
    try:
        done = subprocess.run(client_command(settings, server, work, **more), capture_output=True, text=True,
                              timeout=settings.warmup + settings.seconds + PATIENCE)
    except subprocess.TimeoutExpired:
        raise Invalid(f"the client had not ended {PATIENCE} s after its window") from None
    if done.returncode not in (0, 1):
        raise Invalid(done.stderr.strip() or f"the client ended with {sides.ending(done.returncode)}")
    result = json.loads(done.stdout)
    if done.returncode != 0 or result["requests"] == 0:
        errors = ", ".join(f"{count} {kind}" for kind, count in result["errors"].items() if count)
        raise Invalid(f"errors: {errors or 'none'}; {result['requests']} requests")
    return result


def itself(half):
    """(command, environment) of a program that measures itself."""
    places = {"build": half.build, "engine": half.side.engine}
    environment = os.environ | {name: sides.filled(value, places) for name, value in half.side.environment}
    return [*sides.command(half.side, half.build, places), *half.work.arguments], environment


def run_itself(half):
    """The same as if it were a server without a client."""
    command, environment = itself(half)
    try:
        with resources.Spent() as spent:
            result = json.loads(sides.output(command, 60, {SERVER_CORE}, env=environment))
    except (OSError, Invalid) as problem:
        raise Invalid(f"{half.name}: {problem}") from None
    used = result["whole_cpu"]
    return {key: result[key] for key in ("rss_kb",) if key in result} | {
        "ns": result["ns"], "rate": 1e9 / result["ns"], "cpu_us": result["ns"] / 1000, "samples": [],
        "server_utilisation": used / spent.wall, "client_utilisation": 0.0,
        "others_used": resources.others_used(spent.wall, spent.idle, used)
    }


def check_rows(half, server, before, result):
    """Every row that an answer has promised is there, and none that was deleted; read after the server has ended."""
    work = half.work
    if not work.rows:
        return
    statuses = result.get("statuses") or {str(work.status): result["all_requests"]}
    if before is None or server.rows is None:
        raise Invalid(f"the rows of {work.rows} cannot be counted: the side's `database` must be its SQLite file")
    expected = before + statuses.get("201", 0) - statuses.get("204", 0)
    if server.rows != expected:
        made, deleted = statuses.get("201", 0), statuses.get("204", 0)
        raise Invalid(f"{before} rows of {work.rows}, {made} answers 201 and {deleted} 204 left {server.rows} rows, "
                      f"not {expected}")


def check_log(half, server, result):
    """Every request of the client, and the two that were compared, has left its line."""
    work = half.work
    if not work.log_lines:
        return
    if sides.ready_path(half.side, work) == work.path:
        raise Invalid(f"log lines cannot be counted: the side must have a `ready` path other than {work.path}")
    expected = result["all_requests"] + (2 if work.answer is not None and work.method == "GET" else 0)
    if server.logged != expected:
        raise Invalid(f"{expected} requests for {work.path} left {server.logged} lines in the log")


def run(settings, half, payload=b"", count_allocations=False, look=None, samples=None, **client_options):
    """The client's result, completed: CPU per operation, utilisation, disturbance, memory, switches.

    `look` is called with the server before and after the client; `looks` of the result is what it gave. `samples` is a
    list for those of each second, which so outlive an interrupt."""
    work = half.work
    if work.client == "itself":
        return run_itself(half)
    with sides.running(half.side, work, half.build, payload, count_allocations) as server:
        sides.check(server.port, work)
        sides.prepare(server.port, work)
        if count_allocations:
            client_options["allocations"] = server.allocations
        rows = sides.count_rows(server.database, work.rows) if work.rows else 0
        before = look(server) if look else None
        with resources.Watch(server.pid, samples=samples) as watch:
            result = load_client.run(settings, server, work) if work.client == "load" else client(
                settings, server, work, **client_options)
        if look:
            result["looks"] = (before, look(server))
        sides.check(server.port, work)
        result |= {"rss_kb": server.resident_bytes() // 1024, "start_ms": server.start_ms, "samples": watch.samples}
    try:
        check_log(half, server, result)
        check_rows(half, server, rows, result)
    except Invalid as problem:
        raise Invalid(f"{half.name}: {problem}") from None
    first, last = watch.samples[0], watch.samples[-1]
    result["disk_kb"] = (last.written - first.written) / 1024 / max(last.at - first.at, 1e-9)
    if work.client == "load":
        return result
    wall, requests = result["seconds"], result["requests"]
    cpu_us = result["server_cpu"] / requests * 1e6
    used = result["server_user"] + result["server_system"]
    share = result["server_user"] / used if used >= 5 * resources.TICK else None  # Less than the clock can tell.
    if result.get("system_calls") is not None:
        result["system_calls"] /= requests
    result |= {
        "cpu_us": cpu_us, "server_utilisation": result["server_cpu"] / wall,
        "client_utilisation": result["client_cpu"] / wall, "user_us": None if share is None else cpu_us * share,
        "system_us": None if share is None else cpu_us * (1 - share),
        "switches": (result["voluntary_switches"] + result["involuntary_switches"]) / requests,
        "others_used": resources.others_used(wall, result["idle"], result["server_cpu"], result["client_cpu"])
    }
    return result


def quiet_run(settings, half, payload=b"", repeats=REPEATS, **client_options):
    """(the run, how often it was repeated): again while something else used the machine, so often at most."""
    for repeated in range(repeats + 1):
        result = run(settings, half, payload, **client_options)
        result["disturbed"] = result["others_used"] > DISTURBED
        if not result["disturbed"]:
            break
    if settings.cool_down and half.work.client != "itself":
        time.sleep(settings.cool_down)
    return result, repeated


def repeats(side):
    """Whether the side is a raw one, which repeats another's answer."""
    return any("{payload}" in text for text in side.serve)


def default_payload(work):
    body = (work.answer or "").encode()
    fields = f"Content-Type: {work.type or 'text/plain'}\r\nContent-Length: {len(body)}"
    head = f"HTTP/1.1 {work.status} OK\r\n{fields}\r\n\r\n"
    return head.encode() + body


def payload_for(half, others):
    """What a raw server must send: the answer, byte for byte, of the first of `others` that makes its own."""
    if not repeats(half.side):
        return b""
    for other in others:
        if not repeats(other.side) and not other.missing and other.work.path == half.work.path:
            with sides.running(other.side, other.work, other.build) as server:
                return sides.fetch_raw(server.port, other.work.path)
    return default_payload(half.work)
