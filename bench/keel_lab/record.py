"""What a run found, a row for each figure: what the ledger, the documents, the history and the report read.

A record is made of the JSON that a run leaves in build/lab/results, or of the lines of bench/results/YYYY-MM-DD.tsv,
which keeps a whole day in one text file. The lines of such a file, with tabs between their cells:

run         NUMBER  FACT  TEXT                     the commit, the profile and the machine
experiment  ID  NUMBER  BEGAN  SECONDS             of which run it is
figure      ID  FIGURE  the cells of COLUMNS
said        ID  invalid|skipped|absent|made of  WHAT  TEXT

The ledger, the documents and the history name figures so:

ID                a comparison or bound (its ratio), a value
ID/a, ID/b        what one side of a comparison or bound had
ID/added          what A of a comparison has beyond B, inside each pair
SIDE/COUNT        a count of a side: one of COUNTS
ID/p99, ID/max    of a distribution; also ID/achieved and ID/errors
"""

import dataclasses
import pathlib

from keel_lab import judge, results, statistics

COUNTS = {"system_calls": "", "allocations": "allocations", "allocated_bytes": "B", "instructions": "", "switches": "",
          "bytes_per_connection": "B", "idle_rss_kb": "KB"}
OF_DISTRIBUTION = ("p50", "p90", "p95", "p99", "p99.9", "max", "achieved", "errors")
COLUMNS = ("unit", "median", "low", "high", "runs", "noise", "target", "verdict", "a", "b", "added", "notes")
SAID = ("invalid", "skipped", "absent", "made of")
CLIENT_BOUND, OVERSUBSCRIBED = "client-bound", "oversubscribed: "
DIGITS = 5  # A measurement has no more.


@dataclasses.dataclass(frozen=True)
class Figure:
    median: float
    low: float
    high: float
    unit: str


def exact(number, unit):
    return Figure(number, number, number, unit)


@dataclasses.dataclass
class Row:
    """`unit` is that of the sides where there are any: the figure is their ratio then."""
    figure: str
    unit: str
    median: float
    low: float
    high: float
    runs: int = 0  # None for what is counted, or the percentile of a single distribution.
    noise: tuple | None = None  # The interval of a side against itself.
    target: dict | None = None
    verdict: str = ""
    a: Figure | None = None
    b: Figure | None = None
    added: Figure | None = None
    notes: tuple = ()

    @property
    def is_ratio(self):
        return self.a is not None

    @property
    def own_unit(self):
        return "ratio" if self.is_ratio else self.unit

    @property
    def client_bound(self):
        return CLIENT_BOUND in self.notes

    @property
    def oversubscribed(self):
        """How many threads took turns on how few cores; or nothing."""
        return next((note.removeprefix(OVERSUBSCRIBED) for note in self.notes if note.startswith(OVERSUBSCRIBED)), "")

    @property
    def weakness(self):
        """Why the figure judges nothing; or nothing. A single value, a slope for example, stands for itself."""
        if self.client_bound:
            return "the client was the limit"
        if (self.runs > 1 or self.added) and statistics.coverage_of(self.runs) < judge.COVERAGE_MIN:
            return f"{self.runs} {'pairs' if self.is_ratio else 'rounds'} are too few"
        return ""


@dataclasses.dataclass
class Record:
    experiment: str
    began: str
    seconds: float
    facts: dict  # The commit, the profile and the machine.
    complete: bool = True
    rows: dict = dataclasses.field(default_factory=dict)
    said: list = dataclasses.field(default_factory=list)  # (one of SAID, what, text)

    @property
    def day(self):
        return self.began[:10]

    def row(self, name):
        """The row that a figure's name means, or None."""
        return self.rows.get(name) or next(
            (self.rows.get(name.removesuffix(end)) for end in ("/a", "/b", "/added") if name.endswith(end)), None)

    def find(self, name):
        """The Figure, or None when there is no such thing or nothing was counted."""
        row = self.row(name)
        if row is None or row.figure == name:
            return row and Figure(row.median, row.low, row.high, row.own_unit)
        return getattr(row, name.rpartition("/")[2])

    def of(self, kind):
        return [(what, text) for one, what, text in self.said if one == kind]


