"""How figures went over the dated results in bench/results."""

import argparse
import pathlib
import sys

from keel_lab import archive, quantity

SUMMARY = "how the figures went over the dated results"


def trends(days):
    """{experiment: {figure: [(day, Figure)]}}, oldest first. An interrupted result has no part in it."""
    found = {}
    for day, of_day in days:
        for name, one in of_day.items():
            for figure in one.rows if one.complete else ():
                found.setdefault(name, {}).setdefault(figure, []).append((day, one.find(figure)))
    return found


def change(course):
    """The last against the one before, in words; nothing to compare gives nothing."""
    if len(course) < 2 or not course[-2][1].median:
        return ""
    before, now = course[-2][1], course[-1][1]
    percent = (now.median / before.median - 1) * 100
    apart = now.low > before.high or now.high < before.low
    return f"{percent:+.1f} % since {course[-2][0]}" + ("" if apart else ", within the intervals")


def text(found):
    lines = []
    for name, values in sorted(found.items()):
        lines.append(name)
        for value, course in values.items():
            said = " → ".join(quantity.short(one.median) for _, one in course)
            lines.append(f"  {value:46} {said} {course[-1][1].unit}  {change(course)}".rstrip())
    return "\n".join(lines)


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab history", description=__doc__)
    parser.add_argument("--results", type=pathlib.Path, default=archive.DATED, metavar="FOLDER",
                        help="of other results")
    parser.add_argument("--keep", nargs="*", metavar="ID",
                        help="first keep the last results (all, or these) among the dated ones, to be committed",
                        )
    options = parser.parse_args(arguments)
    if options.keep is not None:
        kept = archive.keep(options.keep, dated=options.results)
        print(f"kept {kept} results")
    days, problems = archive.history(options.results)
    for problem in problems:
        print(f"bench/lab history: left out: {problem}", file=sys.stderr)
    print(text(trends(days)) if days else f"no dated results in {archive.shown(options.results)} yet")
    return 0
