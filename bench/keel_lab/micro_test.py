import pathlib
import re
import tempfile
import types
import unittest

from keel_lab import experiment, judge, micro, results, show, sides
from keel_lab.sides import Invalid

CORES = len(sides.CORES)
# What of a benchmark's name says how many threads it has; their pools have one more, which brings the work.
THREADS = re.compile(r"(?:threads|threads_max|producers|consumers):(\d+)")


def published(a, b=None, of_the_ratio=None, added_target=None, **of_a):
    """The result of rounds of one case or two; `of_the_ratio`: a target."""
    cases = {"a": micro.Case("a", "p", "bench", **of_a), "b": micro.Case("b", "p", "other")}
    target = judge.target_of(of_the_ratio) if of_the_ratio else None
    comparison = types.SimpleNamespace(id="a:b:ns", a="a", b="b", target=target, added_target=added_target)
    result = results.new("x", "?", [], "quick", "abc", {}, {})
    micro.publish(types.SimpleNamespace(cases=cases, comparisons=[comparison]), {"a": a} | ({"b": b} if b else {}),
                  result)
    assert results.check(result) == [], results.check(result)
    return result


class Publishing(unittest.TestCase):
    def test_tells_times_as_times(self):
        (row, ) = published([2.0] * 12, [1.0] * 12)["comparisons"]
        self.assertEqual(row["unit"], "ns per operation")

    def test_tells_a_counter_in_its_own_unit(self):
        (row, ) = published([2.0] * 12, [1.0] * 12, unit="/s")["comparisons"]
        self.assertEqual((row["unit"], row["median"]), ("/s", 2.0))

    def test_a_margin_within_what_a_case_differs_from_itself_gets_no_verdict(self):
        # Both are slower together, in a third of the rounds: the ratio knows nothing of it.
        both = [1.0, 1.0, 1.2] * 12
        within = published([one * 0.95 for one in both], both, "at most 1.0")["comparisons"][0]
        beyond = published([one * 0.5 for one in both], both, "at most 1.0")["comparisons"][0]
        self.assertEqual((within["high"] < 1, within["verdict"]), (True, "below the detectable effect"))
        self.assertAlmostEqual(within["detectable"], 0.2)
        self.assertEqual(beyond["verdict"], "met")

    def test_cases_that_do_not_move_have_no_noise(self):
        (row, ) = published([0.95] * 36, [1.0] * 36, "at most 1.0")["comparisons"]
        self.assertEqual((row["verdict"], row["noise"], row["detectable"]), ("met", {"low": 1.0, "high": 1.0}, 0))


class Targets(unittest.TestCase):
    """Of a value by itself, in its unit."""
    def value(self, values, limit=5.0, **of_a):
        target = {"kind": "at most", "value": limit}
        result = published(values, target=target, **of_a)
        return result["values"][0] | {"text": show.text(result)}

    def test_the_whole_interval_decides(self):
        for values, verdict in (([4.0] * 36, "met"), ([6.0] * 36, "missed"), ([4.0, 6.0] * 18, "undecided"),
                                ([5.0] * 36, "met")):
            row = self.value(values)
            self.assertEqual((row["verdict"], row["target"]), (verdict, {"kind": "at most", "value": 5.0}))
            self.assertIn(f"at most 5: {verdict}", row["text"])

    def test_too_few_rounds_decide_nothing(self):
        self.assertEqual(self.value([4.0] * 3)["verdict"], "undecided")

    def test_nothing_at_all_can_be_the_target(self):
        none = {"limit": 0.0, "unit": "allocations"}
        self.assertEqual([self.value([one] * 36, **none)["verdict"] for one in (0.0, 0.5)], ["met", "missed"])

    def test_what_a_case_has_beyond_another_can_have_one(self):
        limit = {"kind": "at most", "value": 100.0}
        for beyond, verdict in ((90.0, "met"), (110.0, "missed"), (-5.0, "met")):
            row = published([1000.0 + beyond] * 36, [1000.0] * 36, added_target=limit)["values"][-1]
            self.assertEqual((row["id"], row["median"], row["unit"], row["verdict"]),
                             ("a:b:ns:added", beyond, "ns", verdict))

    def test_a_value_without_one_has_no_verdict(self):
        self.assertNotIn("verdict", published([4.0] * 36)["values"][0])