# --- Of what a run has left ---


def _unit(row):
    """Of a comparison's sides; a counter of a benchmark has its own."""
    title, unit = judge.QUANTITIES[row["of"]]
    return row["unit"] if row["of"] == "ns" and row["unit"] != title else unit


def _sides(row):
    """A's figure, B's, and what A has beyond B in each pair."""
    of, unit = row["of"], _unit(row)
    pairs = [pair for pair in row["pairs"] if all(of in pair[side] for side in "ab")]
    for values in ([pair["a"][of] for pair in pairs], [pair["b"][of] for pair in pairs],
                   [pair["a"][of] - pair["b"][of] for pair in pairs]):
        yield Figure(statistics.median(values), *statistics.interval(values)[:2], unit)


def _notes(row):
    if row.get("client_bound"):
        yield CLIENT_BOUND
    if "oversubscribed" in row:
        yield OVERSUBSCRIBED + row["oversubscribed"]
    for who, (a, b) in results.used(row).items():
        yield f"{who} used {a:.2f} : {b:.2f}"
    repeated, disturbed = results.disturbance(row)
    if repeated or disturbed:
        yield f"runs repeated: {repeated}, pairs disturbed: {disturbed}"
    if row["outliers"]:
        yield f"outliers: {row['outliers']}, median without: {row['median_without_outliers']:.4g}"
    yield f"cv {row['cv']:.1%}"
    yield f"detectable {row['detectable']:.1%}"


def _rows(result):
    for row in result["comparisons"]:
        noise = row["noise"] and (row["noise"]["low"], row["noise"]["high"])
        yield Row(row["id"], _unit(row), row["median"], row["low"], row["high"], len(row["ratios"]),
                  noise, row["target"], judge.verdict(row["target"], row, row["noise"], row["client_bound"]),
                  *_sides(row), tuple(_notes(row)))
    for row in result["values"]:
        notes = (OVERSUBSCRIBED + row["oversubscribed"],) if "oversubscribed" in row else ()
        yield Row(row["id"], row["unit"], row["median"], row["low"], row["high"], len(row["values"]), None,
                  row.get("target"), row.get("verdict", ""), notes=(*notes, f"cv {row['cv']:.1%}"))
    for row in result["bounds"]:
        a, b = (exact(row[f"{side}_value"], COUNTS.get(row["of"], "")) for side in "ab")
        yield Row(row["id"], a.unit, *3 * [row["ratio"]], target=row["target"], verdict=row["verdict"], a=a, b=b)
    for row in result["counts"]:
        for name, unit in COUNTS.items():
            if row.get(name) is not None:
                by = (f"by {row['instructions_by']}",) if name == "instructions" else ()
                yield Row(f"{row['side']}/{name}", unit, *3 * [row[name]], notes=by)
    for row in result["distributions"]:
        used = [f"{who} used {row[f'{who}_utilisation']:.2f}" for who in ("server", "client")
                if row.get(f"{who}_utilisation") is not None]
        for name, number in row["percentiles"].items():
            notes = tuple(used) if name == "99" else ()
            yield Row(f"{row['id']}/{name if name == 'max' else 'p' + name}", row["unit"], *3 * [number], notes=notes)
        yield Row(f"{row['id']}/achieved", "/s", *3 * [row["achieved"]])
        yield Row(f"{row['id']}/errors", "", *3 * [float(sum(row["errors"].values()))])


def of(result):
    """The record of a result of results.py."""
    named = {"pairs": "pairs", "seconds": "window seconds"}
    settings = {said: str(result["settings"][key]) for key, said in named.items() if key in result["settings"]}
    facts = {"commit": result["commit"], "profile": result["profile"]} | settings | result["machine"]
    said = [(kind, row["what"], row["why"]) for kind in ("invalid", "skipped") for row in result[kind]]
    said += [("absent", f"{name} of {', '.join(who)}", why) for name, who, why in results.absences(result)]
    said += [("made of", side, made_of) for side, made_of in results.versions(result).items()]
    rows = {}
    for row in _rows(result):
        rows.setdefault(row.figure, row)
    return Record(result["experiment"], result["began"], result["seconds"], facts, result["complete"], rows, said)


