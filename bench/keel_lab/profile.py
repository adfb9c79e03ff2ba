"""bench/lab profile: where one side of an experiment spends its time while it does the experiment's work.

  bench/lab profile plaintext --side keel-epoll                         build/lab/profiles/plaintext-keel-epoll.svg
  bench/lab profile plaintext --side keel-epoll --flame FILE.svg        a flame graph, from samples of perf
  bench/lab profile plaintext --side keel-epoll --callgrind FILE        instructions, for callgrind_annotate

Samples are taken by a clock of the kernel's, which works without hardware counters too.
"""

import argparse
import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

from keel_lab import callgrind, counts, experiment, flame, load_client, machine, measure, runner, sides
from keel_lab.yaml_file import Mistakes

SUMMARY = "flame graph or callgrind profile of a side at work"
FOLDER = experiment.ROOT / "build/lab/profiles"
SAMPLES_PER_SECOND = 499    # Not in step with anything that happens 100 or 1,000 times a second.
CLIENT_SECONDS_MORE = 300
OPERATIONS = 2000           # Under callgrind.


class NotProfiled(Exception):
    """There is no profile; the text says why, and what to do."""


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


def perf(*arguments):
    """What perf prints; NotProfiled with its reason when it cannot or may not."""
    if shutil.which("perf") is None:
        raise NotProfiled("perf is not installed (scripts/setup bench)")
    done = subprocess.run(["perf", *arguments], capture_output=True, text=True, errors="replace", timeout=300)
    if done.returncode != 0:
        said = next((line for line in done.stderr.splitlines() if line.strip()), "it said nothing")
        paranoid = machine.read("/proc/sys/kernel/perf_event_paranoid")
        raise NotProfiled(
            f"perf {arguments[0]} failed: {said.strip()}\nkernel.perf_event_paranoid is {paranoid}: as root, or after "
            f"`bench/lab prepare --apply`, perf may sample")
    return done.stdout


def samples(pid, seconds):
    """{stack: samples} of a process while it works."""
    with tempfile.TemporaryDirectory(prefix="profile-") as folder:
        data = f"{folder}/perf.data"
        perf("record", "--quiet", "--event=cpu-clock", f"--freq={SAMPLES_PER_SECOND}", "--call-graph=dwarf,4096",
             f"--pid={pid}", f"--output={data}", "--", "sleep", str(seconds))
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
        folded = samples(server.pid, seconds)
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


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab profile", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", metavar="ID", help="of bench/lab list, or a file that ends in .yaml")
    parser.add_argument("--side", required=True, help="one of the experiment's sides")
    parser.add_argument("--flame", type=pathlib.Path, metavar="FILE.svg", help="where the flame graph goes")
    parser.add_argument("--callgrind", type=pathlib.Path, metavar="FILE", help="where callgrind's file goes")
    parser.add_argument("--seconds", type=float, default=3, help="that are sampled (3)")
    parser.add_argument("--build", type=pathlib.Path, default=runner.BUILD, help="the build to profile (build/release)")
    options = parser.parse_args(arguments)
    if options.seconds <= 0:
        parser.error("--seconds: more than 0")
    try:
        one = experiment.choose([options.experiment])[0]
        half = half_of(one, options.side, options.build.resolve())
        if half.missing:
            raise NotProfiled(f"{half.missing}: not found")
        # The client works until perf has ended, however long that takes to begin.
        settings = runner.settings_of("full", options.build, seconds=options.seconds + CLIENT_SECONDS_MORE)
        payload = measure.payload_for(half, [half])
        flame_file = options.flame or (None if options.callgrind else FOLDER / f"{one.id}-{half.name}.svg")
        if flame_file:
            taken = draw(settings, half, payload, f"{half.name}: {half.work.name}", options.seconds, flame_file)
            print(f"{flame_file}: {taken} samples; open it in a browser")
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
