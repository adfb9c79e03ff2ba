"""A result as text."""

import sys

from keel_lab import results

SUMMARY = "print one result as text: an id of the last run, or a result file"


def number(value, digits=3):
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}f}" if abs(value) < 100 else f"{value:.1f}"


def columns(header, rows):
    rows = [header, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _verdict(row):
    target = f"{row['target']['kind']} {row['target']['value']:g}: " if row["target"] else ""
    return target + row["verdict"] + (" (client-bound)" if row.get("client_bound") else "")


def _comparison(row):
    noise = f"{row['noise']['low']:.3f}-{row['noise']['high']:.3f}" if row["noise"] else "-"
    plain = "" if abs(row["median_without_outliers"] - row["median"]
                      ) < 0.0005 else f", {row['median_without_outliers']:.3f} without"
    return [
    f"{row['a']} : {row['b']}",
    row["work"],
    row["unit"],
    f"{row['median']:.3f}",
    f"{row['low']:.3f}-{row['high']:.3f} ({row['coverage']:.1%})",
    f"{number(row['a_value'])} / {number(row['b_value'])}",
    noise,
    f"{row['detectable']:.1%}",
    f"{row['cv']:.1%}",
    f"{row['outliers']}{plain}",
     _verdict(row)]


def text(result):
    began = result["began"].replace("T", " ").replace("Z", " UTC")
    state = "" if result["complete"] else "; INTERRUPTED: it judges nothing"
    lines = [f"{result['experiment']}: {result['question']}",
             f"  {result['profile']} profile, {began}, {result['seconds']:.0f} s, commit {result['commit']}{state}"]
    if result["comparisons"]:
        lines += columns(["A : B", "work", "ratio of", "median", "interval", "A / B", "A : A",
                         "detectable", "cv", "outliers", "verdict"], map(_comparison, result["comparisons"]))
    if result["counts"]:
        names = ["system_calls", "allocations", "allocated_bytes", "instructions", "switches", "bytes_per_connection"]
        lines += columns(["counts for one operation", "work", *
    (name.replace("_", " ") for name in names)], [[row["side"], row["work"], *
    (number(row.get(name), 2) for name in names)] for row in result["counts"]])
    if result["bounds"]:
        lines += columns(["A : B",
    "count",
    "A / B",
    "ratio",
    "verdict"],
    [[f"{row['a']} : {row['b']}",
    row["of"].replace("_",
    " "),
    f"{number(row['a_value'])} / {number(row['b_value'])}",
    f"{row['ratio']:.3f}",
     _verdict(row)] for row in result["bounds"]])
    if result["values"]:
        lines += columns(["value",
    "",
    "median",
    "interval",
    "min - max",
    "cv"],
    [[row["id"],
    row["name"],
    f"{number(row['median'])} {row['unit']}",
    f"{number(row['low'])} - {number(row['high'])}",
    f"{number(row['min'])} - {number(row['max'])}",
     f"{row['cv']:.1%}"] for row in result["values"]])
    if result["distributions"]:
        names = ("50", "90", "99", "99.9", "max")
        lines += columns(["latency",
    "work",
    "offered",
    "achieved",
    *(f"{name} {'' if name == 'max' else '%'}".strip() for name in names),
    "errors"],
    [[row["side"],
    row["work"],
    number(row["offered"],
    0),
    number(row["achieved"],
    0),
    *(f"{number(row['percentiles'].get(name), 1)} {row['unit']}" for name in names),
     sum(row["errors"].values())] for row in result["distributions"]])
    lines += [f"  INVALID  {row['what']}: {row['why']}" for row in result["invalid"]]
    lines += [f"  skipped  {row['what']}: {row['why']}" for row in result["skipped"]]
    return "\n".join(lines) + "\n"


def main(arguments):
    from keel_lab import runner
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: bench/lab show ID|FILE", file=sys.stderr)
        return 0 if arguments[:1] in (["--help"], ["-h"]) else 2
    path = arguments[0] if arguments[0].endswith(".json") else runner.RESULTS / f"{arguments[0]}.json"
    try:
        print(text(results.load(path)), end="")
    except results.Wrong as problem:
        print(f"bench/lab: {problem}", file=sys.stderr)
        return 2
    return 0
