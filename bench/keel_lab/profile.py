"""bench/lab profile: where a side of an experiment, or one of its benchmarks, spends its CPU at the experiment's work.

  bench/lab profile plaintext --side keel-epoll                 build/lab/profiles/plaintext-keel-epoll.svg
  bench/lab profile metrics --side counter --seconds 5          a case of kind micro

perf samples by a clock of the kernel's, which works without hardware counters too; inferno draws the flame graph.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from keel_lab import experiment, load_client, machine, measure, micro, runner, sides
from keel_lab.sides import Invalid

SUMMARY = "flame graph of a side at work"
FOLDER = experiment.ROOT / "build/lab/profiles"
INFERNO = experiment.ROOT / "build/lab/inferno"
INFERNO_VERSION = "0.11.21"
SAMPLES_PER_SECOND = 499  # Not in step with anything that happens 100 or 1,000 times a second.
CLIENT_SECONDS_MORE = 300
SECONDS_MAX = 600


def half_of(one, name, build):
    """The side with the first work that the experiment gives it."""
    works = [pair for row in one.comparisons for pair in ((row.a, row.a_work), (row.b, row.b_work))]
    works += [*one.counts, *((side, one.work) for side in one.measure)]
    known = {side: work for side, work in reversed(works) if side in one.sides and work is not None}
    if name not in known:
        raise Invalid(f"{one.id} has no side {name} with work (there are: {', '.join(sorted(known)) or 'none'})")
    half = measure.Half(one.sides[name], known[name], build)
    if half.missing:
        raise Invalid(f"{half.missing}: not found")
    return half


def alone(one, name, build, seconds):
    """(command, environment) of a program without a client: a benchmark, or what measures itself; None for others."""
    cases = {key: case for key, case in one.cases.items() if isinstance(case, micro.Case)}
    if cases:
        if name not in cases:
            raise Invalid(f"{one.id} has no case {name} (there are: {', '.join(cases)})")
        case = cases[name]
        path = micro.path_of(case.program, build)
        if path is None:
            raise Invalid(f"{case.program}: not found")
        chosen = re.escape(micro.chosen(case, micro.listed(path)))
        return [path, f"--benchmark_filter=^{chosen}$", f"--benchmark_min_time={seconds}"], {}
    half = half_of(one, name, build)
    if half.work.client != "itself":
        return None
    return measure.itself(half)


def output(*command, environment=None, text=None):
    """What it prints; Invalid with its reason when it cannot or may not."""
    if shutil.which(command[0]) is None:
        raise Invalid(f"{command[0]} is not installed (scripts/setup bench)")
    try:
        return sides.output(command, SECONDS_MAX, errors="replace", input=text, env=os.environ | (environment or {}))
    except Invalid as why:
        raise Invalid(f"{why}\nkernel.perf_event_paranoid is {machine.read(machine.PARANOID)}: perf may sample as "
                      "root, or where it is -1") from None


def samples(*of, environment=None):
    """What perf script prints of what perf record is told to look at."""
    with tempfile.TemporaryDirectory(prefix="profile-") as folder:
        output("perf", "record", "--quiet", "--event=cpu-clock", f"--freq={SAMPLES_PER_SECOND}",
               "--call-graph=dwarf,4096", f"--output={folder}/perf.data", *of, environment=environment)
        # Without the names of inlined functions: those cost a second for each hundred of samples.
        return output("perf", "script", f"--input={folder}/perf.data", "--no-inline")


@contextlib.contextmanager
def loaded(settings, half, payload):
    """A server of the side under its work, which lasts as long as the block does."""
    with sides.running(half.side, half.work, half.build, payload) as server, tempfile.TemporaryDirectory() as folder:
        sides.prepare(server.port, half.work)
        sides.check(server.port, half.work)
        if half.work.client == "load":
            command = load_client.command(sides.keel(half.build), server, half.work, folder, settings.seconds,
                                          settings.warmup)
        else:
            command = measure.client_command(settings, server, half.work)
        client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            yield server
            if client.poll() is not None:
                said = client.stdout.read().decode(errors="replace").strip()[-300:]
                raise Invalid(f"the client ended before its time: {said}")
        finally:
            client.kill()
            client.wait()
            client.stdout.close()


def of_half(half, build, seconds):
    # The client works until perf has ended, however long that takes to begin.
    settings = runner.settings_of("full", build, seconds=seconds + CLIENT_SECONDS_MORE)
    with loaded(settings, half, measure.payload_for(half, [half])) as server:
        return samples(f"--pid={server.pid}", "--", "sleep", str(seconds))


def inferno(program):
    """The path of one of inferno's programs, which cargo installs into build/lab where they are not on PATH."""
    if found := shutil.which(program):
        return found
    path = INFERNO / "bin" / program
    if not path.exists():
        print(f"installing inferno {INFERNO_VERSION} into {INFERNO}", file=sys.stderr, flush=True)
        output("cargo", "install", "inferno", "--version", INFERNO_VERSION, "--locked", "--root", str(INFERNO))
    return str(path)


def draw(stacks, title, path):
    """Writes the flame graph; where there is nothing to draw it with, the stacks, which profiler.firefox.com draws."""
    if not stacks.strip():
        raise Invalid("perf took no samples: the side was idle")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        folded = output(inferno("inferno-collapse-perf"), "--all", text=stacks)
        path.write_text(output(inferno("inferno-flamegraph"), "--title", title, text=folded))
    except Invalid as why:
        kept = path.with_suffix(".perf")
        kept.write_text(stacks)
        raise Invalid(f"no flame graph: {why}\n{kept} has the stacks, for profiler.firefox.com") from None


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab profile", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", metavar="ID", help="of bench/lab list, or a file that ends in .yaml")
    parser.add_argument("--side", required=True, help="one of the experiment's sides, or cases")
    parser.add_argument("--flame", type=pathlib.Path, metavar="FILE.svg", help="where the flame graph goes")
    parser.add_argument("--seconds", type=float, default=3, help="that are sampled (3)")
    parser.add_argument("--build", type=pathlib.Path, default=runner.BUILD, help="the build to profile (build/release)")
    options = parser.parse_args(arguments)
    if options.seconds <= 0:
        parser.error("--seconds: more than 0")
    try:
        one, build = experiment.choose([options.experiment])[0], options.build.resolve()
        file = options.flame or FOLDER / f"{one.id}-{options.side}.svg"
        if command := alone(one, options.side, build, options.seconds):
            stacks = samples("--", *command[0], environment=command[1])
        else:
            stacks = of_half(half_of(one, options.side, build), build, options.seconds)
        draw(stacks, f"{options.side} at the work of {one.id}", file)
        print(f"{file}: open it in a browser")
    except (Invalid, OSError) as why:
        print(f"bench/lab profile: {why}", file=sys.stderr)
        return 1
    return 0
