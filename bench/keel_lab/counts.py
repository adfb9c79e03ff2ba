"""What one operation takes, counted: system calls, heap allocations, user instructions, context switches, memory.

Counts do not depend on the machine's mood, so they have no interval. Each is taken between two moments of a running
load, or as the difference of two loads: start-up and connecting are not in them. One that the machine does not permit
is null.
"""

import dataclasses
import json
import os
import socket
import subprocess

from keel_lab import judge, machine, measure, sides, statistics
from keel_lab.measure import Half
from keel_lab.sides import SERVER_CORE, Invalid

SECONDS_EACH = 12  # What the counts of one side take, roughly.
STEPPED = (256, 1024)


def instructions(settings, half, payload, counts=STEPPED):
    """User instructions per operation, single-stepped; None where that is not to be had."""
    stepper = half.build / "bench/bench_step_count"
    if not stepper.exists():
        return None
    seen = []
    for count in counts:
        with sides.running(half.side, half.work, half.build, payload) as server:
            sides.prepare(server.port, half.work)
            traced = measure.client_command(settings, server, half.work, count=count, warmup=0)
            # On the server's core: each step is then a switch within it.
            done = subprocess.run([str(stepper), str(server.pid), *traced],
                                  capture_output=True,
                                  text=True,
                                  timeout=120,
                                  preexec_fn=lambda: os.sched_setaffinity(0, {SERVER_CORE}))
        if done.returncode != 0:
            raise Invalid(f"{half.name}, stepped: {done.stdout.strip()} {done.stderr.strip()}")
        answer, steps = done.stdout.strip().split("\n")
        seen.append((json.loads(answer)["requests"], int(steps)))
    (few, less), (many, more) = seen
    return (more - less) / (many - few)


def echo_connection_bytes(half, before=256, count=1000):
    """Memory of one more connection that is idle after an echo; what is fixed was touched before."""
    def one_more(port):
        connection = socket.create_connection(("127.0.0.1", port), timeout=5)
        connection.sendall(b"idle")
        if connection.recv(16) != b"idle":
            raise Invalid(f"{half.name}: a wrong echo")
        return connection

    with sides.running(half.side, half.work, half.build) as server:
        connections = [one_more(server.port) for _ in range(before)]
        first = server.resident_bytes()
        connections += [one_more(server.port) for _ in range(count)]
        last = server.resident_bytes()
        for connection in connections:
            connection.close()
    return (last - first) / count


def of_side(settings, half, payload=b""):
    """The row of one side. System calls are counted by a tracepoint: no tracer is attached to what is counted."""
    # A whole HTTP server takes minutes to be stepped through.
    steady = half.work.client == "bytes" and not half.work.churn
    row = {
        "side": half.name,
        "work": half.work.name,
        "system_calls": None,
        "allocations": None,
        "allocated_bytes": None,
        "instructions": instructions(settings, half, payload) if steady else None,
        "instructions_by": None,
        "switches": None,
        "bytes_per_connection": echo_connection_bytes(half) if steady else None
    }
    if row["instructions"] is not None:
        row["instructions_by"] = "stepping"
    short = dataclasses.replace(settings, seconds=min(settings.seconds, 1.0))
    tracepoint = machine.system_call_tracepoint()
    plain = [measure.run(short, half, payload, **({"tracepoint": tracepoint} if tracepoint else {})) for _ in range(3)]
    if tracepoint:
        row["system_calls"] = statistics.median([one["system_calls"] / one["requests"] for one in plain])
    switches = [one["switches"] for one in plain if one["switches"] is not None]
    row["switches"] = statistics.median(switches) if switches else None
    counted = measure.run(short, half, payload, count_allocations=True)
    for name in ("allocations", "allocated_bytes"):
        row[name] = counted[name] / counted["requests"]
    return row


def seconds(experiment, settings):
    return SECONDS_EACH * len(wanted(experiment, settings))


def wanted(experiment, settings):
    return [(side, work) for side, work in experiment.counts
            if settings.wants(side) and (settings.profile == "full" or experiment.sides[side].profile == "quick")]


def measure_one(experiment, settings, side, work, result):
    half = Half(experiment.sides[side], work, settings.build)
    if half.missing:
        result["skipped"].append({"what": f"counts of {side}", "why": f"{half.missing}: not found"})
        return
    others = [Half(experiment.sides[name], own, settings.build) for name, own in experiment.counts if own == work]
    try:
        result["counts"].append(of_side(settings, half, measure.payload_for(half, others)))
    except (Invalid, subprocess.TimeoutExpired) as problem:
        result["invalid"].append({"what": f"counts of {side}, {work.name}", "why": str(problem)})


def bounds(experiment, rows):
    by_side = {row["side"]: row for row in rows}
    for a, b, of, target in experiment.bounds:
        values = [by_side.get(side, {}).get(of) for side in (a, b)]
        if None not in values and values[1]:
            yield {"id": f"{a}:{b}:{of}", "a": a, "b": b, **judge.bound(of, *values, target)}


def take(experiment, settings, result, progress):
    for side, work in wanted(experiment, settings):
        progress.steps(f"counts of {side}, {work.name}", 1, SECONDS_EACH)()
        measure_one(experiment, settings, side, work, result)
    result["bounds"] += bounds(experiment, result["counts"])
