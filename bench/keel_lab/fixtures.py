"""Results made up for tests, with everything in them that a result can hold."""

from keel_lab import judge, record, results


def comparison(name="a:b:cpu_us", median=0.8, low=0.78, high=0.82, target=("at most", 0.9), verdict="met", **more):
    a, b, of = name.split(":")[:3]
    pair = {"a": {of: 4.0}, "b": {of: 5.0}, "repeated": 0, "disturbed": False}
    return {
        "id": name, "a": a, "b": b, "of": of, "unit": judge.QUANTITIES[of][0], "work": "/plaintext", "a_value": 4.0,
        "b_value": 5.0, "ratios": [median] * 12, "median": median, "low": low, "high": high, "coverage": 0.994,
        "min": low, "max": high, "cv": 0.01, "outliers": 0, "median_without_outliers": median,
        "noise": {"low": 0.99, "high": 1.01}, "detectable": 0.02, "client_bound": False,
        "target": {"kind": target[0], "value": target[1]} if target else None, "verdict": verdict, "pairs": [pair] * 12,
        **more,
    }


def value(name, median, unit="ns", spread=0.0):
    low, high = median * (1 - spread), median * (1 + spread)
    return judge.value(name, name, unit, [low, low, low, median, high, high, high])


def distribution(name="keel", side="keel"):
    return {
        "id": name, "side": side, "work": "/plaintext", "offered": 50_000, "achieved": 49_990.0, "unit": "us",
        "count": 100_000, "errors": {"timeout": 0}, "server_utilisation": 0.83, "client_utilisation": 0.61,
        "percentiles": {"50": 80.0, "99": 300.0, "99.9": 900.0, "max": 1500.0},
        "cdf": [[40, 0.1], [80, 0.5], [200, 0.95], [300, 0.99], [900, 0.999], [1500, 1.0]],
    }


def series(name="keel:rss", unit="KB"):
    return {"id": name, "name": name, "unit": unit, "points": [[0, 5000], [1, 5200], [2, 5200], [3, 5210]]}


def result(experiment="plaintext", **rows):
    """A whole result of `experiment`; `rows` are its members."""
    made = results.new(experiment, f"What does {experiment} cost?", [], "quick", "abc123",
                       {"cpu": "a CPU", "kernel": "6.1"}, {"pairs": 12})
    return made | {"complete": True, "seconds": 12.0} | rows


def found(experiment="plaintext", **rows):
    """The record of the same."""
    return record.of(result(experiment, **rows))
