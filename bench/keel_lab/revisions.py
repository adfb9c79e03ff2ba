"""HEAD against BASE. Two git revisions are built and measured as the two sides of interleaved pairs, on this machine;
two folders of results, or two of the files in bench/results, are compared figure by figure, which finds less: the
intervals must not even touch.

Exit code 1: something is significantly worse beyond the gate. 2: it could not be compared.
"""

import argparse
import pathlib
import sys

from keel_lab import archive, experiment, judge, machine, preset, results, run, runner, show, sides
from keel_lab.kinds import KINDS
from keel_lab.progress import Progress
from keel_lab.sides import Invalid
from keel_lab.yaml_file import Mistakes

SUMMARY = "two revisions, built and measured in pairs, or two results; fails on a regression beyond --gate"
FOLDER = experiment.ROOT / "build/lab/compare"
MORE_IS_BETTER = ("per second", "/s", "of the capacity")  # Units of figures.
GIT_SECONDS_MAX = 300
WHAT = ("plaintext", "json", "get-by-id", "echo-64", "metrics", "parser")


# --- Revisions ---


def git(*command):
    return sides.output(["git", "-C", str(experiment.ROOT), *command], GIT_SECONDS_MAX).strip()


def build(revision, targets):
    """The build folder of a revision, in a worktree of its own that is kept: the next time little is compiled again."""
    commit = git("rev-parse", "--verify", f"{revision}^{{commit}}")
    tree = FOLDER / commit[:12]
    if not (tree / "CMakeLists.txt").exists():
        git("worktree", "prune")
        git("worktree", "add", "--detach", "--force", str(tree), commit)
    print(f"building {', '.join(targets)} of {revision} ({commit[:12]})", file=sys.stderr, flush=True)
    try:
        made = preset.build("release", targets, lambda _: None, tree, ("-DKEEL_TESTS=OFF", "-DKEEL_BENCH=ON"))
    except Invalid as why:
        raise Invalid(f"{revision} does not build: {why}") from None
    return commit[:12], made


def measure(base, head, chosen, settings, out):
    """{experiment: result} of head against base."""
    targets = sorted({target for one in chosen for target in KINDS[one.kind].programs(one)})
    if not targets:
        raise Invalid("nothing in these experiments is ours: no side is under_test, and there is no benchmark")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (base_commit, base_build), (head_commit, head_build) = build(base, targets), build(head, targets)
    builds = {"base": base_build, "head": head_build}
    progress = Progress(sum(KINDS[one.kind].seconds_of_revisions(one, settings) for one in chosen))
    facts = machine.facts(settings.build) | {"commit": f"{base_commit}..{head_commit}"}
    found = {}
    for one in chosen:
        compare = lambda one, *more: KINDS[one.kind].compare(one, builds, *more)
        result, interrupted = runner.run_one(one, settings, facts, progress, compare)
        results.save(result, out / f"{one.id}.json")
        print(show.text(result), flush=True)
        if interrupted:
            raise KeyboardInterrupt
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
    """[(experiment, figure, row, row)] of the quantities that both have."""
    for name, one, other in both(base, head):
        before, after = quantities(one), quantities(other)
        yield from ((name, figure, before[figure], after[figure]) for figure in sorted(before.keys() & after.keys()))


def apart(was, now):
    return now.high < was.low or now.low > was.high


def worse_between(base, head, gate):
    """(lines of all that moved, those that are worse beyond the gate); {experiment: record} each."""
    whole = both(base, head)
    for name, one, other in whole:
        cpus = one.facts.get("cpu"), other.facts.get("cpu")
        if cpus[0] != cpus[1]:
            raise Invalid(f"{name}: measured on two machines: {'; '.join(map(str, cpus))}")
    broken = base.keys() & head.keys() - {name for name, *_ in whole}
    lines, worse = [f"{name}: interrupted, not compared" for name in sorted(broken)], []
    for name, figure, was, now in shared(base, head):
        if not apart(was, now):
            continue
        lines.append(f"{name}: {figure} ({now.own_unit}): {was.median:.4g} ({was.low:.4g} to {was.high:.4g}) "
                     f"became {now.median:.4g} ({now.low:.4g} to {now.high:.4g})")
        change = now.median / was.median if was.median and now.median else 1
        if (1 / change if now.unit in MORE_IS_BETTER else change) > 1 + gate:
            worse.append(lines[-1])
    return lines, worse


def overlap(base, head):
    """(how many ratios both have, those whose intervals do not overlap): whether one run says what the other said."""
    ratios = [row for row in shared(base, head) if row[2].is_ratio]
    return len(ratios), [
        f"{name}: {figure}: {was.low:.3f} to {was.high:.3f}, and {now.low:.3f} to {now.high:.3f}"
        for name, figure, was, now in ratios if apart(was, now)
    ]


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
        raise Invalid("\n".join(problems + more))
    if not base.keys() & head.keys():
        raise Invalid(f"{options.base} and {options.head} have no experiment in common")
    lines, worse = worse_between(base, head, options.gate)
    print("\n".join(lines))
    compared = len(list(shared(base, head)))
    if not compared:
        raise Invalid("nothing was compared: no quantity is in whole results of both")
    ratios, beside = overlap(base, head)
    for line in beside:
        print(f"APART  {line}")
    if ratios:
        print(f"{ratios - len(beside)} of {ratios} ratios have intervals that overlap ({1 - len(beside) / ratios:.1%})")
    return said(worse, compared, options.gate)


def compare_revisions(options, parser):
    settings = run.read_settings(parser, options, options.profile)
    chosen = experiment.choose(options.experiment or WHAT)
    wrong = [one.id for one in chosen if KINDS[one.kind].compare is None]
    if wrong:
        able = ", ".join(name for name, kind in KINDS.items() if kind.compare)
        raise Invalid(f"{', '.join(wrong)}: only the kinds {able} compare revisions")
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
        raise Invalid("nothing was compared" + why_nothing(skipped, settings.only))
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
            raise Invalid("two revisions or two folders of results, not one of each")
        return compare_revisions(options, parser)
    except (Invalid, results.Wrong, Mistakes) as problem:
        print(f"bench/lab: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted: what was measured is in " + str(FOLDER / "results"), file=sys.stderr)
        return 130
