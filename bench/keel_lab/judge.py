"""What may be said about pairs of measurements, and what may not.

The ratio is taken inside each pair; its median is judged by the exact interval of order statistics. What a run shows
against the next one of the same side is noise, and a margin smaller than that is no verdict. Outliers stay in: the
median without them is shown beside, and if it lies outside the interval the result says so by itself. The only thing
that a client-bound rate can say is nothing.
"""

from keel_lab import statistics

# Quantities: (in words, the unit of what one side has).
QUANTITIES = {
    "cpu_us": ("CPU per operation", "us"), "user_us": ("user CPU per operation", "us"),
    "system_us": ("system CPU per operation", "us"), "rate": ("operations per second", "/s"),
    "ns": ("ns per operation", "ns"), "switches": ("context switches per operation", ""),
    "system_calls": ("system calls per operation", ""), "rss_kb": ("resident memory", "KB"),
    "start_ms": ("start to the first answer", "ms"), "mean": ("mean latency", "us"),
    "p50": ("median of the latency", "us"), "p99": ("99th percentile of the latency", "us"),
    "disk_kb": ("written to disk each second", "KB/s"), "client_us": ("CPU of the client per operation", "us"),
    "cpu_s": ("CPU of the compiler", "s")
}
MORE_IS_BETTER = ("rate",)
TARGETS = ("at most", "at least", "not below", "above", "within")
SATURATED = 0.95  # Of its core, used by the server: below, the rate is the client's.
COVERAGE_MIN = 0.95
NOISE_COVERAGE = 0.98  # Of 11 ratios the 2nd to the 10th.


def target_of(text):
    """{"kind", "value"} of a text such as "at most 0.80", or None when it is not one."""
    kind, _, value = text.rpartition(" ")
    try:
        return {"kind": kind, "value": float(value)} if kind in TARGETS else None
    except ValueError:
        return None


def ratios(pairs, of):
    return [pair["a"][of] / pair["b"][of] for pair in pairs if pair["b"][of]]


def spread(values):
    """What is published of a list of measurements."""
    low, high, covered = statistics.interval(values)
    kept = statistics.without_outliers(values)
    return {
        "median": statistics.median(values), "low": low, "high": high, "coverage": covered, "min": min(values),
        "max": max(values), "cv": statistics.variation(values), "outliers": len(values) - len(kept),
        "median_without_outliers": statistics.median(kept)
    }


def value(name, title, unit, values, target=None):
    """A row of `values` of a result; with a target, in its unit, and the verdict on the median's interval."""
    found = spread(values)
    judged = {"target": target, "verdict": verdict(target, found, None, False)} if target else {}
    return judged | {
        "id": name, "name": title, "unit": unit, "values": values,
        **{key: found[key] for key in ("median", "low", "high", "min", "max", "cv", "outliers")}
    }


def differs(values):
    """Whether the two sides of these ratios are different: the interval does not contain 1."""
    low, high, covered = statistics.interval(values)
    return covered >= COVERAGE_MIN and not low <= 1 <= high


