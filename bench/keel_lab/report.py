"""The report: one HTML file that begins with a picture of Keel against its peers, and has each experiment below.

Everything is read from the records; what only the JSON of build/lab/results knows, distributions and courses over time,
is drawn where that is there.
"""

import argparse
import collections
import math
import pathlib
import re
import sys

import jinja2

from keel_lab import archive, claims, experiment, judge, plots, record, results
from keel_lab.yaml_file import Mistakes

SUMMARY = "write one HTML page of all results"
OUT = archive.ROOT / "build/lab/report.html"
# Verdict: (a sign beside the word, so that colour is not needed, CSS class).
MARKS = {
    "met": ("✓", "good"), "missed": ("✗", "bad"), "undecided": ("?", "unsure"),
    "below the detectable effect": ("≈", "unsure"), "no target": ("·", "soft"), "beaten": ("✓", "good"),
    "contradicted": ("≠", "bad"), "not comparable": ("·", "soft"), "open": ("○", "unsure"),
}
DECIDED = ("met", "missed")
TELLING = 3
# Of these experiments the picture is made: CPU of a plaintext request, Keel against a peer.
PICTURED = ("plaintext", "peers-http")
PEER = re.compile(r"keel-(uring|epoll):([^:]+):cpu_us")


def judged(one):
    """Every row with a verdict. An interrupted record judges nothing."""
    return [row for row in one.rows.values() if row.verdict] if one.complete else []


def verdicts(records):
    found = collections.Counter(row.verdict for one in records for row in judged(one))
    return {said: found[said] for said in results.VERDICTS}


def telling(records):
    """[(experiment, row)]: the decided ratios farthest from their target, of different experiments."""
    distance = lambda row: abs(math.log(row.median / row.target["value"]))
    best = []
    for one in records:
        decided = [
            row for row in judged(one)
            if row.added and row.verdict in DECIDED and row.median > 0 and row.target["kind"] in (
                "at most", "at least", "above") and row.target["value"] > 0
        ]
        best += [(one.experiment, max(decided, key=distance))] if decided else []
    return sorted(best, key=lambda item: -distance(item[1]))[:TELLING]


def picture(found, titles):
    """[{peer, bars}]: how many times the CPU of Keel each peer takes for a plaintext request, the least first."""
    peers = {}
    for name in PICTURED:
        for row in found[name].rows.values() if name in found and found[name].complete else ():
            match = PEER.fullmatch(row.figure)
            if match and row.low > 0:
                times = record.Figure(1 / row.median, 1 / row.high, 1 / row.low, "times")
                peers.setdefault(match[2], []).append((match[1], times, row))
    if peers:
        peers["Keel"] = [("keel", record.exact(1, "times"), None)]
    longest = max((times.high for bars in peers.values() for _, times, _ in bars), default=1) * 1.02
    ordered = sorted(peers.items(), key=lambda item: max(times.median for _, times, _ in item[1]))
    return [{
        "peer": titles.get(name, name),
        "bars": [{"engine": engine, "times": times, "row": row, "svg": plots.bar(times, longest, engine)}
                 for engine, times, row in sorted(bars, key=lambda bar: bar[0] != "uring")]
    } for name, bars in ordered]


def ratio_groups(rows):
    """Ratios of one unit share a scale; one that is far away gets one of its own."""
    groups = {}
    for row in rows:
        groups.setdefault((row.unit, 1 / 8 < row.median < 8), []).append(row)
    for part in groups.values():
        scale = plots.ratio_scale(part)
        yield {
            "ticks": [(round(plots.place(tick, scale, 100), 2), plots.short(tick)) for tick in plots.ticks(scale)],
            "rows": [(row, plots.ratio_strip(row, scale), what_of(row)) for row in part]
        }


def what_of(row):
    """What a ratio is of, in words."""
    return next((judge.QUANTITIES[part][0] for part in row.figure.split(":") if part in judge.QUANTITIES), "")


