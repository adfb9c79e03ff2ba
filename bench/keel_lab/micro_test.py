import types
import unittest

from keel_lab import micro


class Publishing(unittest.TestCase):
    def published(self, unit):
        case = types.SimpleNamespace(benchmark="bench", unit=unit)
        comparison = types.SimpleNamespace(id="a:b", a="a", b="b", target=None)
        experiment = types.SimpleNamespace(cases={"a": case, "b": case}, comparisons=[comparison])
        result = {"values": [], "comparisons": []}
        micro.publish(experiment, {"a": [2.0] * 12, "b": [1.0] * 12}, result)
        return result["comparisons"]

    def test_tells_times_as_times(self):
        self.assertEqual([row["unit"] for row in self.published("ns")], ["ns per operation"])

    def test_tells_a_counter_in_its_own_unit(self):
        (row, ) = self.published("/s")
        self.assertEqual((row["unit"], row["median"]), ("/s", 2.0))


if __name__ == "__main__":
    unittest.main()
