"""What can be run."""

import argparse

from keel_lab import experiment, runner, sides

SUMMARY = "the experiments, or the sides, and which of them can be run here"


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab list", description=SUMMARY)
    parser.add_argument("text", nargs="?", default="", help="only those whose id, question or claims contain it")
    parser.add_argument("--sides", action="store_true", help="the sides instead")
    options = parser.parse_args(arguments)
    found, known = experiment.read_all(), experiment.read_sides()
    wanted = options.text.lower()
    if options.sides:
        for side in known.values():
            missing = sides.missing(side, runner.BUILD)
            if wanted in f"{side.name} {side.title}".lower():
                print(f"{side.name:24} {side.profile:6} {side.title}" + (f"  (not here: {missing})" if missing else ""))
        return 0
    for one in found.values():
        if wanted in f"{one.id} {one.question} {' '.join(one.claims)}".lower():
            print(f"{one.id:24} {one.profile:6} {one.kind:10} {one.question}")
    return 0
