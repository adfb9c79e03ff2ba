"""Is this machine fit to measure on? What it does not permit, whether it is disturbed, and what is not there.

Then the lab itself is tested on it: a raw loop against itself must not be called different, and one that burns 5 % more
CPU for each request must.
"""

import argparse
import itertools
import os
import pathlib
import shutil
import sys
import time

from keel_lab import experiment, judge, machine, measure, pairs, resources, run, side_file, sides
from keel_lab.progress import Progress
from keel_lab.work import Work
from keel_lab.yaml_file import Mistakes

SUMMARY = "is this machine fit to measure on, and does the lab find an effect that is planted?"
PLANTED = 0.05
WATCHED_SECONDS = 2
LOST = 50e-6  # Seconds between two readings of the clock: the core was another's. The loop itself takes less than 1 us.
LONG = 1e-3
LOST_MOST = 0.005  # Of the time. Of 1 %, a p99 is the machine's.
TOOLS = ("nginx", "wrk", "h2load", "perf", "valgrind", "go", "cargo", "git", "cmake", "ccache")
WORK = Work("lockstep", "/plaintext", path="/plaintext", method="GET", type="text/plain", answer="Hello, World!")
RAW = ("bench/bench_raw_epoll", "--port={port}", "--plaintext={payload}", "--json={payload}")


def others():
    """Of one core, what others use while nothing is measured."""
    with resources.Spent() as spent:
        time.sleep(WATCHED_SECONDS)
    return spent.others


def gaps(core, seconds=WATCHED_SECONDS):
    """For how long, each time, a thread on `core` that only reads the clock was kept from it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        found = []
        clock = time.perf_counter
        at = clock()
        end = at + seconds
        while at < end:
            now = clock()
            if now - at > LOST:
                found.append(now - at)
            at = now
        return found
    finally:
        os.sched_setaffinity(0, before)


def gaps_line(core, found, seconds=WATCHED_SECONDS):
    lost = sum(found) / seconds
    long = sum(gap > LONG for gap in found)
    said = (f"core {core}, a thread that only reads the clock: kept from it for {lost:.2%} of the time, "
            f"{long / seconds:.1f} times a second for more than {LONG * 1e3:.0f} ms, "
            f"{max(found, default=0) * 1e3:.2f} ms at the longest")
    return lost <= LOST_MOST, said + ("" if lost <= LOST_MOST else "; high percentiles are the machine's")


def machine_lines(build):
    cores = len(sides.CORES)
    yield cores >= 2, f"cores for this process: {cores}" + ("" if cores >= 2 else
                                                            "; client and server share one: no rate counts")
    for name, value in machine.facts(build).items():
        yield name != "not permitted" or value == "nothing", f"{name}: {value}"
    used = others()
    yield used <= measure.DISTURBED, f"used by others, of a core: {used:.2f}" + (
        "" if used <= measure.DISTURBED else f"; above {measure.DISTURBED} runs are repeated, and intervals are wide")
    for core in sorted({sides.CORES[0], sides.CORES[-1]}):
        yield gaps_line(core, gaps(core))
    yield True, f"Python {sys.version.split()[0]}"


def presence_lines(build):
    for tool in TOOLS:
        there = shutil.which(tool) or shutil.which(tool, path="/usr/sbin")
        yield bool(there), f"{tool}: {there or 'not there'}"
    for side in side_file.read_sides().values():
        missing = sides.missing(side, build)
        yield not missing, f"side {side.name}: {'not there: ' + missing if missing else 'there'}"


def raw(name, *more):
    return side_file.Side(name=name, title=name, serve=(*RAW, *more))


def live(settings):
    """(sentence, whether it is as it must be) of A/A, and of a planted effect."""
    half = lambda side: measure.Half(side, WORK, settings.build)
    progress = Progress(settings.pairs * 4 * pairs.one_run(settings))
    progress.experiment = "doctor"
    plain = raw("raw-epoll")

    def compared(a, line, noise=None):
        measured = []
        pairs.measure_pairs({"a": half(a), "b": half(plain)}, line, measured, settings, progress)
        return judge.compare([pairs.published(pair) for pair in measured], "cpu_us", noise=noise)

    same = compared(plain, "a raw loop : itself")
    yield _said("A : A, CPU per operation", same), not judge.differs(same["ratios"])

    planted_us = same["b_value"] * PLANTED
    burning = raw("raw-epoll that burns", f"--burn-ns={planted_us * 1000:.0f}")
    noise = {key: same[key] for key in ("low", "high")}
    found = compared(burning, f"one that burns {PLANTED:.0%} more : a raw loop", noise)
    right = judge.differs(found["ratios"]) and found["low"] > 1
    yield _said(f"a planted {PLANTED:.0%} ({planted_us:.2f} us of CPU)", found), right


def _said(what, row):
    return (f"{what}: {row['median']:.3f} ({row['low']:.3f} to {row['high']:.3f}, {row['coverage']:.1%}), "
            f"detectable from {row['detectable']:.1%}")


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab doctor", description=__doc__)
    parser.add_argument("--no-measurement", action="store_true", help="only look, measure nothing")
    run.add_settings(parser)
    options = parser.parse_args(arguments)
    settings = run.read_settings(parser, options, "quick")
    try:
        experiment.read_all()
        files = (True, f"experiments: {len(list(pathlib.Path(experiment.FOLDER).glob('*.yaml')))}, all right")
    except Mistakes as mistakes:
        files = (False, "\n".join(mistakes.lines))
    for right, line in itertools.chain([files], machine_lines(settings.build), presence_lines(settings.build)):
        print(f"{'  ' if right else '! '}{line}", flush=True)
    if options.no_measurement:
        return 0
    fit = True
    try:
        for line, right in live(settings):
            print(f"{'  ' if right else '! '}{line}", flush=True)
            fit = fit and right
    except sides.Invalid as problem:
        print(f"! {problem}")
        fit = False
    print("fit: the lab finds what is there, and nothing else"
          if fit else "not fit at present: close what else runs, and see what is marked with !")
    return 0 if fit else 1