def noise(pairs, of):
    """{low, high} of runs against the next one of the same side, None where there are none. Of rounds of benchmarks and
    of clients as of pairs of servers.

    In A B, B A, A B, ... the side that ends a pair begins the next one: all runs but the first and the last have such a
    neighbour. Which of two stands above alternates, so that a drift of the machine does not look like a difference."""
    found = []
    for number, (one, following) in enumerate(zip(pairs, pairs[1:])):
        side = "ba"[number % 2]
        before, after = one[side].get(of), following[side].get(of)
        if before and after:
            found.append(after / before if number // 2 % 2 else before / after)
    if not found:
        return None
    low, high, _ = statistics.interval(found, NOISE_COVERAGE)
    return {"low": low, "high": high}


def width(noise):
    """How far from 1 a side was from itself; 0 when that was not measured."""
    return max(noise["high"] - 1, 1 / noise["low"] - 1, 0) if noise else 0.0


def detectable(found, noise):
    """The smallest effect that this much spread would still have shown: beyond the interval, and beyond the noise. Of
    what A has none of (a counter), any."""
    if found["high"] == 0:
        return width(noise)
    if found["low"] == 0:
        return max(1.0, width(noise))
    return max(found["high"] / found["median"] - 1, found["median"] / found["low"] - 1, width(noise))


def by_interval(target, low, high):
    limit = target["value"]
    if target["kind"] == "within":  # So far from 1, on either side.
        met, missed = 1 - limit <= low and high <= 1 + limit, low > 1 + limit or high < 1 - limit
    elif target["kind"] == "above":
        met, missed = low > limit, high <= limit
    elif target["kind"] == "at most":
        met, missed = high <= limit, low > limit
    else:
        met, missed = low >= limit, high < limit
    return "met" if met else "missed" if missed else "undecided"


def verdict(target, found, noise, client_bound):
    if target is None:
        return "no target"
    if client_bound or found["coverage"] < COVERAGE_MIN:
        return "undecided"
    said = by_interval(target, found["low"], found["high"])
    # "Not below" and "within" need no margin: equal is good enough.
    if said == "undecided" or target["kind"] in ("not below", "within") or not noise:
        return said
    less, more = sorted((found["median"], target["value"]))
    margin = more / less - 1 if less else 1.0
    return "below the detectable effect" if margin < width(noise) else said


def is_client_bound(pairs, of, waits):
    """A rate that the client set: the server had time left. One that `waits` has, unless the client was busy."""
    if of != "rate":
        return False
    used = [statistics.median([pair[side]["server_utilisation"] for pair in pairs]) for side in ("a", "b")]
    busy = max(statistics.median([pair[side]["client_utilisation"] for pair in pairs]) for side in ("a", "b"))
    return min(used) < SATURATED and (not waits or busy >= SATURATED)


def compare(pairs, of, target=None, noise=None, waits=False, itself=False):
    """The statistics of a comparison as they stand in a result. `itself`: no client drives it."""
    values = ratios(pairs, of)
    if not values:
        return None
    found = spread(values)
    bound = not itself and is_client_bound(pairs, of, waits)
    return {
        "of": of, "unit": QUANTITIES[of][0], "a_value": statistics.median([pair["a"][of] for pair in pairs]),
        "b_value": statistics.median([pair["b"][of] for pair in pairs]), "ratios": values, **found, "noise": noise,
        "detectable": detectable(found, noise), "client_bound": bound, "target": target,
        "verdict": verdict(target, found, noise, bound), "pairs": pairs
    }


def compare_rounds(a, b, of, target=None, against_itself=None):
    """The same of what needs no server: a value of each side in every round."""
    pairs = [{"a": {of: left}, "b": {of: right}, "repeated": 0, "disturbed": False} for left, right in zip(a, b)]
    return compare(pairs, of, target, against_itself or noise(pairs, of), itself=True)


def bounds(wanted, value_of):
    """The rows of (a, b, of, target) where `value_of(name, of)` knows both: a count of A against that of B, or against
    a number. Counts have no interval."""
    for a, b, of, target in wanted:
        left, right = value_of(a, of), b if isinstance(b, int) else value_of(b, of)
        if left is not None and right:
            ratio = left / right
            yield {"id": f"{a}:{b}:{of}", "a": a, "b": str(b), "of": of, "a_value": left, "b_value": right,
                   "ratio": ratio, "target": target, "verdict": by_interval(target, ratio, ratio)}


def regression(found, gate):
    """Whether head (A) is worse than base (B) beyond `gate`, and certainly so: the interval and the noise exclude 1."""
    more = found["of"] in MORE_IS_BETTER
    cost = 1 / found["median"] if more else found["median"]
    least = 1 / found["high"] if more else found["low"]
    return not found["client_bound"] and found["coverage"] >= COVERAGE_MIN and cost > 1 + \
        gate and least > 1 + width(found["noise"])
