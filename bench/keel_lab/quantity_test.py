import unittest

from keel_lab import quantity


class Limits(unittest.TestCase):
    def test_a_limit_is_read_into_base_units(self):
        self.assertEqual(
            quantity.limit("at most 2 ms"),
            {"kind": "at most", "low": 0.002, "high": 0.002, "unit": "ms", "what": "time"},
        )
        self.assertEqual(quantity.limit("at least 1.16 M/s")["low"], 1.16e6)
        self.assertEqual(quantity.limit("between 0.9 and 1.1")["high"], 1.1)
        self.assertEqual(quantity.limit("at least 18,200 /s")["low"], 18200)

    def test_what_is_no_limit_is_refused_with_an_example(self):
        for text in ("12 ns", "at most", "below 3", "at most 3 parsecs", "between 3", "at most 3 and 4"):
            with self.subTest(text), self.assertRaises(quantity.Unreadable):
                quantity.limit(text)

    def test_a_time_per_operation_is_also_a_rate_and_nothing_else_is_another(self):
        self.assertAlmostEqual(quantity.as_("time", 5e-6, "rate"), 200_000)
        with self.assertRaises(quantity.Unreadable):
            quantity.as_("size", 5, "time")

    def test_figures_are_shown_in_the_unit_of_the_claim(self):
        self.assertEqual(quantity.show(2.3456e-9, "ns"), "2.35 ns")
        self.assertEqual(quantity.show(156_789, "/s"), "157,000 /s")
        self.assertEqual(quantity.show(0.8051, "ratio"), "0.805")
        self.assertEqual(quantity.show(0.05, "%"), "5 %")
