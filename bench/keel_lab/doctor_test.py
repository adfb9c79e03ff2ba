"""The doctor's verdict on what it measures; the measurements are made up."""

import subprocess
import sys
import unittest
from unittest import mock

from keel_lab import doctor, self_test, sides
from keel_lab.measure import Settings


class Live(unittest.TestCase):
    def live(self, same, planted):
        """[(sentence, right)] where A against itself and a planted effect have these ratios in turns."""
        measured, lines = iter((same, planted)), []

        def measure_pairs(halves, line, found, settings, progress):
            lines.append((halves, line))
            one = lambda cost: {"cpu_us": cost, "server_utilisation": 1.0, "client_utilisation": 1.0}
            ratios = next(measured)
            found += [{"a": one(4 * ratios[number % len(ratios)]), "b": one(4.0), "repeated": 0, "disturbed": False}
                      for number in range(12)]

        with mock.patch.object(doctor.pairs, "measure_pairs", measure_pairs), mock.patch.object(doctor, "Progress"):
            found = list(doctor.live(Settings(build=self_test.BUILD)))
        (_, first), (halves, second) = lines
        self.assertIn("itself", first)
        # 5 % of the 4 us that were measured.
        self.assertEqual(halves["a"].side.serve[-1], "--burn-ns=200")
        self.assertNotIn("--burn-ns", " ".join(halves["b"].side.serve))
        self.assertIn("burns 5% more", second)
        return found

    def test_a_machine_that_shows_the_effect_and_nothing_else_is_fit(self):
        (same, same_right), (planted, planted_right) = self.live([1.01, 0.99], [1.04, 1.06])
        self.assertEqual((same_right, planted_right), (True, True))
        self.assertIn("A : A, CPU per operation: 1.000 (0.990 to 1.010, 99.4%)", same)
        self.assertIn("a planted 5% (0.20 us of CPU): 1.050 (1.040 to 1.060, 99.4%)", planted)

    def test_one_where_a_side_differs_from_itself_is_not(self):
        self.assertEqual([right for _, right in self.live([1.01, 1.02], [1.04, 1.06])], [False, True])

    def test_one_that_does_not_show_the_effect_or_its_opposite_is_not(self):
        self.assertEqual([right for _, right in self.live([1.01, 0.99], [0.99, 1.06])], [True, False])
        self.assertEqual([right for _, right in self.live([1.01, 0.99], [0.94, 0.96])], [True, False])


class Gaps(unittest.TestCase):
    def test_a_core_that_is_kept_from_nobody_shows_any_percentile(self):
        right, said = doctor.gaps_line(1, [60e-6, 100e-6], 2)
        self.assertTrue(right)
        self.assertEqual(said, "core 1, a thread that only reads the clock: kept from it for 0.01% of the time, "
                               "0.0 times a second for more than 1 ms, 0.10 ms at the longest")
        self.assertTrue(doctor.gaps_line(0, [], 2)[0])

    def test_one_that_is_lost_for_milliseconds_is_said(self):
        right, said = doctor.gaps_line(1, [6.2e-3] * 5 + [60e-6], 2)
        self.assertFalse(right)
        self.assertIn("kept from it for 1.55% of the time, 2.5 times a second for more than 1 ms, 6.20 ms", said)
        self.assertIn("high percentiles are the machine's", said)

    def test_another_on_the_core_is_seen(self):
        core = sides.CORES[-1]
        with subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
                               ]) as other:
            try:
                found = doctor.gaps(core, 0.5)
            finally:
                other.kill()
        self.assertGreater(sum(found), 0.05)
        self.assertGreater(max(found), 1e-3)


class Command(unittest.TestCase):
    def code(self, *live):
        with mock.patch.object(doctor, "live", lambda settings: iter(live)), \
                mock.patch.object(doctor, "machine_lines", lambda build: []), \
                mock.patch.object(doctor, "presence_lines", lambda build: []), mock.patch("builtins.print") as said:
            code = doctor.main([f"--build={self_test.BUILD}"])
        return code, said.call_args_list[-1].args[0]

    def test_its_code_is_0_only_where_all_is_as_it_must_be(self):
        self.assertEqual(self.code(("a", True), ("b", True))[0], 0)
        code, said = self.code(("a", True), ("b", False))
        self.assertEqual((code, said[:7]), (1, "not fit"))
