"""Builds beside build/release: `bare`, without logs and metrics, `native`, -O3 for this processor and optimized as a
whole, and `callgrind`, which valgrind can run.

They are made under build/PRESET of this repository, with the presets of CMakePresets.json.
"""

import os
import pathlib
import subprocess

from keel_lab import sides

SIDES = ("bare", "native")  # Of which sides are made.
ROOT = pathlib.Path(__file__).resolve().parents[2]


class NotBuilt(Exception):
    """The text says which command failed, and how."""


def folder(preset):
    return ROOT / "build" / preset


def build(preset, targets, say=print):
    """Configures the preset where that was not done, builds `targets`, and gives the folder."""
    steps = [] if (folder(preset) / "build.ninja").exists() else [["cmake", "--preset", preset]]
    steps.append(
        ["nice", "cmake", "--build", str(folder(preset)), f"-j{os.cpu_count() or 1}", "--target", *targets])
    for step in steps:
        say(" ".join(step))
        done = subprocess.run(step, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise NotBuilt(f"{' '.join(step)} failed: {done.stdout.strip()[-500:]}")
    return folder(preset)


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
