import unittest
from unittest import mock

from keel_lab import experiment, judge, pairs


def compared(a_target=None, of="cpu_us"):
    return experiment.Comparison("a", "b", of, None, "quick", mock.Mock(waits_for=""), mock.Mock(), "deep", a_target)


class OfItsOwn(unittest.TestCase):
    """What A has by itself, held against a target in its unit."""
    def rows(self, *values, of="cpu_us"):
        target = judge.target_of("at most 0.35")
        return list(pairs.bounded([compared(target), compared(of=of)], [{"a": {"cpu_us": value}} for value in values]))

    def test_is_a_value_with_the_verdict_of_its_whole_interval(self):
        row, = self.rows(*[0.3] * 12)
        self.assertEqual((row["id"], row["unit"], row["verdict"]), ("a:cpu_us:deep", "us", "met"))
        self.assertEqual(self.rows(*[0.3, 0.4] * 6)[0]["verdict"], "undecided")
        self.assertEqual(self.rows(*[0.4] * 12)[0]["verdict"], "missed")

    def test_is_not_there_where_nothing_was_measured(self):
        self.assertEqual(self.rows(), [])
        self.assertEqual(self.rows(None, None), [])
