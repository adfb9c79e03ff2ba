"""One run, and pairs of runs: A B, B A, ... each with a fresh server, so that drift hits both sides alike."""

import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import time

from keel_lab import machine, sides, statistics

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

    program = "bench_client"

    @property
    def name(self):
        return self.path

    @property
    def ready(self):
        """The path that answers when the server is ready."""
        return self.expected[0] if self.expected else self.path.replace("{n}", "1")

    def options(self, settings):
        found = {"path": self.path, "expect-status": self.status, "connections": settings.connections, "depth": settings.depth}
        if self.body:
            found |= {"method": "POST", "body": self.body}
        if self.range:
            found["range"] = self.range
        return found


@dataclasses.dataclass(frozen=True)
class Bytes:
    """Messages that are echoed, on connections that stay or (churn) on a new one for each; see client/bytes.c."""
    payload: int
    connections: int
    churn: bool = False

    program = "bench_bytes"
    expected = prepare = ready = None

    @property
    def name(self):
        return f"churn {self.connections}" if self.churn else f"{self.payload} B x {self.connections}"

    def options(self, settings):
        return {"payload": self.payload, "connections": self.connections, "churn": int(self.churn)}


@dataclasses.dataclass(frozen=True)
class Turns:
    """What a program does with its own loop, without a server; see turns/keel.cc. `options` are its arguments."""
    name: str
    arguments: tuple


@dataclasses.dataclass(frozen=True)
class Half:
    """One side of a comparison: which server, doing what."""
    side: sides.Side
    work: Work

    @property
    def label(self):
        return f"{self.side.name} {self.work.name}"


@dataclasses.dataclass(frozen=True)
class Settings:
    build: object
    pairs: int = 12
    seconds: float = 1.5
    connections: int = 64
    depth: int = 1


def command(settings, server, work, **more):
    options = {"port": server.port, "cpu": CLIENT_CORE, "seconds": settings.seconds, "server": server.pid,
               **work.options(settings), **more}
    return [str(settings.build / work.program), *(f"--{name}={value}" for name, value in options.items())]


def client(settings, server, work, **more):
    done = subprocess.run(command(settings, server, work, **more), capture_output=True, text=True, timeout=settings.seconds + 60)
    if done.returncode not in (0, 1):
        raise Invalid(done.stderr.strip())
    result = json.loads(done.stdout)
    if done.returncode != 0 or result["requests"] == 0:
        raise Invalid(f"errors: {result['errors']}, {result['requests']} requests")
    return result


def cores_idle():
    ticks = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(ticks[4]) + int(ticks[5])) / os.sysconf("SC_CLK_TCK")


def run_turns(settings, half):
    """A program that measures itself, as if it were a server without a client."""
    idle, begin = cores_idle(), time.monotonic()
    done = subprocess.run([half.side.program, *half.side.arguments, *half.work.arguments], capture_output=True, text=True,
                          timeout=60, preexec_fn=lambda: os.sched_setaffinity(0, {SERVER_CORE}))
    if done.returncode != 0:
        raise Invalid(f"{half.label}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    wall = time.monotonic() - begin
    others = (os.cpu_count() or 1) * wall - (cores_idle() - idle) - result["whole_cpu"]
    return {"rate": 1e9 / result["ns"], "cpu_us": result["ns"] / 1000, "server_used": result["whole_cpu"] / wall,
            "client_used": 0, "others_used": max(0.0, others / wall), "answer_bytes": 0, "idle_rss_kb": 0, "rss_kb": 0,
            "start_ms": 0}


def run(settings, half, answers=None, count_allocations=False, **client_options):
    """The client's result, completed: CPU per request, utilisation, disturbance, memory, start-up time."""
    work = half.work
    if isinstance(work, Turns):
        return run_turns(settings, half)
    try:
        with sides.running(half.side, settings.build, SERVER_CORE, answers, count_allocations, work.ready) as server:
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


def compare(settings, a, b, keys, progress=lambda text: None):
    """Pairs of a and b; the ratio of each key is taken inside every pair. One result for each key."""
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
    names = ("rate", "cpu_us", "server_used", "client_used", "others_used", "answer_bytes", "idle_rss_kb", "rss_kb", "start_ms")
    medians = [{name: summary(results, name) for name in names} for results in runs]
    found = []
    for key in keys:
        ratios = [left[key] / right[key] for left, right in zip(*runs)]
        low, high, covered = statistics.interval(ratios)
        found.append({"a": a.label, "b": b.label, "of": key, "pairs": settings.pairs,
                      "ratio": {"median": statistics.median(ratios), "low": low, "high": high, "coverage": covered,
                                "min": min(ratios), "max": max(ratios)},
                      "sides": medians, **tally})
    return found


def instructions(settings, half, counts=(256, 1024)):
    """User instructions per operation, single-stepped; None where that is not to be had."""
    stepper = settings.build / "bench_step_count"
    if not stepper.exists():
        return None
    seen = []
    for count in counts:
        with sides.running(half.side, settings.build, SERVER_CORE, ready_path=half.work.ready) as server:
            traced = command(settings, server, half.work, count=count, warmup=0)
            # On the server's core: each step is then a switch within it.
            done = subprocess.run([str(stepper), str(server.pid), *traced], capture_output=True, text=True, timeout=120,
                                  preexec_fn=lambda: os.sched_setaffinity(0, {SERVER_CORE}))
        if done.returncode != 0:
            raise Invalid(f"{half.label}, stepped: {done.stdout.strip()} {done.stderr.strip()}")
        answer, steps = done.stdout.strip().split("\n")
        seen.append((json.loads(answer)["requests"], int(steps)))
    (few, less), (many, more) = seen
    return (more - less) / (many - few)


def idle_connection_bytes(settings, half, before=256, count=1000):
    """Memory that one more connection takes which has echoed a message and is idle; what is fixed was touched before."""
    def one_more(port):
        connection = socket.create_connection(("127.0.0.1", port), timeout=5)
        connection.sendall(b"idle")
        if connection.recv(16) != b"idle":
            raise Invalid(f"{half.label}: a wrong echo")
        return connection
    with sides.running(half.side, settings.build, SERVER_CORE, ready_path=None) as server:
        connections = [one_more(server.port) for _ in range(before)]
        first = server.resident_bytes()
        connections += [one_more(server.port) for _ in range(count)]
        last = server.resident_bytes()
        for connection in connections:
            connection.close()
    return (last - first) / count


def per_request(settings, half):
    """System calls (undisturbed: counted by a tracepoint, no tracer attached) and heap allocations per request.

    Both are taken between two moments of a running load, so start-up and connecting are not in them.
    """
    found = {"of": half.label, "system_calls": None, "allocations": None, "allocated_bytes": None}
    if isinstance(half.work, Bytes) and not half.work.churn:
        found |= {"instructions": instructions(settings, half), "idle_bytes": idle_connection_bytes(settings, half)}
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
