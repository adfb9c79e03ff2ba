"""The judge on synthetic series: an effect that is there is found, one that is not is not."""

import math
import random
import unittest

from keel_lab import judge

AT_MOST_1 = {"kind": "at most", "value": 1.0}


def series(seed, effect, spread=0.015, pairs=12, outliers=0.01):
    """Pairs of CPU per operation, A dearer by `effect`, on a machine that drifts and is hit by something now and then.

    Seldom: a run while something else used the machine has been repeated before it comes to the judge.
    """
    chance = random.Random(seed)
    found = []
    for number in range(pairs):
        drift = 1 + 0.06 * math.sin(number / 3 + seed)  # Both runs of a pair see the same.
        pair = {}
        for key, cost in (("a", 1 + effect), ("b", 1.0)):
            hit = chance.uniform(1.1, 1.4) if chance.random() < outliers else 1
            pair[key] = {
                "cpu_us": 5 * cost * drift * hit * chance.lognormvariate(0, spread),
                "server_utilisation": 1.0,
                "client_utilisation": 0.5
            }
        found.append(pair)
    return found


def verdicts(effect, **how):
    return [judge.differs(judge.ratios(series(seed, effect, **how), "cpu_us")) for seed in range(20)]


def rated(ratio, server, client, pairs=12):
    used = {"server_utilisation": server, "client_utilisation": client}
    return [{"a": {"rate": 100 * ratio, **used}, "b": {"rate": 100, **used}} for _ in range(pairs)]


class OnSeededSeries(unittest.TestCase):
    def test_five_per_cent_are_found_in_at_least_19_of_20(self):
        self.assertGreaterEqual(sum(verdicts(0.05)), 19)
        self.assertGreaterEqual(sum(verdicts(-0.05)), 19)

    def test_a_side_against_itself_is_called_different_in_at_most_1_of_20(self):
        self.assertLessEqual(sum(verdicts(0.0)), 1)
        self.assertLessEqual(sum(verdicts(0.0, spread=0.1)), 1)

    def test_the_same_series_gets_the_same_verdict(self):
        first, second = (judge.compare(series(7, 0.02), "cpu_us", AT_MOST_1) for _ in range(2))
        self.assertEqual(first, second)

    def test_more_noise_makes_less_detectable(self):
        quiet, loud = (judge.compare(series(3, 0.05, spread=spread, outliers=0), "cpu_us") for spread in (0.005, 0.08))
        self.assertLess(quiet["detectable"], 0.05)
        self.assertGreater(loud["detectable"], 0.05)

    def test_a_counter_may_be_zero(self):
        none = [{"a": {"system_calls": 0}, "b": {"system_calls": 2}} for _ in range(12)]
        some = [{"a": {"system_calls": index % 2}, "b": {"system_calls": 2}} for index in range(12)]
        found = judge.compare(none, "system_calls", AT_MOST_1, noise={"low": 1.0, "high": 1.0}, itself=True)
        self.assertEqual((found["median"], found["detectable"], found["verdict"]), (0, 0, "met"))
        self.assertEqual(judge.compare(some, "system_calls", itself=True)["detectable"], 1.0)


