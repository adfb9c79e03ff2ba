"""Runs experiments one after the other, and leaves a result of each whatever happens.

A side that crashes, hangs or answers wrongly is a row of the result, and so is an experiment that breaks, after which
the next one runs. Ctrl-C ends the run. What was measured until either is written with `complete` false.
"""

import dataclasses
import pathlib
import sys
import time
import traceback

from keel_lab import experiment, machine, peers, results, show
from keel_lab.kinds import KINDS
from keel_lab.measure import Settings
from keel_lab.progress import Progress, duration

BUILD = experiment.ROOT / "build/release"
# Windows, pauses and repetitions. More pairs or longer windows than these bring narrower intervals, and a full run that
# nobody can afford twice.
PROFILES = {
    "quick": {"pairs": 12, "seconds": 0.4, "warmup": 0.15, "cool_down": 0.05, "starts": 7, "repeats": 5},
    "full": {"pairs": 12, "seconds": 0.3, "warmup": 0.1, "cool_down": 0.05, "starts": 15, "repeats": 5},
}


def settings_of(profile, build, pairs=None, seconds=None, only=()):
    own = {"pairs": pairs, "seconds": seconds}
    chosen = PROFILES[profile] | {key: value for key, value in own.items() if value is not None}
    return Settings(build=pathlib.Path(build).resolve(), profile=profile, only=tuple(only), **chosen)


def published(settings):
    return {key: value for key, value in dataclasses.asdict(settings).items() if key != "build"}


def run_one(one, settings, facts, progress, measure=None):
    """(result, whether it was interrupted); `measure` takes the place of what the kind has for it."""
    progress.experiment = one.id
    facts = dict(facts)
    result = results.new(one.id, one.question, one.claims, settings.profile, facts.pop("commit"), facts,
                         published(settings))
    if measure is None:  # Otherwise only what is ours is measured.
        result["versions"] = peers.known(KINDS[one.kind].made_of(one, settings.build))
    began = time.monotonic()
    interrupted = False
    try:
        (measure or KINDS[one.kind].measure)(one, settings, result, progress)
        result["complete"] = True
    except KeyboardInterrupt:
        interrupted = True
    except Exception as problem:  # One that breaks must not take those after it along.
        traceback.print_exc()
        results.refuse(result, one.id, problem)
    result["seconds"] = round(time.monotonic() - began, 2)
    return result, interrupted


def run(experiments, settings, out, say=print):
    """The exit code: 0, 1 when a run was invalid, 2 when there was nothing to measure, 130 when it was interrupted."""
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)  # What cannot be kept is not measured.
    progress = Progress(sum(KINDS[one.kind].seconds(one, settings) for one in experiments))
    facts = machine.facts(settings.build)
    code = 0
    measured = 0
    began = time.monotonic()
    for one in experiments:
        result, interrupted = run_one(one, settings, facts, progress)
        # With --only: the result of a whole run stays.
        if settings.only and result["complete"] and not any(result[kind] for kind in results.ROWS):
            continue
        measured += 1
        path = results.save(result, out / f"{one.id}.json")
        say(show.text(result))
        if interrupted:
            print(f"\nInterrupted: what was measured of {one.id} is in {path}", file=sys.stderr)
            return 130
        code = code or (1 if result["invalid"] else 0)
    if experiments and not measured:
        print(f"bench/lab run: --only: nothing of these experiments has {' or '.join(settings.only)} in its id",
              file=sys.stderr)
        return 2
    print(f"{measured} experiments in {duration(time.monotonic() - began)}; results in {out}", file=sys.stderr)
    return code
