"""What a run leaves behind: one JSON file for each experiment, written whole or not at all.

The members are those of `EMPTY` and the rows those of `ROWS`; docs/lab.md says what each means. A result that is not
`complete` was interrupted, or broke: it shows what was measured and judges nothing.
"""

import contextlib
import datetime
import json
import os
import pathlib
import statistics
import subprocess

from keel_lab.side_file import ROOT
from keel_lab.sides import Invalid

FOLDER = ROOT / "build/lab/results"  # Of the last run.
SCHEMA = 1
VERDICTS = ("met", "missed", "undecided", "no target", "below the detectable effect")
EMPTY = {
    "schema": SCHEMA, "experiment": "", "question": "", "claims": [], "profile": "", "began": "", "seconds": 0.0,
    "commit": "", "machine": {}, "settings": {}, "complete": False, "comparisons": [], "counts": [], "bounds": [],
    "values": [], "distributions": [], "series": [], "invalid": [], "skipped": []
}
ROWS = {
    "comparisons": ("id", "a", "b", "of", "unit", "work", "a_value", "b_value", "ratios", "median", "low", "high",
                    "coverage", "min", "max", "cv", "outliers", "median_without_outliers", "noise", "detectable",
                    "client_bound", "target", "verdict", "pairs"), "counts": ("side", "work"),
    "bounds": ("id", "a", "b", "of", "a_value", "b_value", "ratio", "target", "verdict"),
    "values": ("id", "name", "unit", "values", "median", "low", "high", "min", "max", "cv", "outliers"),
    "distributions": ("id", "side", "work", "offered", "achieved", "unit", "count", "errors", "percentiles", "cdf"),
    "series": ("id", "name", "unit", "points"), "invalid": ("what", "why"), "skipped": ("what", "why"),
}
UNIQUE = ("comparisons", "bounds", "values", "distributions", "series")
POINTS_MAX = 600
NOT_ASKED_FOR = "the experiment does not ask for it"  # Why a count is absent that nobody wanted.


class Wrong(Exception):
    """The file is no result; the text says why."""


def new(experiment, question, claims, profile, commit, machine, settings):
    began = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    fresh = {key: list(value) if isinstance(value, list) else value for key, value in EMPTY.items()}
    return fresh | {
        "experiment": experiment, "question": question, "claims": list(claims), "profile": profile, "began": began,
        "commit": commit, "machine": dict(machine), "settings": dict(settings)
    }


def refuse(result, what, problem):
    """`what` does not count. Of an exception that no one expected its type is said too."""
    known = isinstance(problem, str) or type(problem).__name__ in ("Invalid", "TimeoutExpired")
    result["invalid"].append({"what": what, "why": str(problem) if known else f"{type(problem).__name__}: {problem}"})


@contextlib.contextmanager
def refusing(result, what):
    """What the block measures does not count when it is Invalid."""
    try:
        yield
    except (Invalid, subprocess.TimeoutExpired) as problem:
        refuse(result, what, problem)


def add_comparison(result, name, a, b, work, row, **more):
    """`row` is what judge.compare() gives: nothing, where nothing was measured."""
    if row:
        result["comparisons"].append({"id": name, "a": a, "b": b, "work": work, **row, **more})


def skip(result, what, why):
    """`what` cannot be measured here."""
    result["skipped"].append({"what": what, "why": why})


def thinned(points):
    """At most POINTS_MAX of them, evenly, the last one among them."""
    if len(points) <= POINTS_MAX:
        return points
    step = (len(points) - 1) / (POINTS_MAX - 1)
    return [points[round(number * step)] for number in range(POINTS_MAX)]


def add_series(result, name, title, unit, points):
    result["series"].append({"id": name, "name": title, "unit": unit, "points": thinned(points)})


def used(row):
    """How busy the sides of a comparison were, of their cores: {"server": (a, b), "client": (a, b)}, the medians of its
    pairs. Without what the pairs do not know, as those of programs that measure themselves."""
    found = {}
    for who in ("server", "client"):
        shares = [[pair[side].get(f"{who}_utilisation") for pair in row["pairs"]] for side in ("a", "b")]
        if row["pairs"] and None not in (*shares[0], *shares[1]):
            found[who] = tuple(statistics.median(of_side) for of_side in shares)
    return found if found.get("client") != (0, 0) else {}


def disturbance(row):
    """(runs that were repeated, pairs that were disturbed all the same) of a comparison."""
    return sum(pair["repeated"] for pair in row["pairs"]), sum(pair["disturbed"] for pair in row["pairs"])


def absences(result):
    """[(count, sides, why)] of what was to be counted and was not, each reason once."""
    found = {}
    for row in result["counts"]:
        for name, reason in row.get("absent", {}).items():
            if reason != NOT_ASKED_FOR:
                found.setdefault((name, reason), []).append(row["side"])
    return [(name.replace("_", " "), list(dict.fromkeys(who)), reason) for (name, reason), who in found.items()]


def versions(result):
    """{side: text} of what the sides of others are made of."""
    return {
        side: ", ".join(" ".join(one) for one in made_of.items())
        for side, made_of in result.get("versions", {}).items()
    }


def check(result):
    """The mistakes of a result, a line each; none when it is what the readers expect."""
    if not isinstance(result, dict):
        return ["a result is a JSON object"]
    if result.get("schema") != SCHEMA:
        return [f"schema {result.get('schema')!r}: this lab reads {SCHEMA}"]
    wrong = [f"{key}: is missing" for key in EMPTY if key not in result]
    for key, value in result.items():
        if key in EMPTY and not isinstance(value, (int, float) if isinstance(EMPTY[key], float) else type(EMPTY[key])):
            wrong.append(f"{key}: {type(EMPTY[key]).__name__} expected, not {type(value).__name__}")
    if wrong:
        return wrong
    for name, keys in ROWS.items():
        seen = set()
        for number, row in enumerate(result[name]):
            missing = [key for key in keys if key not in row] if isinstance(row, dict) else ["an object"]
            if missing:
                wrong.append(f"{name}[{number}]: without {', '.join(missing)}")
                continue
            if name in UNIQUE and row["id"] in seen:
                wrong.append(f"{name}[{number}]: a second {row['id']}")
            seen.add(row.get("id"))
            if row.get("verdict", VERDICTS[0]) not in VERDICTS:
                wrong.append(f"{name}[{number}]: verdict {row['verdict']!r} is none of {', '.join(VERDICTS)}")
            if name == "comparisons" and not row["min"] <= row["low"] <= row["median"] <= row["high"] <= row["max"]:
                wrong.append(f"comparisons[{number}]: min, low, median, high and max are not in order")
            if name == "series" and len(row["points"]) > POINTS_MAX:
                wrong.append(f"series[{number}]: more than {POINTS_MAX} points")
    return wrong


def load(path):
    try:
        result = json.loads(pathlib.Path(path).read_text())
    except OSError as problem:
        raise Wrong(f"{path}: {problem.strerror}") from None
    except ValueError as problem:
        raise Wrong(f"{path}: not JSON: {problem}") from None
    mistakes = check(result)
    if mistakes:
        raise Wrong("\n".join(f"{path}: {line}" for line in mistakes))
    return result


def save(result, path):
    mistakes = check(result)
    if mistakes:
        raise Wrong("\n".join(f"{result.get('experiment')}: {line}" for line in mistakes))
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + f".{os.getpid()}")
    beside.write_text(json.dumps(result, indent=1) + "\n")
    beside.replace(path)
    return path