def runs(sequence):
    """Pairs of the CPU of runs in the order in which they were made: A B, B A, A B, ..."""
    found = []
    for number in range(len(sequence) // 2):
        sides = "ab" if number % 2 == 0 else "ba"
        found.append({side: {"cpu_us": cost} for side, cost in zip(sides, sequence[2 * number:])})
    return found


class Noise(unittest.TestCase):
    """A run against the next one of the same side."""
    def test_a_difference_of_the_sides_is_none(self):
        self.assertEqual(judge.noise(runs([1, 3, 3, 1, 1, 3, 3, 1]), "cpu_us"), {"low": 1, "high": 1})

    def test_a_side_that_changes_from_run_to_run_shows_it(self):
        self.assertEqual(judge.noise(runs([1, 2, 4, 1, 1, 2]), "cpu_us"), {"low": 0.5, "high": 1})  # B: 2 after 4.
        self.assertEqual(judge.noise(runs([1, 2, 2, 1, 4, 2]), "cpu_us"), {"low": 0.25, "high": 1})  # A: 1, then 4.

    def test_a_drift_stands_on_both_sides_of_1(self):
        found = judge.noise(runs([1.1**number for number in range(24)]), "cpu_us")
        self.assertAlmostEqual(found["low"], 1 / 1.1)
        self.assertAlmostEqual(found["high"], 1.1)

    def test_one_of_the_eleven_on_either_side_does_not_count(self):
        sequence = [1, 1] * 12
        sequence[3:5] = 9, 1
        self.assertEqual(judge.noise(runs(sequence), "cpu_us"), {"low": 1, "high": 1})

    def test_of_one_pair_or_without_the_quantity_there_is_none(self):
        self.assertIsNone(judge.noise(runs([1, 2]), "cpu_us"))
        self.assertIsNone(judge.noise(runs([1, 2, 2, 1]), "p99"))


class Verdict(unittest.TestCase):
    def found(self, low, median, high, coverage=0.99):
        return {"low": low, "median": median, "high": high, "coverage": coverage}

    def test_the_whole_interval_decides(self):
        for target, low, high, wanted in (("at most", 0.90, 0.99, "met"), ("at most", 1.01, 1.1, "missed"),
                                          ("at most", 0.95, 1.05, "undecided"), ("at least", 1.01, 1.1, "met"),
                                          ("at least", 0.9, 0.99, "missed"), ("at least", 0.95, 1.05, "undecided"),
                                          ("above", 1.01, 1.1, "met"), ("above", 0.9, 1.0,
                                                                        "missed"), ("above", 1.0, 1.1, "undecided"),
                                          ("not below", 0.9, 1.0, "undecided"), ("not below", 1.0, 1.1, "met"),
                                          ("not below", 0.9, 0.99, "missed")):
            found = self.found(low, (low + high) / 2, high)
            self.assertEqual(judge.verdict({
                "kind": target,
                "value": 1.0
            }, found, None, False), wanted, (target, low, high))

    def test_a_margin_within_the_noise_is_no_verdict(self):
        found = self.found(0.96, 0.97, 0.98)
        self.assertEqual(judge.verdict(AT_MOST_1, found, {"low": 0.99, "high": 1.01}, False), "met")
        self.assertEqual(judge.verdict(AT_MOST_1, found, {
            "low": 0.95,
            "high": 1.01
        }, False), "below the detectable effect")
        self.assertEqual(judge.verdict(AT_MOST_1, found, {
            "low": 0.99,
            "high": 1.05
        }, False), "below the detectable effect")

    def test_too_few_pairs_are_no_verdict(self):
        self.assertEqual(judge.verdict(AT_MOST_1, self.found(0.5, 0.5, 0.5, coverage=0.75), None, False), "undecided")

    def test_without_a_target_there_is_none(self):
        self.assertEqual(judge.verdict(None, self.found(0.5, 0.5, 0.5), None, False), "no target")


class ClientBound(unittest.TestCase):
    target = {"kind": "at least", "value": 1.0}

    def test_a_rate_of_servers_with_time_left_is_not_judged(self):
        found = judge.compare(rated(2.0, server=0.9, client=0.99), "rate", self.target)
        self.assertEqual((found["client_bound"], found["verdict"]), (True, "undecided"))

    def test_a_rate_of_busy_servers_is(self):
        found = judge.compare(rated(2.0, server=0.97, client=0.9), "rate", self.target)
        self.assertEqual((found["client_bound"], found["verdict"]), (False, "met"))

    def test_a_server_that_waits_for_its_disk_bounds_the_rate_itself(self):
        self.assertFalse(
            judge.compare(rated(2.0, server=0.3, client=0.2), "rate", self.target, waits=True)["client_bound"])
        self.assertTrue(
            judge.compare(rated(2.0, server=0.3, client=0.98), "rate", self.target, waits=True)["client_bound"])

    def test_cpu_per_operation_is_judged_all_the_same(self):
        pairs = [{key: one | {"server_utilisation": 0.5} for key, one in pair.items()} for pair in series(1, -0.2)]
        found = judge.compare(pairs, "cpu_us", AT_MOST_1)
        self.assertEqual((found["client_bound"], found["verdict"]), (False, "met"))


class Outliers(unittest.TestCase):
    def test_they_are_counted_and_the_median_is_shown_with_and_without(self):
        found = judge.spread([1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 3.0])
        self.assertEqual(found["outliers"], 1)
        self.assertAlmostEqual(found["median"], 1.035)
        self.assertAlmostEqual(found["median_without_outliers"], 1.03)


class Regression(unittest.TestCase):
    def found(self, of, median, low, high, noise=None, bound=False):
        return {
            "of": of,
            "median": median,
            "low": low,
            "high": high,
            "noise": noise,
            "coverage": 0.99,
            "client_bound": bound
        }

    def test_it_is_one_beyond_the_gate_and_beyond_doubt(self):
        self.assertTrue(judge.regression(self.found("cpu_us", 1.08, 1.03, 1.1), 0.05))
        self.assertTrue(judge.regression(self.found("rate", 0.9, 0.85, 0.95), 0.05))

    def test_within_the_gate_it_is_none(self):
        self.assertFalse(judge.regression(self.found("cpu_us", 1.04, 1.03, 1.05), 0.05))

    def test_an_interval_that_contains_1_is_none(self):
        self.assertFalse(judge.regression(self.found("cpu_us", 1.08, 0.99, 1.2), 0.05))

    def test_within_the_noise_it_is_none(self):
        self.assertFalse(
            judge.regression(self.found("cpu_us", 1.08, 1.03, 1.1, noise={
                "low": 0.96,
                "high": 1.02
            }), 0.05))

    def test_an_improvement_is_none(self):
        self.assertFalse(judge.regression(self.found("cpu_us", 0.8, 0.7, 0.9), 0.05))
        self.assertFalse(judge.regression(self.found("rate", 1.3, 1.2, 1.4), 0.05))

    def test_a_rate_that_the_client_set_is_none(self):
        self.assertFalse(judge.regression(self.found("rate", 0.8, 0.7, 0.9, bound=True), 0.05))
