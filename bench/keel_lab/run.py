"""The subcommand that measures."""

import argparse
import pathlib

from keel_lab import callgrind, counts, experiment, peers, preset, results, runner
from keel_lab.kinds import KINDS
from keel_lab.progress import duration
from keel_lab.sides import Invalid

SUMMARY = "run experiments by id or by file, or all of a profile"


def add_settings(parser):
    parser.add_argument("--build", type=pathlib.Path, default=runner.BUILD, help="the build to measure (build/release)")
    parser.add_argument("--pairs", type=int, help="of runs, for each comparison (12)")
    parser.add_argument("--seconds", type=float, help="measured window of one run")
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT",
        help="only comparisons, cases and counts whose id contains TEXT, such as 'keel-uring:nginx'; repeatable")


def read_settings(parser, options, profile, plans=False):
    if options.pairs is not None and options.pairs < 1:
        parser.error("--pairs: at least 1")
    if options.seconds is not None and options.seconds <= 0:
        parser.error("--seconds: more than 0")
    if not plans and not (options.build / "bench/bench_client").exists():
        parser.error(
            f"no bench/bench_client under {options.build}: make bench builds it, or configure with -DKEEL_BENCH=ON")
    return runner.settings_of(profile, options.build, options.pairs, options.seconds, options.only)


def plan(chosen, settings):
    """How long each takes, those that take longest first: (seconds, id)."""
    return sorted(((KINDS[one.kind].seconds(one, settings), one.id) for one in chosen), reverse=True)


def print_plan(chosen, settings):
    rows = plan(chosen, settings)
    for seconds, name in rows:
        print(f"{duration(seconds):>12}  {name}")
    print(f"{duration(sum(seconds for seconds, _ in rows)):>12}  in all, without what disturbance makes it repeat")


def build_needed(chosen, settings):
    """What the full profile runs beside the build it was given. What cannot be built is skipped with a line."""
    def refuses(side):
        try:
            counts.refuse_callgrind(side, settings.build)
        except Invalid:
            return True
        return bool(callgrind.refusal())

    peers.build_all()
    for name, targets in preset.needed(chosen, refuses).items():
        try:
            preset.build(name, targets)
        except Invalid as why:
            print(f"{name:18}  skipped: {why}", flush=True)


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab run", description=runner.__doc__)
    parser.add_argument("experiments", nargs="*", metavar="ID", help="of bench/lab list, or a file that ends in .yaml")
    parser.add_argument(
        "--profile", choices=list(runner.PROFILES),
        help="quick: short windows and what is quick, full: all; without ID it also chooses the experiments")
    parser.add_argument("--out", type=pathlib.Path, default=results.FOLDER, metavar="DIR",
                        help="where results go (build/lab/results)")
    parser.add_argument("--plan", action="store_true", help="only say how long each will take")
    add_settings(parser)
    options = parser.parse_args(arguments)
    if not options.experiments and not options.profile:
        parser.error("which? An ID of bench/lab list, or --profile quick or full for all of it")
    settings = read_settings(parser, options, options.profile or "full", options.plan)
    chosen = experiment.choose(options.experiments) if options.experiments else \
        experiment.of_profile(experiment.read_all().values(), options.profile)
    if options.plan:
        print_plan(chosen, settings)
        return 0
    if options.profile == "full" and not options.experiments:
        build_needed(chosen, settings)
    return runner.run(chosen, settings, options.out)
