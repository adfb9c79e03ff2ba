"""What one operation takes, counted: system calls, heap allocations, user instructions, context switches, memory.

Counts do not depend on the machine's mood, so they have no interval. Each is taken between two moments of a running
load, or as the difference of two loads: start-up and connecting are not in them. One that the machine does not permit
is null, and the row says why.
"""

import contextlib
import dataclasses
import json
import resource
import socket
import ssl
import time

from keel_lab import callgrind, counters, judge, measure, proof, results, sides, statistics
from keel_lab.kind import Kind
from keel_lab.measure import Half
from keel_lab.record import COUNTS
from keel_lab.sides import SERVER_CORE, Invalid

OF_AN_OPERATION = tuple(name for name in COUNTS if name != "idle_rss_kb")
STEPS_SECONDS = 8  # What single-stepping takes, roughly, and
CALLGRIND_SECONDS = 4  # callgrind, once what it runs is built.
LOG_SECONDS_MAX = 20
IDLE_PER_SECOND = 3000  # Connections that are opened and used once.
STEPPED = (256, 1024)
START_SECONDS = 0.06
IDLE_SECONDS = 0.2  # What a process begins beside its start has ended by then.
RUNNING = {"system_calls", "allocations", "allocated_bytes", "switches"}


def instructions(settings, half, payload):
    """User instructions per operation, single-stepped; None where that is not to be had."""
    stepper = half.build / "bench/bench_step_count"
    if not stepper.exists():
        return None
    seen = []
    for count in STEPPED:
        with sides.running(half.side, half.work, half.build, payload) as server:
            sides.prepare(server.port, half.work)
            traced = measure.client_command(settings, server, half.work, count=count, warmup=0)
            # On the server's core: each step is then a switch within it.
            said = sides.output([str(stepper), str(server.pid), *traced], 120, {SERVER_CORE})
        answer, steps = said.strip().split("\n")
        seen.append((json.loads(answer)["requests"], int(steps)))
    (few, less), (many, more) = seen
    return (more - less) / (many - few)


def echoed(port):
    """A connection that has echoed a message."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=5)
    connection.sendall(b"idle")
    if connection.recv(16) != b"idle":
        connection.close()
        raise Invalid("a wrong echo")
    return connection


def answered(port, path, context=None):
    """A connection that has had one answer, over TLS where there is a context for it."""
    connection = proof.Connection(port, 5, context)
    connection.send(path)
    try:
        connection.answer()
    except Invalid as problem:
        connection.socket.close()
        raise Invalid(f"{path}: {problem}") from None
    return connection.socket


def permit_descriptors(count):
    """So many for this process. Invalid where the system has fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count:
        raise Invalid(f"{count} descriptors are needed, and a process has {hard} at most: ulimit -Hn")
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def connection_bytes(half, payload):
    """Memory that one more idle connection takes; None for work that has no such connection."""
    work = half.work
    echoes = work.client == "bytes" and not work.churn and work.framing == "none"
    if not (work.https or echoes or (work.client, work.method) == ("lockstep", "GET")):
        return None
    with sides.running(half.side, work, half.build, payload) as server:
        sides.prepare(server.port, work)
        permit_descriptors(work.idle + 1000)
        context = ssl.create_default_context(cafile=server.roots) if work.https else None
        port, path = server.https_port if work.https else server.port, work.path.replace("{n}", "1")
        connect = lambda: echoed(port) if echoes else answered(port, path, context)
        return counters.connection_bytes(connect, server.resident_bytes, count=work.idle)


def idle_rss_kb(half, payload):
    """Resident memory of a process that is ready, before any load."""
    with sides.running(half.side, half.work, half.build, payload) as server:
        time.sleep(IDLE_SECONDS)
        return server.resident_bytes() // 1024


def refuse_callgrind(side, build):
    """Invalid where callgrind cannot run the side."""
    program = sides.program(sides.served(side), build)
    if program is not None and counters.is_go(program):
        raise Invalid("valgrind does not run Go's programs reliably")
    if side.under_test and side.engine == "uring":
        raise Invalid("valgrind lets no other thread run while one waits for io_uring: counted on epoll")


def for_callgrind(half):
    """The same half with what the build makes made again for x86-64-v3; Invalid where callgrind cannot run it."""
    refuse_callgrind(half.side, half.build)
    programs = sides.built(half.side)
    if not programs:
        return half
    callgrind.build(programs)
    return dataclasses.replace(half, build=callgrind.BUILD)


def wait_for_lines(server, work, expected):
    """Until another thread has written as many lines of the log: they are work of the operations."""
    deadline = time.monotonic() + LOG_SECONDS_MAX
    while (written := server.lines_of(work)) < expected:
        if time.monotonic() > deadline:
            raise Invalid(f"{written} lines in the log, not {expected}, after {LOG_SECONDS_MAX} s")
        time.sleep(0.05)


def callgrind_instructions(settings, half, payload):
    """User instructions per operation under callgrind."""
    half = for_callgrind(half)

    @contextlib.contextmanager
    def start(prefix):
        with sides.running(half.side, half.work, half.build, payload, prefix=prefix,
                           start_seconds=callgrind.START_SECONDS) as server:
            sides.prepare(server.port, half.work)
            yield server, server.port

    def drive(server, _, count):
        before = server.lines_of(half.work) if half.work.log_lines else 0
        done = measure.client(settings, server, half.work, count=count, warmup=0)["requests"]
        if half.work.log_lines:
            wait_for_lines(server, half.work, before + done)
        return done

    return callgrind.per_operation(start, drive)


