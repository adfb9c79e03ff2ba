"""Which counts this machine permits for a program, and else why not: an absent count has a reason, and is never 0.

The counters themselves are outside the measured process (client/counters.c, tools/step_count.c, callgrind.py) or
preloaded into it (tools/alloc_count.c); counters_test.py checks each against a program that does exactly N things.
"""

import os
import pathlib
import shutil

from keel_lab import machine, sides
from keel_lab.sides import Invalid

GO = b"\xff Go buildinf:"      # Marks every program that Go's linker made.
LOADER = b"ld-linux"           # Named by every program that loads shared libraries, and so a preloaded one.


def system_calls(build):
    """(id of the tracepoint, "") or (None, why system calls cannot be counted)."""
    tracepoint = machine.system_call_tracepoint()
    if not tracepoint:
        return None, f"{machine.TRACEPOINT} cannot be read: it needs root, and tracefs mounted"
    counter = pathlib.Path(build, "bench_count")
    if not counter.exists():
        return None, f"{counter} is not built"
    try:
        sides.output([str(counter), f"--server={os.getpid()}", f"--tracepoint={tracepoint}", "true"], 20)
    except Invalid as why:
        return None, f"{why} (kernel.perf_event_paranoid is {machine.read(machine.PARANOID)})"
    return tracepoint, ""


def is_go(program):
    return GO in pathlib.Path(program).read_bytes()


def allocations(build, program):
    """Why the heap allocations of `program` cannot be counted; "" where they can."""
    counter = pathlib.Path(build, "libbench_alloc_count.so")
    if not counter.exists():
        return f"{counter} is not built"
    found = shutil.which(str(program))
    if found is None:
        return f"no program {program}"
    if is_go(found):
        return "Go takes its memory from the kernel, not from malloc"
    if LOADER not in pathlib.Path(found).read_bytes():
        return "a static program: nothing can be preloaded into it"
    return ""


def stepping(build):
    """Why instructions cannot be counted by single-stepping; "" where they can."""
    counter = pathlib.Path(build, "bench_step_count")
    return "" if counter.exists() else f"{counter} is not built: it is for x86-64 only"


def connection_bytes(connect, resident, before=256, count=1000):
    """Memory that one more idle connection takes: `connect()` opens one and uses it once, `resident()` is in bytes.

    What is fixed, or grows in large steps at the beginning, is touched by the first `before` connections.
    """
    connections = []
    try:
        for _ in range(before):
            connections.append(connect())
        first = resident()
        for _ in range(count):
            connections.append(connect())
        return (resident() - first) / count
    finally:
        for connection in connections:
            connection.close()
