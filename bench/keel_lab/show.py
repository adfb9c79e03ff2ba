"""A result as text."""

import sys

from keel_lab import record, results

SUMMARY = "print one result as text: an id of the last run, or a result file"


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{float(f'{value:.3f}'):.4g}" if abs(value) >= 0.1 or not value \
        else f"{value:.3g}"


def interval(row):
    spread = "" if row.low == row.high else f" ({number(row.low)} to {number(row.high)})"
    unit = "" if row.is_ratio else f" {row.unit}"
    return number(row.median) + spread + unit


def sides(row):
    if not row.is_ratio:
        return ""
    return f"{number(row.a.median)} / {number(row.b.median)} {row.unit}".strip()


def verdict(row):
    target = f"{row.target['kind']} {row.target['value']:g}: " if row.target else ""
    return target + row.verdict if row.verdict != "no target" else ""


def columns(header, rows):
    """Only those in which something is said."""
    kept = [at for at in range(len(header)) if any(row[at] for row in rows)]
    rows = [[row[at] for at in kept] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def text(result):
    """Of a result of results.py."""
    found = record.of(result)
    began = found.began.replace("T", " ").replace("Z", " UTC")
    state = "" if found.complete else "; INTERRUPTED: it judges nothing"
    lines = [f"{found.experiment}: {result['question']}",
             f"  {result['profile']} profile, {began}, {found.seconds:.0f} s, commit {result['commit']}{state}"]
    if found.rows:
        lines += columns(("figure", "median (interval)", "A / B", "A : A", "verdict", ""), [
            (row.figure, interval(row), sides(row), " to ".join(map(number, row.noise or ())), verdict(row),
             "; ".join(row.notes)) for row in found.rows.values()])
    lines += [f"  {kind.upper() if kind == 'invalid' else kind:8} {what}: {why}" for kind, what, why in found.said]
    return "\n".join(lines) + "\n"


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: bench/lab show ID|FILE", file=sys.stderr)
        return 0 if arguments[:1] in (["--help"], ["-h"]) else 2
    path = arguments[0] if arguments[0].endswith(".json") else results.FOLDER / f"{arguments[0]}.json"
    print(text(results.load(path)), end="")
    return 0
