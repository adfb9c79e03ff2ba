"""bench/lab profile: where one side of an experiment spends its time while it does the experiment's work, or one of its
benchmarks.

  bench/lab profile plaintext --side keel-epoll                         build/lab/profiles/plaintext-keel-epoll.svg
  bench/lab profile plaintext --side keel-epoll --flame FILE.svg        a flame graph, from samples of perf
  bench/lab profile plaintext --side keel-epoll --callgrind FILE        instructions, for callgrind_annotate
  bench/lab profile metrics --side counter                              a case of kind micro

Samples are taken by a clock of the kernel's, which works without hardware counters too.
"""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from keel_lab import callgrind, counts, experiment, flame, load_client, machine, measure, micro, runner, sides
from keel_lab.yaml_file import Mistakes

SUMMARY = "flame graph or callgrind profile of a side at work"
FOLDER = experiment.ROOT / "build/lab/profiles"
SAMPLES_PER_SECOND = 499    # Not in step with anything that happens 100 or 1,000 times a second.
CLIENT_SECONDS_MORE = 300
OPERATIONS = 2000           # Under callgrind,
COUNTED_SECONDS = 0.001     # and how long a benchmark goes on there, at least.


class NotProfiled(Exception):
    """There is no profile; the text says why, and what to do."""


@dataclasses.dataclass(frozen=True)
class Alone:
    """A program that needs no client: a benchmark, or one that measures itself."""
    name: str
    work: str
    command: tuple
    environment: tuple = ()  # (name, value), beside that of the lab.

    def environ(self):
        return os.environ | dict(self.environment)


def benchmark(one, name, build, seconds):
    """A case of kind micro, which goes on for so long."""
    if name not in one.cases:
        raise NotProfiled(f"{one.id} has no case {name} (there are: {', '.join(one.cases)})")
    case = one.cases[name]
    path = micro.path_of(case.program, build)
    if path is None:
        raise NotProfiled(f"{case.program}: not found")
    chosen = micro.chosen(case, micro.listed(path))
    return Alone(name, chosen, (path, f"--benchmark_filter=^{re.escape(chosen)}$", f"--benchmark_min_time={seconds}"))


def by_itself(half):
    places = {"build": half.build, "engine": half.side.engine}
    return Alone(half.name, half.work.name, (*sides.command(half.side, half.build, places), *half.work.arguments),
                 tuple((name, sides.filled(value, places)) for name, value in half.side.environment))


def half_of(one, name, build):
    """The side with the first work that the experiment gives it."""
    for comparison in one.comparisons:
        for side, work in ((comparison.a, comparison.a_work), (comparison.b, comparison.b_work)):
            if side == name and work is not None:
                return measure.Half(one.sides[name], work, build)
    for side, work in one.counts:
        if side == name:
            return measure.Half(one.sides[name], work, build)
    if name in one.measure and one.work is not None:
        return measure.Half(one.sides[name], one.work, build)
    compared = {name for comparison in one.comparisons for name in (comparison.a, comparison.b)}
    there = sorted(set(one.measure) | compared & set(one.sides))
    raise NotProfiled(f"{one.id} has no side {name} with work for a client (there are: {', '.join(there) or 'none'})")


def perf(*arguments, environment=None):
    """What perf prints; NotProfiled with its reason when it cannot or may not."""
    if shutil.which("perf") is None:
        raise NotProfiled("perf is not installed (scripts/setup bench)")
    done = subprocess.run(["perf", *arguments], capture_output=True, text=True, errors="replace", timeout=300,
                          env=environment)
    if done.returncode != 0:
        said = next((line for line in done.stderr.splitlines() if line.strip()), "it said nothing")
        paranoid = machine.read("/proc/sys/kernel/perf_event_paranoid")
        raise NotProfiled(
            f"perf {arguments[0]} failed: {said.strip()}\nkernel.perf_event_paranoid is {paranoid}: as root, or after "
            f"`bench/lab prepare --apply`, perf may sample")
    return done.stdout


def samples(*of, environment=None):
    """{stack: samples} of what perf record is told to look at."""
    with tempfile.TemporaryDirectory(prefix="profile-") as folder:
        data = f"{folder}/perf.data"
        perf("record", "--quiet", "--event=cpu-clock", f"--freq={SAMPLES_PER_SECOND}", "--call-graph=dwarf,4096",
             f"--output={data}", *of, environment=environment)
        # Without the names of inlined functions: those cost a second for each hundred of samples.
        return flame.fold(perf("script", f"--input={data}", "--fields=comm,tid,ip,sym,dso", "--no-inline"))


@contextlib.contextmanager
def loaded(settings, half, payload):
    """A server of the side under its work, which lasts as long as the block does."""
    with sides.running(half.side, half.work, half.build, payload) as server, tempfile.TemporaryDirectory() as folder:
        sides.prepare(server.port, half.work)
        sides.check(server.port, half.work)
        if half.work.client == "load":
            command = load_client.command(load_client.program(half.build), server, half.work, folder, settings.seconds,
                                          settings.warmup)
        else:
            command = measure.client_command(settings, server, half.work)
        client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            yield server
            if client.poll() is not None:
                said = client.stdout.read().decode(errors="replace").strip()[-300:]
                raise sides.Invalid(f"the client ended before its time: {said}")
        finally:
            client.kill()
            client.wait()
            client.stdout.close()


