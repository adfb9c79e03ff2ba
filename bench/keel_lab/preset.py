"""Builds beside build/release: `bare`, without logs and metrics, `native`, -O3 for this processor and optimized as a
whole, and `callgrind`, which valgrind can run.

They are made under build/PRESET of this repository, with the presets of CMakePresets.json.
"""

import os
import pathlib
import re
import subprocess

from keel_lab import sides
from keel_lab.sides import ROOT, Invalid

SIDES = ("bare", "native")  # Of which sides are made.
SECONDS_MAX = 3600  # Of a step of a build.


def folder(preset):
    return ROOT / "build" / preset


def reason(log):
    """The line of a failed build that says most."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"error|go: .*:|requires", line)]
    return (errors or lines or ["it said nothing"])[0][:200]


def step(command, folder, log, **environment):
    """What a step of a build says, run at low priority; Invalid, with the line that says most, when it fails."""
    said = " ".join(command[:3])
    try:
        done = subprocess.run(["nice", *command], cwd=folder, env=os.environ | environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise Invalid(f"{said} took longer than {SECONDS_MAX} s") from None
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(done.stdout)
    if done.returncode != 0:
        raise Invalid(f"{said} failed: {reason(done.stdout)} (all of it in {log})")
    return done.stdout


def build(preset, targets, say=print, root=None, options=()):
    """Configures the preset of `root`, this repository, where that was not done, builds `targets`, and gives the
    folder."""
    root = root or ROOT
    made = root / "build" / preset
    commands = [] if (made / "build.ninja").exists() else [["cmake", "--preset", preset, *options]]
    for command in (*commands, ["cmake", "--build", str(made), f"-j{os.cpu_count() or 1}", "--target", *targets]):
        say(" ".join(command))
        step(command, root, root / f"build/{preset}.log")
    return made


def needed(experiments, refuses):
    """{preset: targets} of what these experiments run of them; `refuses(side)` where callgrind cannot count a side."""
    found = {preset: set() for preset in (*SIDES, "callgrind")}
    for one in experiments:
        for name in {name for row in one.comparisons for name in (row.a, row.b)} & set(one.sides):
            program = one.sides[name].serve[0]
            for preset in SIDES:
                if f"build/{preset}/" in program:
                    found[preset].add(pathlib.Path(program).name)
        for name, work in one.counts:
            counts = "instructions" in one.counted and work.client == "lockstep"
            if counts and not refuses(one.sides[name]):
                found["callgrind"].update(sides.built(one.sides[name]))
    return {preset: sorted(targets) for preset, targets in found.items() if targets}
