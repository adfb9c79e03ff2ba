"""The ledger: each of the 141 claims with our figure, the kind of comparison that is honest, and a verdict."""

import argparse
import csv
import dataclasses
import math
import pathlib
import sys

from keel_lab import archive, experiment, quantity, record
from keel_lab.kinds import KINDS
from keel_lab.side_file import ROOT
from keel_lab.yaml_file import File

SUMMARY = "each of the 141 claims of others with our figure and a verdict"
CLAIMS = ROOT / "bench/claims.csv"
LEDGER = ROOT / "bench/claims.yaml"
COMPARED = {"ratio", "structure", "absolute on other hardware", "not comparable"}
VERDICTS = ("beaten", "met", "undecided", "missed", "contradicted", "not comparable", "open")
WORST_FIRST = ("contradicted", "missed", "undecided", "met", "beaten")
ROW_KEYS = {"kind": COMPARED, "experiment": str, "parts": dict, "open": str, "not comparable": str, "note": str}
PART_KEYS = {"value": str, "beats": str, "holds": str}


@dataclasses.dataclass
class Part:
    name: str
    experiment: str
    value: str
    limit: dict | None
    holds: bool  # A statement about the world, not a figure to be bettered.
    figure: record.Figure | None = None
    verdict: str = ""  # Empty without a figure or a limit.
    oversubscribed: str = ""  # How many threads on how few cores, where that was so.

    def numbers(self):
        """The median and the ends of our interval, as what the claim is about, in its base unit."""
        kind, _ = quantity.base(0, self.figure.unit)
        what = self.limit["what"] if self.limit else kind
        middle, *ends = [quantity.as_(kind, quantity.base(number, self.figure.unit)[1], what)
                         for number in (self.figure.median, self.figure.low, self.figure.high)]
        return middle, min(ends), max(ends)

    def ours(self):
        """Our figure with its interval, in the unit of the claim."""
        unit = self.limit["unit"] if self.limit else self.figure.unit
        middle, low, high = self.numbers()
        spread = "" if low == high else f" ({quantity.show(low, unit)} – {quantity.show(high, unit)})"
        label = f", oversubscribed: {self.oversubscribed}" if self.oversubscribed else ""
        return quantity.show(middle, unit) + spread + label


@dataclasses.dataclass
class Row:
    claim: dict  # Of claims.csv.
    kind: str
    parts: list
    open: str
    incomparable: str
    note: str
    verdict: str = "open"
    why: str = ""  # What it waits for, or why it cannot be compared, or how many parts decided.

    @property
    def experiments(self):
        return list(dict.fromkeys(part.experiment for part in self.parts))


def read_claims(path=CLAIMS):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def figures_of(one):
    return KINDS[one.kind].figures(one)


def is_there(name, values):
    whole, slash, field = name.rpartition("/")
    return values is None or name in values or (bool(slash) and field in ("a", "b", "added") and whole in values)


def read_part(file, where, spec, experiments, default):
    if not file.mapping(spec, where, PART_KEYS, ("value",)):
        return None
    if "beats" in spec and "holds" in spec:
        file.wrong(where, "either beats or holds")
    limit = None
    try:
        limit = quantity.limit(spec.get("beats") or spec.get("holds")) if len(spec) > 1 else None
    except quantity.Unreadable as problem:
        file.wrong(where, str(problem))
    first, slash, rest = spec["value"].partition("/")
    name, value = (first, rest) if slash and first in experiments else (default, spec["value"])
    if name not in experiments:
        file.wrong(where, f"no experiment {name}: bench/lab list has them all" if name else "no experiment is named")
        return None
    if not is_there(value, figures_of(experiments[name])):
        file.wrong((*where, "value"), f"experiment {name} gives no {value}")
    return Part(where[-1], name, value, limit, "holds" in spec)


def read_row(file, key, spec, claim, experiments):
    if not file.mapping(spec, (key,), ROW_KEYS, ("kind",)):
        return None
    parts = [
        read_part(file, (key, "parts", name), part, experiments, spec.get("experiment", ""))
        for name, part in spec.get("parts", {}).items()
    ]
    if None in parts:
        return None
    says = [name for name in ("open", "not comparable") if name in spec]
    if len(says) > 1 or not (says or parts):
        file.wrong((key,), "exactly one of: parts, open, not comparable")
    if ("not comparable" in spec) != (spec["kind"] == "not comparable"):
        file.wrong((key,), "kind is `not comparable` exactly where the reason is given")
    if "open" in spec and parts:
        file.wrong((key,), "a row with parts is not open")
    for part in parts:
        if (part.limit is None) != ("not comparable" in spec):
            file.wrong((key, "parts", part.name), "a limit is needed (beats or holds)" if part.limit is None else
                       "what is not comparable has no limit")
    return Row(claim, spec["kind"], parts, spec.get("open", ""), spec.get("not comparable", ""), spec.get("note", ""))