def draw(settings, half, payload, title, seconds, path):
    with loaded(settings, half, payload) as server:
        folded = samples(f"--pid={server.pid}", "--", "sleep", str(seconds))
    return keep(folded, title, path)


def keep(folded, title, path):
    """Writes the flame graph; how many samples it has."""
    if not folded:
        raise NotProfiled("perf took no samples: the side was idle")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(flame.svg(folded, title))
    return sum(folded.values())


def count(settings, half, payload, path):
    """Writes callgrind's file of some operations, start-up left out."""
    if why := callgrind.refusal():
        raise NotProfiled(f"callgrind: {why}")
    if half.work.client == "load":
        raise NotProfiled(
            "callgrind counts a number of operations, which keel load is not told: --flame draws this one")
    half = counts.for_callgrind(half)
    with tempfile.TemporaryDirectory(prefix="profile-") as folder, sides.running(
            half.side, half.work, half.build, payload, prefix=callgrind.prefix(folder),
            start_seconds=callgrind.START_SECONDS) as server:
        sides.prepare(server.port, half.work)
        measure.client(settings, server, half.work, count=OPERATIONS // 4, warmup=0)
        callgrind.dump(folder, server.pid)
        measure.client(settings, server, half.work, count=OPERATIONS, warmup=0)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(callgrind.dump(folder, server.pid), path)
    return callgrind.total(path)


def count_alone(alone, path):
    """Writes callgrind's file of a whole program."""
    if why := callgrind.refusal():
        raise NotProfiled(f"callgrind: {why}")
    with tempfile.TemporaryDirectory(prefix="profile-") as folder:
        done = subprocess.run([*callgrind.prefix(folder), *alone.command], env=alone.environ(), capture_output=True,
                              text=True, timeout=callgrind.SECONDS)
        if done.returncode != 0:
            raise NotProfiled(f"{alone.name}: ended with {sides.ending(done.returncode)}; it said: "
                              f"{done.stderr.strip()[-300:]}")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(f"{folder}/callgrind", path)
    return callgrind.total(path)


def alone_of(one, name, build, seconds):
    """The program without a client that `name` means, for its samples; None for a side that has a client."""
    if one.kind == "micro":
        return benchmark(one, name, build, seconds)
    half = half_of(one, name, build)
    return by_itself(present(half)) if half.work.client == "itself" else None


def alone_for_callgrind(one, name, build):
    """The same, of the build that valgrind runs where the build makes the program."""
    if one.kind != "micro":
        return by_itself(counts.for_callgrind(half_of(one, name, build)))
    program = one.cases[name].program
    if "/" not in program:
        callgrind.build([program])
        build = callgrind.BUILD
    return benchmark(one, name, build, COUNTED_SECONDS)


def present(half):
    if half.missing:
        raise NotProfiled(f"{half.missing}: not found")
    return half


def say_drawn(file, taken):
    print(f"{file}: {taken} samples; open it in a browser")


def profile_alone(one, alone, build, flame_file, callgrind_file):
    if flame_file:
        folded = samples("--", *alone.command, environment=alone.environ())
        say_drawn(flame_file, keep(folded, f"{alone.name}: {alone.work}", flame_file))
    if callgrind_file:
        total = count_alone(alone_for_callgrind(one, alone.name, build), callgrind_file)
        print(f"{callgrind_file}: {total:,} instructions of the whole program; for callgrind_annotate")


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab profile", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", metavar="ID", help="of bench/lab list, or a file that ends in .yaml")
    parser.add_argument("--side", required=True, help="one of the experiment's sides, or cases")
    parser.add_argument("--flame", type=pathlib.Path, metavar="FILE.svg", help="where the flame graph goes")
    parser.add_argument("--callgrind", type=pathlib.Path, metavar="FILE", help="where callgrind's file goes")
    parser.add_argument("--seconds", type=float, default=3, help="that are sampled (3)")
    parser.add_argument("--build", type=pathlib.Path, default=runner.BUILD, help="the build to profile (build/release)")
    options = parser.parse_args(arguments)
    if options.seconds <= 0:
        parser.error("--seconds: more than 0")
    try:
        one = experiment.choose([options.experiment])[0]
        build = options.build.resolve()
        alone = alone_of(one, options.side, build, options.seconds)
        flame_file = options.flame or (None if options.callgrind else FOLDER / f"{one.id}-{options.side}.svg")
        if alone:
            profile_alone(one, alone, build, flame_file, options.callgrind)
            return 0
        half = present(half_of(one, options.side, build))
        # The client works until perf has ended, however long that takes to begin.
        settings = runner.settings_of("full", options.build, seconds=options.seconds + CLIENT_SECONDS_MORE)
        payload = measure.payload_for(half, [half])
        if flame_file:
            say_drawn(flame_file,
                      draw(settings, half, payload, f"{half.name}: {half.work.name}", options.seconds, flame_file))
        if options.callgrind:
            total = count(settings, half, payload, options.callgrind)
            print(f"{options.callgrind}: {total:,} instructions of {OPERATIONS:,} operations; for callgrind_annotate")
    except Mistakes as mistakes:
        print(mistakes, file=sys.stderr)
        return 2
    except (NotProfiled, callgrind.NotCounted, sides.Invalid, OSError, subprocess.TimeoutExpired) as why:
        print(f"bench/lab profile: {why}", file=sys.stderr)
        return 1
    return 0
