"""A result as text."""

import sys

from keel_lab import results
from keel_lab.experiment import COUNTS

SUMMARY = "print one result as text: an id of the last run, or a result file"
PERCENTILES = ("50", "90", "99", "99.9", "max")


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
    return target + row["verdict"] + (" (client-bound)" if row.get("client_bound") else "") + _label(row)


def _label(row):
    return f" (oversubscribed: {row['oversubscribed']})" if "oversubscribed" in row else ""


def _used(row):
    found = results.used(row)
    return " / ".join(" ".join(f"{share:.2f}" for share in found[who]) for who in found) or "-"


def _disturbance(row):
    repeated, disturbed = results.disturbance(row)
    return f"{repeated} runs, {disturbed} pairs" if repeated or disturbed else "-"


def _comparison(row):
    noise = f"{row['noise']['low']:.3f}-{row['noise']['high']:.3f}" if row["noise"] else "-"
    same = abs(row["median_without_outliers"] - row["median"]) < 0.0005
    outliers = f"{row['outliers']}" + ("" if same else f", {row['median_without_outliers']:.3f} without")
    return [
        f"{row['a']} : {row['b']}", row["work"], row["unit"], f"{row['median']:.3f}",
        f"{row['low']:.3f}-{row['high']:.3f} ({row['coverage']:.1%})",
        f"{number(row['a_value'])} / {number(row['b_value'])}", noise, f"{row['detectable']:.1%}", f"{row['cv']:.1%}",
        outliers,
        _used(row),
        _disturbance(row),
        _verdict(row)
    ]


def _count(row):
    return [row["side"], row["work"], *(number(row.get(name), 2) for name in COUNTS)]


def _bound(row):
    return [
        f"{row['a']} : {row['b']}", row["of"].replace("_", " "), f"{number(row['a_value'])} / {number(row['b_value'])}",
        f"{row['ratio']:.3f}",
        _verdict(row)
    ]


def _value(row):
    return [
        row["id"], row["name"], f"{number(row['median'])} {row['unit']}",
        f"{number(row['low'])} - {number(row['high'])}", f"{number(row['min'])} - {number(row['max'])}",
        f"{row['cv']:.1%}",
        _verdict(row) if "verdict" in row else _label(row).strip()
    ]


def _distribution(row):
    percentiles = (f"{number(row['percentiles'].get(name), 1)} {row['unit']}" for name in PERCENTILES)
    return [
        row["side"], row["work"],
        number(row["offered"], 0),
        number(row["achieved"], 0), *percentiles,
        sum(row["errors"].values()),
        f"{number(row.get('server_utilisation'), 2)} / {number(row.get('client_utilisation'), 2)}"
    ]


TABLES = {
    "comparisons": (("A : B", "work", "ratio of", "median", "interval", "A / B", "A : A", "detectable", "cv",
                     "outliers", "used: server / client", "repeated, disturbed", "verdict"), _comparison),
    "counts": (("counts for one operation", "work", *(name.replace("_", " ") for name in COUNTS)), _count),
    "bounds": (("A : B", "count", "A / B", "ratio", "verdict"), _bound),
    "values": (("value", "", "median", "interval", "min - max", "cv", "verdict"), _value),
    "distributions": (("latency", "work", "offered", "achieved", *PERCENTILES, "errors",
                       "used: server / client"), _distribution),
}


def text(result):
    began = result["began"].replace("T", " ").replace("Z", " UTC")
    state = "" if result["complete"] else "; INTERRUPTED: it judges nothing"
    lines = [
        f"{result['experiment']}: {result['question']}",
        f"  {result['profile']} profile, {began}, {result['seconds']:.0f} s, commit {result['commit']}{state}"
    ]
    for name, (header, cells) in TABLES.items():
        if result[name]:
            lines += columns(header, map(cells, result[name]))
    lines += [f"  absent   {name} of {', '.join(who)}: {why}" for name, who, why in results.absences(result)]
    lines += [f"  versions  {side}: {made_of}" for side, made_of in results.versions(result).items()]
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
