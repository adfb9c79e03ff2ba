import pathlib
import tempfile
import types
import unittest

from keel_lab import experiment, micro
from keel_lab.sides import Invalid


class Publishing(unittest.TestCase):
    def published(self, unit, a=(2.0,) * 12, b=(1.0,) * 12, target=None):
        case = types.SimpleNamespace(benchmark="bench", unit=unit)
        comparison = types.SimpleNamespace(id="a:b", a="a", b="b", target=target)
        cases = types.SimpleNamespace(cases={"a": case, "b": case}, comparisons=[comparison])
        result = {"values": [], "comparisons": []}
        micro.publish(cases, {"a": a, "b": b}, result)
        return result["comparisons"]

    def test_a_margin_within_what_a_case_differs_from_itself_gets_no_verdict(self):
        # Both are slower together, in a third of the rounds: the ratio knows nothing of it.
        both, target = [1.0, 1.0, 1.2] * 12, {"kind": "at most", "value": 1.0}
        (within, ) = self.published("ns", [one * 0.95 for one in both], both, target)
        (beyond, ) = self.published("ns", [one * 0.5 for one in both], both, target)
        self.assertEqual((within["high"] < 1, within["verdict"]), (True, "below the detectable effect"))
        self.assertAlmostEqual(within["detectable"], 0.2)
        self.assertEqual(beyond["verdict"], "met")

    def test_cases_that_do_not_move_have_no_noise(self):
        (row, ) = self.published("ns", [0.95] * 36, [1.0] * 36, {"kind": "at most", "value": 1.0})
        self.assertEqual((row["verdict"], row["noise"], row["detectable"]), ("met", {"low": 1.0, "high": 1.0}, 0))

    def test_tells_times_as_times(self):
        self.assertEqual([row["unit"] for row in self.published("ns")], ["ns per operation"])

    def test_tells_a_counter_in_its_own_unit(self):
        (row, ) = self.published("/s")
        self.assertEqual((row["unit"], row["median"]), ("/s", 2.0))


class Cases(unittest.TestCase):
    def rounds(self, **needs):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "src/some_bench"
            program.parent.mkdir()
            program.write_text("#!/bin/sh\necho here\n")
            program.chmod(0o755)
            cases = {name: experiment.Case(name, "some_bench", name, **needs) for name in ("here", "absent")}
            return micro.Rounds(types.SimpleNamespace(cases=cases, all_cores=False), {"": pathlib.Path(folder)})

    def test_a_benchmark_that_is_not_there_is_a_mistake(self):
        with self.assertRaisesRegex(Invalid, "'absent' is none of the benchmarks of some_bench"):
            self.rounds()

    def test_one_that_needs_a_package_is_skipped_without_it(self):
        self.assertEqual(self.rounds(needs="libx-dev").lacking, {"absent": "libx-dev was not there when it was built"})
