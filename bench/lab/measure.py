"""One run, and pairs of runs: A B, B A, ... each with a fresh server, so that drift hits both sides alike."""

import dataclasses
import json
import os
import subprocess

from lab import machine, sides, statistics

CLIENT_CORE = 0
SERVER_CORE = 1
DISTURBED = 0.08    # Of one core, used by anything but the server and the client.
REPEATS = 3


class Invalid(Exception):
    """The run does not count: an answer was wrong or missing."""


@dataclasses.dataclass(frozen=True)
class Work:
    """What the client sends. {n} in path or body stands for a number; see client/lockstep.c."""
    path: str
    body: str = ""
    status: int = 200
    range: int = 0
    expected: tuple = ()    # (path, content type, body) that is fetched and compared before every run
    prepare: object = None  # called with the server's port before the run, for example to insert rows


@dataclasses.dataclass(frozen=True)
class Half:
    """One side of a comparison: which server, doing what."""
    side: sides.Side
    work: Work

    @property
    def label(self):
        return f"{self.side.name} {self.work.path}"


@dataclasses.dataclass(frozen=True)
class Settings:
    build: object
    pairs: int = 12
    seconds: float = 1.5
    connections: int = 64
    depth: int = 1


def client(settings, server, work, **more):
    options = {"port": server.port, "path": work.path, "expect-status": work.status, "cpu": CLIENT_CORE,
               "connections": settings.connections, "depth": settings.depth, "seconds": settings.seconds,
               "server": server.pid, **more}
    if work.body:
        options |= {"method": "POST", "body": work.body}
    if work.range:
        options["range"] = work.range
    command = [str(settings.build / "bench_client"), *(f"--{name}={value}" for name, value in options.items())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=settings.seconds + 60)
    if done.returncode == 2:
        raise Invalid(done.stderr.strip())
    result = json.loads(done.stdout)
    if done.returncode != 0 or result["requests"] == 0:
        raise Invalid(f"errors: {result['errors']}, {result['requests']} requests")
    return result


def run(settings, half, answers=None, count_allocations=False, **client_options):
    """The client's result, completed: CPU per request, utilisation, disturbance, memory, start-up time."""
    work = half.work
    ready = work.expected[0] if work.expected else work.path.replace("{n}", "1")
    try:
        with sides.running(half.side, settings.build, SERVER_CORE, answers, count_allocations, ready) as server:
            idle_rss_kb = server.rss_kb()
            if work.expected:
                sides.check(server.port, work.expected)
            if work.prepare:
                work.prepare(server.port)
            if count_allocations:
                client_options["allocations"] = server.allocations
            result = client(settings, server, work, **client_options)
            result |= {"idle_rss_kb": idle_rss_kb, "rss_kb": server.rss_kb(), "start_ms": server.start_ms}
    except (Invalid, sides.NotReady) as problem:
        raise Invalid(f"{half.label}: {problem}") from None
    wall = result["seconds"]
    result["cpu_us"] = result["server_cpu"] / result["requests"] * 1e6
    result["server_used"] = result["server_cpu"] / wall
    result["client_used"] = result["client_cpu"] / wall
    # Whatever the cores did that was neither idling nor one of us; a hypervisor's steal counts too.
    others = (os.cpu_count() or 1) * wall - result["idle"] - result["server_cpu"] - result["client_cpu"]
    result["others_used"] = max(0.0, others / wall)
    return result


def quiet_run(settings, half, tally, answers):
    """A run, repeated while something else used the machine; `tally` counts repeats and runs left disturbed."""
    for attempt in range(REPEATS + 1):
        result = run(settings, half, answers)
        if result["others_used"] <= DISTURBED:
            return result
        if attempt < REPEATS:
            tally["repeated"] += 1
    tally["disturbed"] += 1
    return result


def answers_like(settings, half):
    """Both fixed answers of a server, so that a raw server beside it sends the same bytes."""
    with sides.running(half.side, settings.build, SERVER_CORE) as server:
        return [sides.fetch_raw(server.port, path) for path, _, _ in (sides.PLAINTEXT, sides.JSON)]


def summary(results, key):
    values = [result[key] for result in results]
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def compare(settings, a, b, key="cpu_us", progress=lambda text: None):
    """Pairs of a and b; the ratio of `key` is taken inside every pair."""
    try:
        answers = answers_like(settings, a) if b.side.kind == "raw" and a.side.kind != "raw" else None
    except sides.NotReady as problem:
        raise Invalid(str(problem)) from None
    tally = {"repeated": 0, "disturbed": 0}
    runs = ([], [])
    for pair in range(settings.pairs):
        for side in ((0, 1) if pair % 2 == 0 else (1, 0)):
            runs[side].append(quiet_run(settings, (a, b)[side], tally, answers))
        progress(f"{a.label} : {b.label}  {pair + 1}/{settings.pairs}")
    ratios = [left[key] / right[key] for left, right in zip(*runs)]
    low, high, covered = statistics.interval(ratios)
    keys = ("rate", "cpu_us", "server_used", "client_used", "others_used", "answer_bytes", "idle_rss_kb", "rss_kb", "start_ms")
    return {"a": a.label, "b": b.label, "of": key, "pairs": settings.pairs,
            "ratio": {"median": statistics.median(ratios), "low": low, "high": high, "coverage": covered,
                      "min": min(ratios), "max": max(ratios)},
            "sides": [{name: summary(results, name) for name in keys} for results in runs], **tally}


def per_request(settings, half):
    """System calls (undisturbed: counted by a tracepoint, no tracer attached) and heap allocations per request.

    Both are taken between two moments of a running load, so start-up and connecting are not in them.
    """
    found = {"of": half.label, "system_calls": None, "allocations": None, "allocated_bytes": None}
    short = dataclasses.replace(settings, seconds=min(settings.seconds, 1.0))
    tracepoint = machine.system_call_tracepoint()
    if tracepoint:
        results = [run(short, half, tracepoint=tracepoint) for _ in range(3)]
        found["system_calls"] = statistics.median([r["system_calls"] / r["requests"] for r in results])
    result = run(short, half, count_allocations=True)
    for name in ("allocations", "allocated_bytes"):
        found[name] = result[name] / result["requests"]
    return found


def wrk(settings, half):
    """Rate and latency as wrk sees them, or None when wrk is not installed. Shown, never judged."""
    if not machine.output("sh", "-c", "command -v wrk"):
        return None
    with sides.running(half.side, settings.build, SERVER_CORE) as server:
        text = machine.output("taskset", "-c", str(CLIENT_CORE), "wrk", "-t1", f"-c{settings.connections}", "-d2s",
                              "--latency", f"http://127.0.0.1:{server.port}{half.work.path}")
    words = [line.split() for line in text.splitlines()]
    value = {line[0]: line[1] for line in words if len(line) == 2}
    return {"of": half.label, "rate": value.get("Requests/sec:", "?"), "p50": value.get("50%", "?"), "p99": value.get("99%", "?")}
