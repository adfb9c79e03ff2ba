"""One figure of a result by its id, as the ledger, the documents and the history name it.

ID                a comparison (its ratio), a value, a bound (its ratio)
ID/a, ID/b        what one side of a comparison or bound had
ID/added          what A of a comparison has beyond B, inside each pair
SIDE/COUNT        a count of a side: one of COUNTS
ID/p99, ID/max    of a distribution; also ID/achieved and ID/errors
"""

import dataclasses

from keel_lab import judge, statistics

SIDE_UNITS = {
    "cpu_us": "us",
    "user_us": "us",
    "system_us": "us",
    "rate": "/s",
    "ns": "ns",
    "rss_kb": "KB",
    "start_ms": "ms",
    "mean": "us",
    "p50": "us",
    "p99": "us",
    "disk_kb": "KB/s",
    "client_us": "us",
}
COUNTS = {
    "system_calls": "",
    "allocations": "allocations",
    "allocated_bytes": "B",
    "instructions": "",
    "switches": "",
    "bytes_per_connection": "B",
    "idle_rss_kb": "KB",
}


OF_DISTRIBUTION = ("p50", "p90", "p95", "p99", "p99.9", "max", "achieved", "errors")


@dataclasses.dataclass
class Figure:
    median: float
    low: float
    high: float
    unit: str


def exact(number, unit):
    return Figure(number, number, number, unit)


def of_side(row, side):
    unit = SIDE_UNITS.get(row["of"], "")
    values = [pair[side][row["of"]] for pair in row.get("pairs", []) if row["of"] in pair.get(side, {})]
    if len(values) < 2:
        return exact(row[f"{side}_value"], unit)
    low, high, _ = statistics.interval(values)
    return Figure(statistics.median(values), low, high, unit)


def added(row):
    unit, of = SIDE_UNITS.get(row["of"], ""), row["of"]
    values = [pair["a"][of] - pair["b"][of] for pair in row.get("pairs", []) if all(of in pair[side] for side in "ab")]
    if len(values) < 2:
        return exact(row["a_value"] - row["b_value"], unit)
    low, high, _ = statistics.interval(values)
    return Figure(statistics.median(values), low, high, unit)


def of_distribution(row, field):
    if field == "achieved":
        return exact(row["achieved"], "/s")
    if field == "errors":
        return exact(float(sum(row["errors"].values())), "")
    name = field.removeprefix("p")
    if field != "max" and not field.startswith("p") or name not in row["percentiles"]:
        return None
    return exact(row["percentiles"][name], row["unit"])


def find(result, name):
    """The Figure, or None when the result holds no such thing or nothing was counted."""
    for row in result["comparisons"]:
        if row["id"] == name:
            return Figure(row["median"], row["low"], row["high"], "ratio")
    for row in result["values"]:
        if row["id"] == name:
            return Figure(row["median"], row["low"], row["high"], row["unit"])
    for row in result["bounds"]:
        if row["id"] == name:
            return exact(row["ratio"], "ratio")
    whole, slash, field = name.rpartition("/")
    if not slash:
        return None
    for row in result["comparisons"]:
        if row["id"] == whole and field in ("a", "b"):
            return of_side(row, field)
        if row["id"] == whole and field == "added":
            return added(row)
    for row in result["bounds"]:
        if row["id"] == whole and field in ("a", "b"):
            return exact(row[f"{field}_value"], COUNTS.get(row["of"], ""))
    for row in result["distributions"]:
        found = of_distribution(row, field) if row["id"] == whole else None
        if found is not None:
            return found
    for row in result["counts"]:
        if row["side"] == whole and field in COUNTS and row.get(field) is not None:
            return exact(row[field], COUNTS[field])
    return None


def weakness(result, name):
    """Why a figure that is there judges nothing; or nothing. A single value, a slope for example, stands for itself."""
    for row in result["comparisons"]:
        if name in (row["id"], f"{row['id']}/a", f"{row['id']}/b", f"{row['id']}/added"):
            if row["client_bound"]:
                return "the client was the limit"
            if row["coverage"] < judge.COVERAGE_MIN:
                return f"{len(row['ratios'])} pairs are too few"
    for row in result["values"]:
        if row["id"] == name and 1 < len(row["values"]) and statistics.interval(row["values"])[2] < judge.COVERAGE_MIN:
            return f"{len(row['values'])} rounds are too few"
    return ""


def oversubscription(result, name):
    """How many threads took turns on how few cores for this figure; or nothing."""
    for row in result["comparisons"] + result["values"]:
        if name == row["id"] or name.rpartition("/")[0] == row["id"]:
            return row.get("oversubscribed", "")
    return ""


def names(result):
    """Every name that find() knows in this result, for a message that helps."""
    listed = [row["id"] for kind in ("comparisons", "values", "bounds") for row in result[kind]]
    listed += [f"{row['id']}/p99" for row in result["distributions"]]
    return listed + [
        f"{row['side']}/{field}" for row in result["counts"] for field in COUNTS if row.get(field) is not None
    ]
