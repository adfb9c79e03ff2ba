"""HEAD against BASE. Two git revisions are built and measured as the two sides of interleaved pairs, on this machine;
two folders of results, or two of the files in bench/results, are compared figure by figure, which finds less: the
intervals must not even touch.

Exit code 1: something is significantly worse beyond the gate. 2: it could not be compared.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time
import traceback

from keel_lab import archive, experiment, judge, machine, results, run, runner, show
from keel_lab.kinds import KINDS
from keel_lab.progress import Progress
from keel_lab.sides import Invalid
from keel_lab.yaml_file import Mistakes

SUMMARY = "two revisions, built and measured in pairs, or two results; fails on a regression beyond --gate"
FOLDER = experiment.ROOT / "build/lab/compare"
MORE_IS_BETTER = ("per second", "/s", "of the capacity")  # Units of figures.
WHAT = ("plaintext", "json", "get-by-id", "echo-64", "metrics", "parser")


class NotCompared(Exception):
    """The two cannot be compared; the text says why."""


# --- Revisions ---


def git(*command):
    done = subprocess.run(["git", "-C", str(experiment.ROOT), *command], capture_output=True, text=True)
    if done.returncode != 0:
        raise NotCompared(f"git {' '.join(command)}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done.stdout.strip()


def build(revision, targets):
    """The build folder of a revision, in a worktree of its own that is kept: the next time little is compiled again."""
    commit = git("rev-parse", "--verify", f"{revision}^{{commit}}")
    tree = FOLDER / commit[:12]
    if not (tree / "CMakeLists.txt").exists():
        git("worktree", "prune")
        git("worktree", "add", "--detach", "--force", str(tree), commit)
    log = FOLDER / f"{commit[:12]}.log"
    print(f"building {', '.join(targets)} of {revision} ({commit[:12]})", file=sys.stderr, flush=True)
    for command in (["cmake", "--preset", "release", "-DKEEL_TESTS=OFF", "-DKEEL_BENCH=ON"],
                    ["cmake", "--build", "build/release", f"-j{os.cpu_count() or 1}", "--target", *targets]):
        with open(log, "a") as output:
            done = subprocess.run(command, cwd=tree, stdout=output, stderr=output)
        if done.returncode != 0:
            lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
            raise NotCompared(
                f"{revision} does not build: {' '.join(command)}: {lines[-1] if lines else ''} (all of it in {log})")
    return commit[:12], tree / "build/release"


def measure(base, head, chosen, settings, out):
    """{experiment: result} of head against base."""
    targets = sorted({target for one in chosen for target in KINDS[one.kind].programs(one)})
    if not targets:
        raise NotCompared("nothing in these experiments is ours: no side is under_test, and there is no benchmark")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (base_commit, base_build), (head_commit, head_build) = build(base, targets), build(head, targets)
    builds = {"base": base_build, "head": head_build}
    progress = Progress(sum(KINDS[one.kind].seconds_of_revisions(one, settings) for one in chosen))
    facts = machine.facts(settings.build)
    facts.pop("commit")
    found = {}
    for one in chosen:
        progress.experiment = one.id
        commits = {"base": base_commit, "head": head_commit}
        result = results.new(one.id, one.question, one.claims, settings.profile, f"{base_commit}..{head_commit}", facts,
                             runner.published(settings) | commits)
        began = time.monotonic()
        try:
            KINDS[one.kind].compare(one, settings, builds, result, progress)
            result["complete"] = True
        except Exception as problem:  # One that breaks must not take those after it along.
            if not isinstance(problem, Invalid):
                traceback.print_exc()
            results.refuse(result, one.id, problem)
        finally:
            result["seconds"] = round(time.monotonic() - began, 2)
            results.save(result, out / f"{one.id}.json")
        print(show.text(result), flush=True)
        found[one.id] = result
    return found


# --- Kept results ---


def quantities(record):
    """{figure: row} of what was measured more than once."""
    return {name: row for name, row in record.rows.items() if row.runs}


def both(base, head):
    """[(experiment, record, record)] of those that neither run broke off."""
    names = sorted(base.keys() & head.keys())
    return [(name, base[name], head[name]) for name in names if base[name].complete and head[name].complete]


def shared(base, head):
    """How many quantities both have."""
    return sum(len(quantities(one).keys() & quantities(other).keys()) for _, one, other in both(base, head))


def worse_between(base, head, gate):
    """(lines of all that moved, those that are worse beyond the gate); {experiment: record} each."""
    whole = both(base, head)
    broken = base.keys() & head.keys() - {name for name, *_ in whole}
    lines = [f"{name}: interrupted, not compared" for name in sorted(broken)]
    worse = []
    for name, one, other in whole:
        cpus = one.facts.get("cpu"), other.facts.get("cpu")
        if cpus[0] != cpus[1]:
            raise NotCompared(f"{name}: measured on two machines: {'; '.join(map(str, cpus))}")
        before, after = quantities(one), quantities(other)
        for figure in sorted(before.keys() & after.keys()):
            was, now = before[figure], after[figure]
            if was.low <= now.high and now.low <= was.high:
                continue
            lines.append(f"{name}: {figure} ({now.own_unit}): {was.median:.4g} ({was.low:.4g} to {was.high:.4g}) "
                         f"became {now.median:.4g} ({now.low:.4g} to {now.high:.4g})")
            change = now.median / was.median if was.median and now.median else 1
            if (1 / change if now.unit in MORE_IS_BETTER else change) > 1 + gate:
                worse.append(lines[-1])
    return lines, worse


def overlap(base, head):
    """(how many ratios both have, those whose intervals do not overlap): whether one run says what the other said."""
    count, apart = 0, []
    for name, one, other in both(base, head):
        for figure, row in quantities(one).items():
            now = other.rows.get(figure)
            if row.is_ratio and now is not None:
                count += 1
                if now.high < row.low or now.low > row.high:
                    apart.append(f"{name}: {figure}: {row.low:.3f} to {row.high:.3f}, and {now.low:.3f} to "
                                 f"{now.high:.3f}")
    return count, apart


# --- The subcommand ---


def gate_of(text):
    number = float(text.removesuffix("%")) / 100
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: a share above 0, such as 5%")
    return number


def said(worse, compared, gate):
    for line in worse:
        print(f"WORSE  {line}")
    print(f"{compared} compared; {len(worse)} significantly worse beyond {gate:.1%}")
    return 1 if worse else 0


def compare_folders(options):
    (base, problems), (head, more) = archive.read(options.base), archive.read(options.head)
    if problems + more:
        raise NotCompared("\n".join(problems + more))
    if not base.keys() & head.keys():
        raise NotCompared(f"{options.base} and {options.head} have no experiment in common")
    lines, worse = worse_between(base, head, options.gate)
    print("\n".join(lines))
    compared = shared(base, head)
    if not compared:
        raise NotCompared("nothing was compared: no quantity is in whole results of both")
    ratios, apart = overlap(base, head)
    for line in apart:
        print(f"APART  {line}")
    if ratios:
        print(f"{ratios - len(apart)} of {ratios} ratios have intervals that overlap ({1 - len(apart) / ratios:.1%})")
    return said(worse, compared, options.gate)


def compare_revisions(options, parser):
    settings = run.read_settings(parser, options, options.profile)
    chosen = experiment.choose(options.experiment or WHAT)
    wrong = [one.id for one in chosen if KINDS[one.kind].compare is None]
    if wrong:
        able = ", ".join(name for name, kind in KINDS.items() if kind.compare)
        raise NotCompared(f"{', '.join(wrong)}: only the kinds {able} compare revisions")
    found = measure(options.base, options.head, chosen, settings, FOLDER / "results")
    rows = [(name, row) for name, result in found.items() for row in result["comparisons"]]
    worse = [
        f"{name}: {row['a']} : {row['b']}, {row['work']}, {row['unit']}: {row['median']:.3f} "
        f"({row['low']:.3f} to {row['high']:.3f})" for name, row in rows if judge.regression(row, options.gate)
    ]
    invalid, skipped = ([row for result in found.values() for row in result[kind]] for kind in ("invalid", "skipped"))
    for row in invalid:
        print(f"INVALID  {row['what']}: {row['why']}")
    if not rows and not invalid:
        raise NotCompared("nothing was compared" + why_nothing(skipped, settings.only))
    code = said(worse, len(rows), options.gate)
    return 2 if invalid and not code else code


def why_nothing(skipped, only):
    if skipped:
        return "; skipped: " + "; ".join(f"{row['what']}: {row['why']}" for row in skipped)
    return f": nothing has {' or '.join(only)} in its id" if only else ""


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab compare", description=__doc__)
    parser.add_argument("base", help="a git revision, or a folder or file of results")
    parser.add_argument("head", help="another")
    parser.add_argument("--gate", type=gate_of, default=0.05, help="how much worse is too much (5%%)")
    parser.add_argument("--experiment", action="append", metavar="ID", help=f"repeatable ({', '.join(WHAT)})")
    parser.add_argument("--profile", choices=list(runner.PROFILES), default="quick",
                        help="length of the windows (quick)")
    run.add_settings(parser)
    options = parser.parse_args(arguments)
    folders = [pathlib.Path(name).exists() and "/" in name for name in (options.base, options.head)]
    try:
        if all(folders):
            return compare_folders(options)
        if any(folders):
            raise NotCompared("two revisions or two folders of results, not one of each")
        return compare_revisions(options, parser)
    except (NotCompared, results.Wrong, Mistakes) as problem:
        print(f"bench/lab: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted: what was measured is in " + str(FOLDER / "results"), file=sys.stderr)
        return 130