class Oversubscription(unittest.TestCase):
    def rows(self, threads):
        result = published([2.0] * 12, [1.0] * 12, threads=threads)
        return result["values"] + result["comparisons"], show.text(result)

    def test_more_threads_than_cores_are_labelled(self):
        (a, b, comparison), text = self.rows(CORES + 1)
        label = f"{CORES + 1} threads on {CORES} cores"
        self.assertEqual((a["oversubscribed"], comparison["oversubscribed"]), (label, label))
        self.assertNotIn("oversubscribed", b)
        self.assertEqual(text.count(f"oversubscribed: {label}"), 2)

    def test_as_many_threads_as_cores_are_not(self):
        rows, text = self.rows(CORES)
        self.assertFalse(any("oversubscribed" in row for row in rows))
        self.assertNotIn("oversubscribed", text)

    def test_every_case_whose_benchmark_has_threads_says_how_many(self):
        named = 0
        for one in experiment.read_all().values():
            for case in one.cases.values() if one.kind == "micro" else ():
                numbers = [int(number) for number in THREADS.findall(case.benchmark)]
                named += sum(numbers) > 1
                self.assertGreaterEqual(case.threads, sum(numbers, 0) or 1, f"{one.id}: {case.name}")
        self.assertGreater(named, 20)


PROGRAM = """#!/usr/bin/python3
import json, os, sys
if "--benchmark_list_tests=true" in sys.argv:
    print("here\\nthreads:2")
else:
    names = [name for name in ("here", "threads:2") if name in sys.argv[1].replace("\\\\", "")]
    print(json.dumps({"benchmarks": [{"name": name, "cpu_time": len(os.sched_getaffinity(0)), "time_unit": "ns"}
                                     for name in names]}))
"""


class Cases(unittest.TestCase):
    def rounds(self, *cases):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name) / "src/some_bench"
        program.parent.mkdir()
        program.write_text(PROGRAM)
        program.chmod(0o755)
        cases = {case.name: case for case in cases}
        return micro.Rounds(types.SimpleNamespace(cases=cases), {"": pathlib.Path(folder.name)})

    def case(self, name, **more):
        return micro.Case(name, "some_bench", name, **more)

    def test_a_benchmark_that_is_not_there_is_a_mistake(self):
        with self.assertRaisesRegex(Invalid, "'absent' is none of the benchmarks of some_bench"):
            self.rounds(self.case("here"), self.case("absent"))

    def test_one_that_needs_a_package_is_skipped_without_it(self):
        self.assertEqual(self.rounds(self.case("here"), self.case("absent", needs="libx-dev")).lacking,
                         {"absent": "libx-dev: not here, or not when it was configured"})

    def test_several_of_one_benchmark_take_the_time_of_one(self):
        one, other = self.case("here"), self.case("p99")
        same = micro.Case("p99", "some_bench", "here", "p99")
        seconds = lambda *cases: micro.Micro().seconds(types.SimpleNamespace(cases={case.name: case for case in cases}),
                                               types.SimpleNamespace(pairs=12))
        self.assertEqual(seconds(one, same), seconds(one))
        self.assertEqual(seconds(one, other), 2 * seconds(one))

    def test_one_with_threads_has_all_cores_and_any_other_has_one(self):
        rounds = self.rounds(self.case("here"), self.case("threads:2", threads=2))
        rounds.run()
        rounds.run()
        self.assertEqual(rounds.values, {("", "here"): [1, 1], ("", "threads:2"): [CORES, CORES]})
