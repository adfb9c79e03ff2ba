"""The report: one HTML file, the answer first, then each experiment with its plot, verdicts and raw numbers."""

import argparse
import math
import pathlib
import sys

from keel_lab import archive, claims, page, plots
from keel_lab.yaml_file import Mistakes

SUMMARY = "write one HTML page of all results"
ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "build/lab/report.html"
DECIDED = ("met", "missed")
TELLING = 3


def judged(result):
    """Every row with a verdict: ratios, counts, and values with a target. An interrupted result judges nothing."""
    values = [row for row in result["values"] if "verdict" in row]
    return result["comparisons"] + result["bounds"] + values if result["complete"] else []


def verdicts(results):
    found = dict.fromkeys(("met", "missed", "undecided", "below the detectable effect", "no target"), 0)
    for result in results:
        for row in judged(result):
            found[row["verdict"]] += 1
    return found


def telling(results):
    """[(experiment, comparison)]: the decided ones farthest from their target, of different experiments."""
    best = {}
    for result in results:
        for row in result["comparisons"] if result["complete"] else ():
            if row["verdict"] in DECIDED and row["median"] > 0 and row["target"]["value"] > 0:
                distance = abs(math.log(row["median"] / row["target"]["value"]))
                if distance > best.get(result["experiment"], (-1, None))[0]:
                    best[result["experiment"]] = (distance, row)
    ordered = sorted(best.items(), key=lambda item: -item[1][0])
    return [(name, row) for name, (_, row) in ordered[:TELLING]]


def ratio_groups(comparisons):
    """Comparisons of one quantity share a scale; a ratio that is far away gets one of its own."""
    groups = {}
    for row in comparisons:
        groups.setdefault(row["of"], []).append(row)
    for rows in groups.values():
        near = [row for row in rows if 1 / 8 < row["median"] < 8]
        for part in (near, [row for row in rows if row not in near]):
            if part:
                scale = plots.ratio_scale(part)
                yield {
                    "ticks": [
                        (round(plots.place(tick, scale, 100), 2), plots.short(tick)) for tick in plots.ticks(scale)
                    ],
                    "rows": [row | {"strip": plots.ratio_strip(row, scale)} for row in part],
                }


def prepared(result):
    """A result with what the template shows of it."""
    counts = [
        name
        for name in (
            "system_calls",
            "allocations",
            "allocated_bytes",
            "instructions",
            "instructions_by",
            "switches",
            "bytes_per_connection",
        )
        if any(row.get(name) is not None for row in result["counts"])
    ]
    works, units = {}, {}
    for row in result["distributions"]:
        works.setdefault((row["work"], row["unit"]), []).append(row)
    for row in result["series"]:
        # "keel-uring: resident memory" is drawn with the resident memory of other sides.
        side, _, what = row["name"].rpartition(": ")
        units.setdefault((what if side else "", row["unit"]), []).append(row | {"side": side or row["name"]})
    names = lambda rows: [
        row["side"] + (f", {plots.short(row['offered'])}/s offered" if row["offered"] else "") for row in rows
    ]
    decided = [row["verdict"] for row in judged(result) if row["verdict"] != "no target"]
    return result | {
        "groups": list(ratio_groups(result["comparisons"])),
        "count_names": counts,
        "percentiles": list(dict.fromkeys(name for row in result["distributions"] for name in row["percentiles"])),
        "distributions_plots": [
            {"work": work, "svg": plots.cdf(rows), "names": names(rows)} for (work, _), rows in works.items()
        ],
        "series_plots": [
            {
                "what": ", ".join(filter(None, (what, unit))),
                "svg": plots.over_time(rows),
                "names": [row["side"] for row in rows],
            }
            for (what, unit), rows in units.items()
        ],
        "judged": ", ".join(f"{decided.count(said)} {said}" for said in dict.fromkeys(decided)),
    }


def machines(results):
    """[(facts, experiments)], the same facts once. What changes from run to run is left to each experiment."""
    found = {}
    for result in results:
        facts = tuple(
            (key, str(value))
            for key, value in result["machine"].items()
            if key not in ("date", "load before", "commit")
        )
        found.setdefault(facts, []).append(result["experiment"])
    return list(found.items())


def html(found, where, problems, rows):
    """The page of {experiment: result} and of the rows of the ledger."""
    results = [
        found[name]
        for name in sorted(found, key=lambda name: (not any(row["target"] for row in judged(found[name])), name))
    ]
    days = sorted({result["began"][:10] for result in results})
    return page.render(
        "report.html.j2",
        title="What was measured",
        where=str(where),
        results=[prepared(result) for result in results],
        span=" to ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
        commits=sorted({result["commit"] for result in results}),
        counts=verdicts(results),
        telling=telling(results),
        interrupted=[one["experiment"] for one in results if not one["complete"]],
        invalid=[(one["experiment"], row) for one in results for row in one["invalid"]],
        problems=problems,
        ledger=claims.summary(rows) if rows else "",
        claims=page.grouped(rows),
        machines=machines(results),
    )


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab report", description=__doc__)
    parser.add_argument(
        "--out", type=pathlib.Path, default=OUT, metavar="FILE", help="where the page goes (build/lab/report.html)"
    )
    parser.add_argument("--results", type=pathlib.Path, default=archive.LAST, metavar="FOLDER", help="of other results")
    options = parser.parse_args(arguments)
    where, found, problems = archive.present(options.results)
    try:
        rows = claims.judge(claims.read(), found)
    except Mistakes as mistakes:
        rows = []
        problems += [f"the ledger: {wrong}" for wrong in mistakes.lines]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(html(found, archive.shown(where), problems, rows), encoding="utf-8")
    for problem in problems:
        print(f"bench/lab report: left out: {problem}", file=sys.stderr)
    print(options.out)
    return 0
