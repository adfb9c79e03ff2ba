"""Numbers with a unit: what a claim says and what a result holds, so that one can be held against the other."""

import math
import re

# unit: (what is measured, how many of the base unit). Units of results are here as results spell them.
UNITS = {
    "": ("number", 1.0), "x": ("number", 1.0), "times": ("number", 1.0), "ratio": ("number", 1.0),
    "%": ("number", 0.01), "count": ("number", 1.0), "allocations": ("number", 1.0), "instructions": ("number", 1.0),
    "system calls": ("number", 1.0),
    "ns": ("time", 1e-9), "us": ("time", 1e-6), "µs": ("time", 1e-6), "ms": ("time", 1e-3), "s": ("time", 1.0),
    "ns per operation": ("time", 1e-9),
    "B": ("size", 1.0), "bytes": ("size", 1.0), "KB": ("size", 1e3), "MB": ("size", 1e6), "GB": ("size", 1e9),
    "KiB": ("size", 1024.0), "MiB": ("size", 1048576.0),
    "/s": ("rate", 1.0), "K/s": ("rate", 1e3), "M/s": ("rate", 1e6), "1/s": ("rate", 1.0), "per second": ("rate", 1.0),
    "requests/s": ("rate", 1.0), "operations/s": ("rate", 1.0), "rows/s": ("rate", 1.0), "messages/s": ("rate", 1.0),
    "B/s": ("flow", 1.0), "KB/s": ("flow", 1024.0), "MB/s": ("flow", 1e6),
    "KB per minute": ("growth", 1e3 / 60), "of one core": ("share", 1.0),
}
LIMIT = re.compile(r"(at most|at least|exactly|between) (-?[0-9][0-9,.]*)(?: and ([0-9][0-9,.]*))?(?: ?([^0-9 ].*))?")


class Unreadable(Exception):
    """No quantity; the text says why."""


def base(number, unit):
    """(what is measured, value in its base unit)."""
    if unit not in UNITS:
        raise Unreadable(f"unit {unit!r} is none of: {', '.join(filter(None, UNITS))}")
    kind, factor = UNITS[unit]
    return kind, number * factor


def limit(text):
    """{kind, low, high, unit, what} of 'at most 12 ns', 'at least 1.15', 'exactly 0', 'between 0.6 and 0.8'."""
    found = LIMIT.fullmatch(text.strip())
    if not found or (found[1] == "between") != (found[3] is not None):
        raise Unreadable(f"{text!r} is no limit: 'at most 12 ns', 'at least 1.15', 'exactly 0', 'between 0.6 and 0.8'")
    unit = found[4] or ""
    low = float(found[2].replace(",", ""))
    high = float(found[3].replace(",", "")) if found[3] else low
    what, first = base(low, unit)
    return {"kind": found[1], "low": first, "high": base(high, unit)[1], "unit": unit, "what": what}


def as_(what, number, wanted):
    """`number` of `what` as what is `wanted`: a time per operation is also a rate, nothing else is anything else."""
    if what == wanted:
        return number
    if {what, wanted} == {"time", "rate"}:
        return 1 / number if number else math.inf
    raise Unreadable(f"a {what} cannot be held against a {wanted}")


def short(number):
    """Three significant digits, thousands apart."""
    if number is None or math.isnan(number):
        return "–"
    if math.isinf(number):
        return "∞"
    if abs(number) >= 1000:
        return f"{float(f'{number:.3g}'):,.0f}"
    return f"{float(f'{number:.3g}'):g}" if abs(number) >= 0.001 or number == 0 else f"{number:.2g}"


def show(number, unit):
    """A figure for a reader, in the unit of the claim that it answers."""
    if unit == "%":
        return f"{short(number * 100)} %"
    factor = UNITS[unit][1]
    text = short(number / factor)
    return text if unit in ("", "x", "ratio", "count") else f"{text} {unit}"