def drawings(result):
    """[{title, svg, names}] of what only a run's own JSON has."""
    works, units = {}, {}
    for row in result["distributions"]:
        works.setdefault(f"Latency, {row['work']}", []).append(row)
    for row in result["series"]:
        # "keel-uring: resident memory" is drawn with the resident memory of other sides.
        side, _, what = row["name"].rpartition(": ")
        title = ", ".join(filter(None, (what if side else "", row["unit"])))
        units.setdefault(f"Over time: {title}", []).append(row | {"side": side or row["name"]})
    for draw, groups in ((plots.cdf, works), (plots.over_time, units)):
        for title, rows in groups.items():
            offered = [f", {plots.short(row['offered'])}/s offered" if row.get("offered") else "" for row in rows]
            yield {"title": title, "svg": draw(rows), "names": [row["side"] + more for row, more in zip(rows, offered)]}


def prepared(one, asked, raw):
    """A record with what the template shows of it; `asked` is its experiment, where there is one."""
    decided = [row.verdict for row in judged(one) if row.verdict != "no target"]
    return {
        "record": one, "question": (raw or {}).get("question") or (asked.question if asked else one.experiment),
        "claims": asked.claims if asked else [],
        "groups": list(ratio_groups([row for row in one.rows.values() if row.is_ratio])),
        "values": [row for row in one.rows.values() if not row.is_ratio],
        "drawings": list(drawings(raw)) if raw else [],
        "judged": ", ".join(f"{decided.count(said)} {said}" for said in dict.fromkeys(decided)),
    }


def machines(records):
    """[(facts, experiments)], the same facts once. What changes from run to run is left to each experiment."""
    found = {}
    for one in records:
        facts = tuple((key, str(value)) for key, value in one.facts.items() if key not in ("load before", "commit"))
        found.setdefault(facts, []).append(one.experiment)
    return list(found.items())


def plain(number):
    """A number for a table; text and what is missing as they are."""
    if number is None or number == "":
        return "–"
    return plots.short(number) if isinstance(number, (int, float)) else str(number)


def render(template, **values):
    """Everything of a page is in the one file, and every text in it is escaped."""
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent), autoescape=True,
                              undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    ratio = lambda digits: lambda number: f"{number:.{digits}f}" if number < 10 else plots.short(number)
    made.filters |= {"plain": plain, "ratio2": ratio(2), "ratio": ratio(3)}
    made.globals |= {"marks": MARKS}
    return made.get_template(template).render(**values)


def grouped(rows):
    """[(group, cells of its rows)] of the ledger."""
    groups = {}
    for row in rows:
        groups.setdefault(row.claim["group"], []).append(claims.cells(row))
    return list(groups.items())


def html(found, where, problems, rows, asked=None, raw=None):
    """The page of {experiment: record} and of the rows of the ledger; `asked` are experiments and `raw` results."""
    asked, raw = asked or {}, raw or {}
    records = sorted(found.values(), key=lambda one: (not any(row.target for row in judged(one)), one.experiment))
    days = sorted({one.day for one in records})
    titles = {side.name: side.title.replace("`", "") for one in asked.values() for side in one.sides.values()}
    return render(
        "report.html.j2", title="Keel, measured", where=str(where), picture=picture(found, titles),
        results=[prepared(one, asked.get(one.experiment), raw.get(one.experiment)) for one in records],
        span=" to ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
        commits=sorted({one.facts.get("commit", "unknown") for one in records}), counts=verdicts(records),
        telling=telling(records), interrupted=[one.experiment for one in records if not one.complete],
        invalid=[(one.experiment, what, why) for one in records for what, why in one.of("invalid")], problems=problems,
        ledger=claims.summary(rows) if rows else "", claims=grouped(rows), machines=machines(records))


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab report", description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=OUT, metavar="FILE",
                        help="where the page goes (build/lab/report.html)")
    parser.add_argument("--results", type=pathlib.Path, default=archive.LAST, metavar="FOLDER",
                        help="of other results, or one of the files in bench/results")
    options = parser.parse_args(arguments)
    where, found, problems = archive.present(options.results)
    rows, asked = [], {}
    try:
        asked = experiment.read_all()
        rows = claims.judge(claims.read(experiments=asked), found)
    except Mistakes as mistakes:
        problems += [f"the ledger: {wrong}" for wrong in mistakes.lines]
    raw = {name: results.load(where / f"{name}.json") for name in found if (where / f"{name}.json").exists()}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(html(found, archive.shown(where), problems, rows, asked, raw), encoding="utf-8")
    for problem in problems:
        print(f"bench/lab report: left out: {problem}", file=sys.stderr)
    print(options.out)
    return 0
