"""Recommendations with our verdict: bench/tuning.yaml and the dated results make the table of docs/tuning.md."""

import pathlib

from keel_lab import claims, experiment, judge
from keel_lab.side_file import ROOT
from keel_lab.yaml_file import File

FILE = ROOT / "bench/tuning.yaml"
DOCUMENT = ROOT / "docs/tuning.md"
BEGIN = "<!-- made by bench/lab check-documents --write from bench/tuning.yaml and bench/results -->\n"
END = "<!-- end -->\n"
KEYS = {"says": str, "source": str, "experiment": str, "value": str, "more is better": bool, "open": str,
        "not comparable": str, "note": str}


def read(path=FILE, experiments=None):
    """The rows, as the file has them. Mistakes when one is wrong or names what does not exist."""
    experiments = experiment.read_all() if experiments is None else experiments
    file = File(path, pathlib.Path(path).read_text(encoding="utf-8"))
    rows = []
    for number, spec in enumerate(file.value or []):
        if not file.mapping(spec, (number,), KEYS, ("says", "source")):
            continue
        if sum(key in spec for key in ("experiment", "open", "not comparable")) != 1:
            file.wrong((number,), "exactly one of: experiment, open, not comparable")
        if ("experiment" in spec) != ("value" in spec):
            file.wrong((number,), "experiment and value belong together")
        name = spec.get("experiment", "")
        if name and name not in experiments:
            file.wrong((number, "experiment"), f"no experiment {name}: bench/lab list has them all")
        elif name and not claims.is_there(spec.get("value", ""), claims.figures_of(experiments[name])):
            file.wrong((number, "value"), f"experiment {name} gives no {spec.get('value')}")
        rows.append(spec)
    file.finish()
    return rows


def verdict(row, results):
    """What the dated results say of a recommendation."""
    if "not comparable" in row:
        return f"not comparable: {row['not comparable']}"
    if "open" in row:
        return f"open: waits for {row['open']}"
    name, value = row["experiment"], row["value"]
    one = results.get(name)
    if one is None or not one.complete:
        return f"open: waits for a dated result of {name}"
    found = one.rows.get(value)
    if found is None:
        return f"open: waits for a dated result of {name} with {value}"
    ratio = f"{found.median:.3f} ({found.low:.3f} – {found.high:.3f})"
    if found.oversubscribed:
        ratio += f", oversubscribed: {found.oversubscribed}"
    if found.weakness:
        return f"undecided, {found.weakness}: {ratio}"
    noise = judge.width(found.noise and dict(zip(("low", "high"), found.noise)))
    if found.low <= 1 <= found.high or max(found.median, 1) / min(found.median, 1) - 1 < noise:
        return f"no difference seen: {ratio}"
    helps = (found.median > 1) == row.get("more is better", False)
    return f"{'helps' if helps else 'hurts'}: {ratio}"


def table(rows, results):
    lines = ["| recommendation | source | experiment | verdict |", "|---|---|---|---|"]
    for row in rows:
        note, name = row.get("note"), row.get("experiment")
        said = verdict(row, results) + (f". {note[0].upper()}{note[1:]}" if note else "")
        cells = [row["says"], row["source"], f"`{name}`" if name else "–", said]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def renewed(text, rows, results):
    """The document with the table as it has to be; None when it has no place for one."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return before + begin + "\n" + table(rows, results) + "\n" + end + after if begin and end else None


def without_table(text):
    """The document with blank lines for the table."""
    before, begin, rest = text.partition(BEGIN)
    made, end, after = rest.partition(END)
    return before + "\n" * (begin + made + end).count("\n") + after


def check(results, path=DOCUMENT, write=False):
    """The mistakes of the document, a line each; with `write` the table is renewed instead."""
    text = path.read_text(encoding="utf-8")
    wanted = renewed(text, read(), results)
    if wanted is None:
        return [f"{path.name}: has no place for the table: {BEGIN.strip()} and {END.strip()}"]
    if wanted != text and write:
        path.write_text(wanted, encoding="utf-8")
    elif wanted != text:
        return [f"{path.name}: the table is not what bench/tuning.yaml and bench/results give: check-documents --write"]
    return []