# --- As text ---


def _number(value):
    return f"{float(f'{value:.{DIGITS}g}'):.12g}"


def _cell(value):
    if value is None:
        return ""
    if isinstance(value, Figure):
        return " ".join(map(_number, (value.median, value.low, value.high)))
    if isinstance(value, dict):
        return f"{value['kind']} {value['value']:g}"
    if isinstance(value, tuple):
        return "; ".join(value) if value and isinstance(value[0], str) else " ".join(map(_number, value))
    return _number(value) if isinstance(value, (int, float)) else str(value)


def text(records):
    """A day's file. What changes from run to run without meaning, such as the load before it, is left out."""
    runs, lines = [], []
    for record in records:
        facts = {key: value for key, value in record.facts.items() if key != "load before"}
        if facts not in runs:
            runs.append(facts)
        lines.append(("experiment", record.experiment, runs.index(facts) + 1, record.began, record.seconds))
        lines += [("figure", record.experiment, row.figure, *(getattr(row, name) for name in COLUMNS))
                  for row in record.rows.values()]
        lines += [("said", record.experiment, *said) for said in record.said]
    lines = [("run", number, *fact) for number, facts in enumerate(runs, 1) for fact in facts.items()] + lines
    # No path of this machine is kept, and no line break.
    told = ["\t".join(" ".join(_cell(cell).replace(f"{results.ROOT}/", "").split()) for cell in line) for line in lines]
    return "\n".join(["# What the lab found; keel_lab/record.py and docs/lab.md say how to read it.", *told, ""])


class _Reader:
    def __init__(self, name):
        self.name, self.runs, self.records, self.problems = name, {}, {}, []

    def run(self, number, fact, said):
        self.runs.setdefault(number, {})[fact] = said

    def experiment(self, name, number, began, seconds):
        if number not in self.runs:
            raise ValueError(f"no run {number}")
        if name in self.records:
            raise ValueError(f"a second experiment {name}")
        self.records[name] = Record(name, began, float(seconds), self.runs[number])

    def figure(self, experiment, name, unit, median, low, high, runs, noise, target, verdict, a, b, added, notes):
        numbers = [float(cell) for cell in (median, low, high)]
        if not numbers[1] <= numbers[0] <= numbers[2]:
            raise ValueError("low, median and high are not in order")
        if verdict and verdict not in results.VERDICTS:
            raise ValueError(f"verdict {verdict!r} is none of {', '.join(results.VERDICTS)}")
        rows = self._of(experiment).rows
        if name in rows:
            raise ValueError(f"a second figure {name}")
        sides = [Figure(*map(float, cell.split()), unit) if cell else None for cell in (a, b, added)]
        rows[name] = Row(name, unit, *numbers, int(runs), tuple(map(float, noise.split())) or None,
                         judge.target_of(target), verdict, *sides, tuple(notes.split("; ")) if notes else ())

    def said(self, experiment, kind, what, why):
        if kind not in SAID:
            raise ValueError(f"{kind!r} is none of {', '.join(SAID)}")
        self._of(experiment).said.append((kind, what, why))

    def _of(self, experiment):
        if experiment not in self.records:
            raise ValueError(f"no experiment {experiment} above")
        return self.records[experiment]

    def line(self, number, line):
        kind, *cells = line.split("\t")
        wanted = {"run": 3, "experiment": 4, "figure": 2 + len(COLUMNS), "said": 4}
        try:
            if kind not in wanted:
                raise ValueError(f"{kind!r} is none of {', '.join(wanted)}")
            if len(cells) != wanted[kind]:
                raise ValueError(f"{kind} has {len(cells)} cells, not {wanted[kind]}")
            getattr(self, kind)(*cells)
        except (ValueError, TypeError) as problem:
            self.problems.append(f"{self.name}:{number}: {problem}")


def read(path):
    """({experiment: record}, [what is wrong, with file and line]); a bad line does not hide the good ones."""
    reader = _Reader(path)
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if line and not line.startswith("#"):
            reader.line(number, line)
    return reader.records, reader.problems