def is_stepped(work):
    return work.client == "bytes" and not work.churn


def count_instructions(settings, half, payload, row):
    """Echoes are stepped through, which any processor of x86-64 permits; a whole HTTP server would take minutes."""
    if is_stepped(half.work):
        row["instructions"], row["instructions_by"] = instructions(settings, half, payload), "stepping"
        if row["instructions"] is None:
            row["instructions_by"], row["absent"]["instructions"] = None, counters.stepping(half.build / "bench")
    elif half.work.client != "lockstep" or settings.profile != "full":
        row["absent"]["instructions"] = "only the full profile counts them, of HTTP servers, with callgrind"
    else:
        try:
            row["instructions"], row["instructions_by"] = callgrind_instructions(settings, half, payload), "callgrind"
        except Invalid as why:
            row["absent"]["instructions"] = str(why)


def of_side(settings, half, payload=b"", counted=OF_AN_OPERATION):
    """The row of one side; what cannot be counted, and what is not among `counted`, is null, and `absent` says why.

    System calls are counted by a tracepoint: no tracer is attached to what is counted.
    """
    row = {"side": half.name, "work": half.work.name, **dict.fromkeys((*COUNTS, "instructions_by")),
           "absent": {name: results.NOT_ASKED_FOR for name in COUNTS if name not in counted}}
    if "bytes_per_connection" in counted:
        row["bytes_per_connection"] = connection_bytes(half, payload)
    if "idle_rss_kb" in counted:
        row["idle_rss_kb"] = idle_rss_kb(half, payload)
    if "instructions" in counted:
        count_instructions(settings, half, payload, row)
    if RUNNING & set(counted):
        count_running(settings, half, payload, row)
    for name in row["absent"]:
        row[name] = None
    return row


def count_running(settings, half, payload, row):
    """What is counted while a client sends as fast as it is answered."""
    short = dataclasses.replace(settings, seconds=min(settings.seconds, 1.0))
    tracepoint, why = counters.system_calls(half.build / "bench")
    plain = [measure.run(short, half, payload, **({"tracepoint": tracepoint} if tracepoint else {})) for _ in range(3)]
    if tracepoint:
        row["system_calls"] = statistics.median([one["system_calls"] for one in plain])
    else:
        row["absent"]["system_calls"] = why
    switches = [one["switches"] for one in plain if one["switches"] is not None]
    row["switches"] = statistics.median(switches) if switches else None
    why = counters.allocations(half.build / "bench", sides.program(sides.served(half.side), half.build))
    if why:
        row["absent"] |= {"allocations": why, "allocated_bytes": why}
    else:
        counted = measure.run(short, half, payload, count_allocations=True)
        for name in ("allocations", "allocated_bytes"):
            row[name] = counted[name] / counted["requests"]


def seconds_of(settings, side, work, counted=OF_AN_OPERATION):
    once = settings.warmup + min(settings.seconds, 1.0) + 0.3
    found = 4 * once if RUNNING & set(counted) else 0
    if "bytes_per_connection" in counted:
        found += work.idle / IDLE_PER_SECOND
    if "idle_rss_kb" in counted:
        found += IDLE_SECONDS + START_SECONDS
    return found + (seconds_stepped(settings, side, work) if "instructions" in counted else 0)


def seconds_stepped(settings, side, work):
    stepped = STEPS_SECONDS if is_stepped(work) else 0
    if work.client == "lockstep" and settings.profile == "full":
        with contextlib.suppress(Invalid):
            refuse_callgrind(side, settings.build)
            stepped = CALLGRIND_SECONDS
    return stepped


def wanted(experiment, settings):
    return [(side, work) for side, work in experiment.counts
            if settings.wants(side) and (settings.profile == "full" or experiment.sides[side].profile == "quick")]


def measure_one(experiment, settings, side, work, result):
    half = Half(experiment.sides[side], work, settings.build)
    if half.missing:
        return results.skip(result, f"counts of {side}", f"{half.missing}: not found")
    others = [Half(experiment.sides[name], own, settings.build) for name, own in experiment.counts if own == work]
    with results.refusing(result, f"counts of {side}, {work.name}"):
        result["counts"].append(of_side(settings, half, measure.payload_for(half, others), experiment.counted))


def bounds(experiment, rows):
    by_side = {row["side"]: row for row in rows}
    return judge.bounds(experiment.bounds, lambda side, of: by_side.get(side, {}).get(of))


class Counts(Kind):
    """The kind that only counts."""
    name = "counts"
    keys = {"work": dict, "counts": list, "of": list, "bounds": list}
    required = ("work", "counts")

    def bounded(self, content, counted):
        return {side for side, _ in counted}, set(content.get("of", OF_AN_OPERATION)), (int,)

    def figures(self, one):
        """The counts and the bounds on them."""
        return {f"{side}/{count}" for side, _ in one.counts for count in one.counted} | \
            {f"{a}:{b}:{of}" for a, b, of, _ in one.bounds}

    def seconds(self, one, settings):
        return sum(seconds_of(settings, one.sides[side], work, one.counted) for side, work in wanted(one, settings))

    def measure(self, one, settings, result, progress):
        for side, work in wanted(one, settings):
            takes = seconds_of(settings, one.sides[side], work, one.counted)
            step = progress.steps(f"counts of {side}, {work.name}", 1, takes)
            measure_one(one, settings, side, work, result)
            step()
        result["bounds"] += bounds(one, result["counts"])
