"""Comparing: a regression that was planted fails the gate, and a machine's mood does not."""

import contextlib
import copy
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from keel_lab import experiment, fixtures, judge, machine, measure, micro, pairs, record, results, revisions, self_test
from keel_lab.kinds import KINDS

SERVER = pathlib.Path(__file__).with_name("fake_server.py")
OWN = """\
id: own
question: Is it slower?
work: {path: /, connections: 2, expect: {status: 200, type: text/plain, body: hello}}
sides:
  ours: {under_test: true, serve: [bench/own_service, "{port}"]}
  theirs: {serve: [bench/own_service, "{port}"]}
comparisons:
  - {a: ours, b: theirs, of: cpu_us}
"""


def result(name, values, cpu="x", complete=True, unit="ns"):
    made = results.new(name, "?", [], "quick", "abc", {"cpu": cpu}, {})
    made["values"].append(judge.value("v", "a value", unit, values))
    made["complete"] = complete
    return {name: made}


def records(found):
    return {name: record.of(one) for name, one in found.items()}


class Folders(unittest.TestCase):
    def worse(self, *sides, gate=0.05):
        return revisions.worse_between(*map(records, sides), gate)[1]

    def test_intervals_that_do_not_touch_and_are_beyond_the_gate_are_worse(self):
        self.assertEqual(len(self.worse(result("e", [10, 10.1, 10.2]), result("e", [12, 12.1, 12.2]))), 1)

    def test_within_the_gate_it_moved_and_is_not_worse(self):
        lines, worse = revisions.worse_between(records(result("e", [10, 10.1, 10.2])),
                                               records(result("e", [10.3, 10.4, 10.5])), 0.05)
        self.assertEqual((len(lines), worse), (1, []))

    def test_intervals_that_touch_are_the_same(self):
        self.assertEqual(self.worse(result("e", [10, 10, 13]), result("e", [12, 12.1, 12.2])), [])

    def test_better_is_not_worse(self):
        self.assertEqual(self.worse(result("e", [12, 12, 12]), result("e", [10, 10, 10])), [])

    def test_of_what_is_done_more_is_better(self):
        for unit in ("per second", "/s", "of the capacity"):
            less, more = (result("e", values, unit=unit) for values in ([10, 10, 10], [12, 12, 12]))
            self.assertEqual((len(self.worse(less, more)), len(self.worse(more, less))), (0, 1))
        less, more = (result("e", values, unit="KB/s") for values in ([10, 10, 10], [12, 12, 12]))
        self.assertEqual((len(self.worse(less, more)), len(self.worse(more, less))), (1, 0), "written to a disk")

    def test_an_interrupted_result_judges_nothing(self):
        self.assertEqual(self.worse(result("e", [10]), result("e", [20], complete=False)), [])

    def test_two_machines_are_not_compared(self):
        with self.assertRaisesRegex(revisions.Invalid, "two machines"):
            self.worse(result("e", [10]), result("e", [10], cpu="y"))

    def test_the_exit_code_says_whether_something_is_worse(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            for name, values in (("base", [10, 10, 10]), ("same", [10, 10, 10]), ("worse", [11, 11, 11])):
                results.save(result("e", values)["e"], pathlib.Path(folder, name, "e.json"))
            self.assertEqual(revisions.main([f"{folder}/base", f"{folder}/same"]), 0)
            self.assertEqual(revisions.main([f"{folder}/base", f"{folder}/worse"]), 1)
            self.assertEqual(revisions.main([f"{folder}/base", f"{folder}/worse", "--gate", "15%"]), 0)
        self.assertIn("WORSE  e: v (ns): 10", said.getvalue())

    def test_what_cannot_be_compared_is_told_with_code_2(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as said:
            for name in ("empty", "other"):
                pathlib.Path(folder, name).mkdir()
            self.assertEqual(revisions.main([f"{folder}/empty", f"{folder}/other"]), 2)
            self.assertEqual(revisions.main([f"{folder}/empty", "HEAD"]), 2)
            for name in ("one", "two"):
                results.save(result("e", [10], complete=name == "one")["e"], pathlib.Path(folder, name, "e.json"))
            self.assertEqual(revisions.main([f"{folder}/one", f"{folder}/two"]), 2)
        self.assertIn("nothing was compared", said.getvalue())
        self.assertIn("no experiment in common", said.getvalue())
        self.assertIn("not one of each", said.getvalue())


class Overlap(unittest.TestCase):
    """Two full runs: how many of the ratios' intervals overlap."""
    def run_of(self, *intervals):
        rows = [
            fixtures.comparison(f"a:b:cpu_us:{number}", (low + high) / 2, low, high)
            for number, (low, high) in enumerate(intervals)
        ]
        return {"plaintext": fixtures.result("plaintext", comparisons=rows)}

    def test_intervals_that_touch_overlap_and_those_beside_each_other_are_listed(self):
        shared, apart = revisions.overlap(records(self.run_of((0.7, 0.8), (0.7, 0.8), (0.7, 0.8))),
                                          records(self.run_of((0.8, 0.9), (0.81, 0.9), (0.5, 0.69))))
        self.assertEqual(shared, 3)
        self.assertEqual(apart, [
            "plaintext: a:b:cpu_us:1: 0.700 to 0.800, and 0.810 to 0.900",
            "plaintext: a:b:cpu_us:2: 0.700 to 0.800, and 0.500 to 0.690"
        ])

    def test_what_only_one_run_has_or_one_did_not_finish_is_not_counted(self):
        one, other = records(self.run_of((0.7, 0.8), (0.7, 0.8))), records(self.run_of((0.7, 0.8)))
        self.assertEqual(revisions.overlap(one, other), (1, []))
        broken = copy.deepcopy(one)
        broken["plaintext"].complete = False
        self.assertEqual(revisions.overlap(one, broken), (0, []))

    def test_the_command_says_the_share_and_the_others(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            for name, high in (("one", 0.8), ("two", 0.65)):
                found = self.run_of((0.7, 0.8), (0.7, 0.8), (0.7, 0.8), (high - 0.05, high))
                results.save(found["plaintext"], pathlib.Path(folder, name, "plaintext.json"))
            revisions.main([f"{folder}/one", f"{folder}/two"])
        self.assertIn("3 of 4 ratios have intervals that overlap (75.0%)", said.getvalue())
        self.assertIn("APART  plaintext: a:b:cpu_us:3: 0.750 to 0.800, and 0.600 to 0.650", said.getvalue())


class Revisions(unittest.TestCase):
    def test_only_our_programs_are_built(self):
        chosen = [experiment.read_all()[name] for name in ("plaintext", "metrics")]
        self.assertEqual([KINDS[one.kind].programs(one) for one in chosen], [{"bench_service"}, {"metric_bench"}])

    def test_each_of_our_sides_is_compared_once_whatever_it_was_compared_with(self):
        one = experiment.read_all()["plaintext"]
        settings = mock.Mock(wants=lambda text: True)
        self.assertEqual([(name, ofs) for (name, _), ofs in pairs.subjects(one, settings).items()],
                         [("keel-uring", ["cpu_us", "user_us"]), ("keel-epoll", ["cpu_us", "user_us"])])

    def test_a_benchmark_that_only_one_revision_has_is_skipped_and_the_others_are_compared(self):
        one = experiment.read_all()["metrics"]
        result = results.new("metrics", "?", [], "quick", "abc", {}, {})
        old = ["counter_add/own_cells:1"]
        lists = {"head": [case.benchmark for case in one.cases.values()], "base": old}
        rows = lambda path, benchmarks, cores: {
            name: {"name": name, "cpu_time": 2.0 if path == "head" else 1.0, "time_unit": "ns"} for name in benchmarks
        }
        with mock.patch.object(micro, "path_of", lambda program, build: build), \
                mock.patch.object(micro, "listed", lambda path: lists[path]), \
                mock.patch.object(micro, "run_round", rows):
            settings = mock.Mock(pairs=2, wants=lambda text: True)
            micro.Micro().compare(one, {"head": "head", "base": "base"}, settings, result, mock.Mock())
        self.assertEqual([row["id"] for row in result["comparisons"]], ["counter:ns"])
        self.assertEqual(result["comparisons"][0]["median"], 2.0)
        self.assertEqual({row["what"] for row in result["skipped"]}, set(one.cases) - {"counter"})
        self.assertIn("none of the benchmarks", result["skipped"][0]["why"])

    def test_a_counter_that_is_0_has_no_ratio_and_the_others_are_compared(self):
        cases = {"none": micro.Case("none", "p", "f", counter="c"), "time": micro.Case("time", "p", "f")}
        one = mock.Mock(cases=cases)
        result = results.new("x", "?", [], "quick", "abc", {}, {})
        row = {"f": {"name": "f", "cpu_time": 2.0, "time_unit": "ns", "c": 0.0}}
        with mock.patch.object(micro, "path_of", lambda program, build: build), \
                mock.patch.object(micro, "listed", lambda path: ["f"]), \
                mock.patch.object(micro, "run_round", lambda *_: row):
            settings = mock.Mock(pairs=2, wants=lambda text: True)
            micro.Micro().compare(one, {"head": "head", "base": "base"}, settings, result, mock.Mock())
        self.assertEqual([row["id"] for row in result["comparisons"]], ["time:ns"])

    def test_a_gate_is_a_share_above_nothing(self):
        self.assertEqual(revisions.gate_of("5%"), 0.05)
        with self.assertRaises(Exception):
            revisions.gate_of("0")


class Gate(unittest.TestCase):
    """`compare BASE HEAD` from its arguments to its code; only the two builds are made up."""
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=self_test.BUILD)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "own.yaml"
        self.file.write_text(OWN)
        self.said = io.StringIO()
        for patch in (mock.patch.object(measure, "DISTURBED", 1e9), mock.patch.object(revisions, "FOLDER", self.folder),
                      mock.patch.object(machine, "facts", lambda build: {"commit": "abc", "cpu": "x"}),
                      mock.patch.object(revisions, "build", self.build),
                      contextlib.redirect_stdout(self.said), contextlib.redirect_stderr(self.said)):
            patch.__enter__()
            self.addCleanup(patch.__exit__, None, None, None)

    def build(self, revision, targets):
        """The revision `burns` takes 0.5 ms of CPU for each request, and `gone` has no service."""
        self.assertEqual(targets, ["own_service"])
        build = self.folder / revision
        program = build / "bench/own_service"
        program.parent.mkdir(parents=True, exist_ok=True)
        if revision != "gone":
            program.write_text(f"#!/bin/sh\nexec {sys.executable} {SERVER} $1 '{revision}'\n")
            program.chmod(0o755)
        return revision, build

    def compare(self, base, head, *more):
        return revisions.main([base, head, f"--experiment={self.file}", f"--build={self_test.BUILD}", "--pairs=6",
                               "--seconds=0.05", *more])

    def test_a_planted_regression_is_code_1_and_a_line(self):
        self.assertEqual(self.compare("none", "burns"), 1, self.said.getvalue())
        self.assertRegex(self.said.getvalue(), r"WORSE  own: ours of head : ours of base, /, CPU per operation: \d")
        self.assertIn("1 compared; 1 significantly worse beyond 5.0%", self.said.getvalue())

    def test_nothing_compared_is_code_2_whatever_the_reason(self):
        self.assertEqual(self.compare("none", "gone", "--pairs=1"), 2)
        self.assertIn("nothing was compared; skipped: ours, /: ours of head needs bench/own_service",
                      self.said.getvalue())
        self.assertEqual(self.compare("none", "none", "--only=another"), 2)
        self.assertIn("nothing was compared: nothing has another in its id", self.said.getvalue())

    def test_a_wrong_answer_is_code_2_and_a_line(self):
        self.assertEqual(self.compare("none", "drops connections", "--pairs=1"), 2)
        self.assertRegex(self.said.getvalue(), r"INVALID  ours, /: ours of head: errors: \d+ closed")
