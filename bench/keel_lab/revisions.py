"""HEAD against BASE. Two git revisions are built and measured as the two sides of interleaved pairs, on this machine;
two folders of results are compared row by row, which finds less: their intervals must not even touch.

Exit code 1: something is significantly worse beyond the gate. 2: it could not be compared.
"""

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import time
import traceback

from keel_lab import experiment, judge, machine, micro, pairs, results, run, runner, show
from keel_lab.measure import Half
from keel_lab.progress import Progress
from keel_lab.sides import Invalid
from keel_lab.yaml_file import Mistakes

SUMMARY = "two revisions, built and measured in pairs, or two folders of results; fails on a regression beyond --gate"
FOLDER = experiment.ROOT / "build/lab/compare"
MORE_IS_BETTER = ("per second", "/s", "of the capacity")  # Units of values.
WHAT = ("plaintext", "json", "get-by-id", "echo-64", "metrics", "parser")


class NotCompared(Exception):
    """The two cannot be compared; the text says why."""


# --- Revisions ---


def git(*command):
    done = subprocess.run(["git", "-C", str(experiment.ROOT), *command], capture_output=True, text=True)
    if done.returncode != 0:
        raise NotCompared(f"git {' '.join(command)}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done.stdout.strip()


def programs_of(chosen):
    """The CMake targets that are ours in these experiments."""
    found = {case.program for one in chosen for case in one.cases.values()}
    for one in chosen:
        for comparison in one.comparisons if one.kind == "pairs" else ():
            for name in (comparison.a, comparison.b):
                if one.sides[name].under_test:
                    found.add(pathlib.Path(one.sides[name].serve[0]).name)
    return sorted(found)


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


def subjects(one, settings):
    """What of an experiment both revisions have: {(side, work): quantities}.

    System calls would need runs of their own."""
    found = {}
    for comparison in (each for each in one.comparisons if each.of != "system_calls"):
        for name, work in ((comparison.a, comparison.a_work), (comparison.b, comparison.b_work)):
            if one.sides[name].under_test and settings.wants(name):
                found.setdefault((name, work), {})[comparison.of] = None
    return {key: list(ofs) for key, ofs in found.items()}


def measure_pairs(one, settings, builds, result, progress):
    """Head is A, base is B."""
    for (name, work), ofs in subjects(one, settings).items():
        halves = {
            key: Half(dataclasses.replace(one.sides[name], name=f"{name} of {variant}"), work, builds[variant])
            for key, variant in (("a", "head"), ("b", "base"))
        }
        if pairs.lacking(halves):
            result["skipped"].append({"what": f"{name}, {work.name}", "why": pairs.lacking(halves)})
            continue
        measured = []
        try:
            pairs.measure_pairs(halves, f"{name}, {work.name}: head : base", measured, settings, progress)
        except Invalid as problem:
            result["invalid"].append({"what": f"{name}, {work.name}", "why": str(problem)})
            continue
        finally:
            rows = [pairs.published(pair) for pair in measured]
            for of in ofs:
                row = rows and judge.compare(rows, of, None, judge.noise(rows, of), bool(work.waits_for),
                                             work.client == "itself")
                if row:
                    result["comparisons"].append({
                        "id": f"{name}:{of}:{work.name}",
                        "a": f"{name} of head",
                        "b": f"{name} of base",
                        "work": work.name,
                        **row
                    })


def measure_micro(one, settings, builds, result, progress):
    """Base runs twice in each round: against itself it is the noise."""
    rounds = micro.Rounds(one, {
        "head": builds["head"],
        "base": builds["base"],
        "again": builds["base"]
    }, settings.wants)
    result["skipped"] += [{"what": name, "why": why} for name, why in rounds.lacking.items()]
    step = progress.steps("benchmarks, head : base", micro.rounds_of(settings), 3 * micro.seconds(one, settings))
    try:
        for _ in range(micro.rounds_of(settings)):
            rounds.run()
            step()
    finally:
        for name in one.cases:
            head, base, again = (rounds.values.get((variant, name), []) for variant in ("head", "base", "again"))
            count = min(map(len, (head, base, again)))
            if count:
                noise = judge.spread([left / right for left, right in zip(again, base)][:count])
                row = judge.compare(micro.as_pairs(head[:count], base[:count]),
                                    "ns",
                                    None, {
                                        "low": noise["low"],
                                        "high": noise["high"]
                                    },
                                    itself=True)
                result["comparisons"].append({
                    "id": f"{name}:ns",
                    "a": f"{name} of head",
                    "b": f"{name} of base",
                    "work": one.cases[name].benchmark,
                    **row
                })


def seconds(one, settings):
    if one.kind == "micro":
        return 3 * micro.seconds(one, settings)
    return len(subjects(one, settings)) * settings.pairs * 2 * pairs.one_run(settings)


def measure(base, head, chosen, settings, out):
    """{experiment: result} of head against base."""
    targets = programs_of(chosen)
    if not targets:
        raise NotCompared("nothing in these experiments is ours: no side is under_test, and there is no benchmark")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (base_commit, base_build), (head_commit, head_build) = build(base, targets), build(head, targets)
    builds = {"base": base_build, "head": head_build}
    progress = Progress(sum(seconds(one, settings) for one in chosen))
    facts = machine.facts(settings.build)
    facts.pop("commit")
    found = {}
    for one in chosen:
        progress.experiment = one.id
        result = results.new(one.id, one.question, one.claims, settings.profile, f"{base_commit}..{head_commit}", facts,
                             runner.published(settings) | {
                                 "base": base_commit,
                                 "head": head_commit
                             })
        began = time.monotonic()
        try:
            (measure_micro if one.kind == "micro" else measure_pairs)(one, settings, builds, result, progress)
            result["complete"] = True
        except Invalid as problem:
            result["invalid"].append({"what": one.id, "why": str(problem)})
        except Exception as problem:  # One that breaks must not take those after it along.
            traceback.print_exc()
            result["invalid"].append({"what": one.id, "why": results.why(problem)})
        finally:
            result["seconds"] = round(time.monotonic() - began, 2)
            results.save(result, out / f"{one.id}.json")
        print(show.text(result), flush=True)
        found[one.id] = result
    return found


# --- Folders of results ---


def quantities(result):
    """{id: (what, low, median, high, whether more is better)} of what two results have in common."""
    found = {}
    for row in result["comparisons"]:
        found[row["id"]] = (f"{row['a']} : {row['b']}, {row['unit']}", row["low"], row["median"], row["high"], row["of"]
                            in judge.MORE_IS_BETTER)
    for row in result["values"]:
        found[row["id"]] = (f"{row['name']} ({row['unit']})", row["low"], row["median"], row["high"], row["unit"]
                            in MORE_IS_BETTER)
    return found


def worse_between(base, head, gate):
    """(lines of all that moved, those that are worse beyond the gate); {experiment: result} each."""
    lines, worse = [], []
    for name in sorted(base.keys() & head.keys()):
        one, other = base[name], head[name]
        if not (one["complete"] and other["complete"]):
            lines.append(f"{name}: interrupted, not compared")
            continue
        if one["machine"].get("cpu") != other["machine"].get("cpu"):
            raise NotCompared(
                f"{name}: measured on two machines: {one['machine'].get('cpu')}; {other['machine'].get('cpu')}")
        before, after = quantities(one), quantities(other)
        for key in sorted(before.keys() & after.keys()):
            what, low, median, high, more = before[key]
            _, low_after, median_after, high_after, _ = after[key]
            cost = (median / median_after if more else median_after / median) if median and median_after else 1
            apart = high_after < low or low_after > high
            if apart:
                lines.append(f"{name}: {what}: {median:.4g} ({low:.4g} to {high:.4g}) became {median_after:.4g} "
                             f"({low_after:.4g} to {high_after:.4g})")
            if apart and cost > 1 + gate:
                worse.append(lines[-1])
    return lines, worse


def overlap(base, head):
    """(how many ratios both have, those whose intervals do not overlap): whether one run says what the other said."""
    shared, apart = 0, []
    for name in sorted(base.keys() & head.keys()):
        if not (base[name]["complete"] and head[name]["complete"]):
            continue
        others = {row["id"]: row for row in head[name]["comparisons"]}
        for row in base[name]["comparisons"]:
            other = others.get(row["id"])
            if other is None:
                continue
            shared += 1
            if other["high"] < row["low"] or other["low"] > row["high"]:
                apart.append(f"{name}: {row['id']}: {row['low']:.3f} to {row['high']:.3f}, and "
                             f"{other['low']:.3f} to {other['high']:.3f}")
    return shared, apart


# --- The subcommand ---


def gate_of(text):
    number = float(text.removesuffix("%")) / 100
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: a share above 0, such as 5%")
    return number


def shared(base, head):
    """How many quantities both have, of what neither run broke off."""
    both = [name for name in base.keys() & head.keys() if base[name]["complete"] and head[name]["complete"]]
    return sum(len(quantities(base[name]).keys() & quantities(head[name]).keys()) for name in both)


def said(worse, compared, gate):
    for line in worse:
        print(f"WORSE  {line}")
    print(f"{compared} compared; {len(worse)} significantly worse beyond {gate:.1%}")
    return 1 if worse else 0


def compare_folders(options):
    base, head = results.folder(options.base), results.folder(options.head)
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
    wrong = [one.id for one in chosen if one.kind not in ("pairs", "micro")]
    if wrong:
        raise NotCompared(f"{', '.join(wrong)}: only the kinds pairs and micro compare revisions")
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
    parser.add_argument("base", help="a git revision, or a folder of results")
    parser.add_argument("head", help="another")
    parser.add_argument("--gate", type=gate_of, default=0.05, help="how much worse is too much (5%%)")
    parser.add_argument("--experiment", action="append", metavar="ID", help=f"repeatable ({', '.join(WHAT)})")
    parser.add_argument("--profile",
                        choices=list(runner.PROFILES),
                        default="quick",
                        help="length of the windows (quick)")
    run.add_settings(parser)
    options = parser.parse_args(arguments)
    folders = [pathlib.Path(name).is_dir() and "/" in name for name in (options.base, options.head)]
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