def read(ledger=LEDGER, claims=CLAIMS, experiments=None):
    """The rows in the order of claims.csv. Mistakes when the ledger is wrong or lacks one."""
    experiments = experiment.read_all() if experiments is None else experiments
    file = File(ledger, pathlib.Path(ledger).read_text())
    listed = {claim["key"]: claim for claim in read_claims(claims)}
    content = file.value if isinstance(file.value, dict) else {}
    for key in listed:
        if key not in content:
            file.wrong((), f"no row for {key}")
    rows = {}
    for key, spec in content.items():
        if key not in listed:
            file.wrong((key,), f"no such claim in {pathlib.Path(claims).name}")
        else:
            rows[key] = read_row(file, key, spec, listed[key], experiments)
    file.finish()
    return [rows[key] for key in listed]


def part_verdict(part):
    """Our whole interval against the figure of the claim: only when all of it is on one side there is a verdict."""
    _, low, high = part.numbers()
    kind, least, most = part.limit["kind"], part.limit["low"], part.limit["high"]
    least, most = -math.inf if kind == "at most" else least, math.inf if kind == "at least" else most
    if least <= low and high <= most:
        better = high < most if kind == "at most" else low > least if kind == "at least" else False
        return "beaten" if better and not part.holds else "met"
    if high < least or low > most:
        return "contradicted" if part.holds else "missed"
    return "undecided"


def waits_for(part, found):
    """Why there is no figure, or nothing."""
    one = found.get(part.experiment)
    if one is None:
        return f"a run: bench/lab run {part.experiment}"
    if not one.complete:
        return f"a whole run: the last one of {part.experiment} was interrupted"
    part.figure = one.find(part.value)
    if part.figure is None:
        gone = "".join(f": {what}: {why}" for what, why in (one.of("invalid") + one.of("skipped"))[:1])
        return f"a run of {part.experiment} that has {part.value}{gone}"
    part.oversubscribed = one.row(part.value).oversubscribed
    weak = one.row(part.value).weakness
    return f"another run of {part.experiment}: {weak}" if weak else ""


def judge(rows, found):
    """Fills in figures and verdicts."""
    for row in rows:
        missing = list(dict.fromkeys(filter(None, (waits_for(part, found) for part in row.parts))))
        if row.incomparable:
            row.verdict, row.why = "not comparable", row.incomparable
        elif row.open:
            row.verdict, row.why = "open", f"waits for {row.open}"
        elif missing:
            row.verdict, row.why = "open", "waits for " + "; ".join(missing)
        else:
            for part in row.parts:
                part.verdict = part_verdict(part)
            verdicts = [part.verdict for part in row.parts]
            row.verdict = next(name for name in WORST_FIRST if name in verdicts)
            if len(verdicts) > 1:
                row.why = f"{verdicts.count(row.verdict)} of {len(verdicts)}"
    return rows


def counted(rows):
    return {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}


def summary(rows):
    """One line."""
    waiting = sum(row.verdict == "open" and not row.open for row in rows)
    counts = [f"{count} {verdict}" for verdict, count in counted(rows).items() if verdict != "open"]
    still = counted(rows)["open"]
    return f"{len(rows)} claims: {', '.join(counts)}, {still} open" + (
        f" ({waiting} of them wait only for a run)" if waiting else ""
    )


def cells(row):
    """What is printed of a row, as text."""
    ours = "; ".join(f"{part.name}: {part.ours()}" + (f", {part.verdict}" if part.verdict and row.parts[1:] else "")
                     for part in row.parts if part.figure)
    theirs = {name: row.claim[name] for name in ("key", "benchmark", "claim", "finding")}
    return theirs | {"ours": ours, "kind": row.kind, "verdict": row.verdict, "why": row.why,
                     "experiment": ", ".join(row.experiments), "note": row.note}


def text(rows):
    """A table for a terminal, a claim on one line and what belongs to it below."""
    lines = []
    for row in rows:
        found = cells(row)
        below = [f"{name}: {found[name]}" if name != "why" else found[name] for name in ("ours", "why", "note")
                 if found[name]]
        below += [f"{found['kind']}; experiment {found['experiment']}"] if found["experiment"] else []
        lines.append(f"{found['key']:13} {found['verdict']:15} {found['benchmark']}: {found['claim']}")
        lines += [f"{'':29} {line}" for line in below]
    return "\n".join(lines)


def write_csv(rows, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(cells(rows[0])), lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells(row) for row in rows)


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab claims", description=__doc__, epilog="Verdicts are computed from "
                                     "build/lab/results, or else from the newest of each experiment in bench/results.")
    parser.add_argument("--csv", type=pathlib.Path, metavar="FILE", help="also write the rows to FILE")
    parser.add_argument("--summary", action="store_true", help="only the line with the counts")
    parser.add_argument("--results", type=pathlib.Path, default=archive.LAST, metavar="FOLDER", help="other results")
    options = parser.parse_args(arguments)
    _, found, problems = archive.present(options.results)
    rows = judge(read(), found)
    for problem in problems:
        print(f"bench/lab claims: left out: {problem}", file=sys.stderr)
    if options.csv:
        write_csv(rows, options.csv)
    if not options.summary:
        print(text(rows) + "\n")
    print(summary(rows))
    return 0
