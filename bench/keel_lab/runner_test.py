"""Whole runs against small servers with planted faults: a side that misbehaves is a row of the result, never a hang."""

import contextlib
import dataclasses
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from keel_lab import counters, experiment, machine, measure, progress, results, run, runner, self_test, sides
from keel_lab.kinds import KINDS

SERVER = pathlib.Path(__file__).with_name("fake_server.py")
FILE = """\
id: x
question: Which?
work: {{path: /, connections: 4, {work} expect: {{status: 200, type: text/plain, body: hello}}}}
sides:
  good: {{serve: [{python}, {server}, "{{port}}", none]}}
  bad: {{ready: /ready, log: "{{folder}}/log", serve: [{python}, {server}, "{{port}}", {fault}, "{{folder}}/log"]}}
comparisons:
  - {{a: bad, b: good, of: [cpu_us, rate], target: at most 100}}
"""


class Whole(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=self_test.BUILD)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for patch in (
                mock.patch.object(measure, "DISTURBED", 1e9),  # Tests run beside others.
                mock.patch.object(machine, "facts", lambda build: {
                    "commit": "abc",
                    "cpu": "x"
                })):
            patch.start()
            self.addCleanup(patch.stop)
        self.out = io.StringIO()

    def one(self, fault, work=""):
        return experiment.parse("x.yaml", FILE.format(fault=fault, work=work, python=sys.executable, server=SERVER), {})

    def run_it(self, fault, work="", pairs=1):
        settings = runner.settings_of("quick", self_test.BUILD, pairs=pairs, seconds=0.05)
        with contextlib.redirect_stderr(self.out):
            code = runner.run([self.one(fault, work)], settings, self.folder, say=lambda text: None)
        return code, results.load(self.folder / "x.json")

    def why(self, fault, work=""):
        code, result = self.run_it(fault, work)
        self.assertEqual((code, result["complete"], result["comparisons"]), (1, True, []), result["invalid"])
        return "\n".join(row["why"] for row in result["invalid"])

    def test_two_sides_that_behave_are_compared(self):
        code, result = self.run_it("none", pairs=2)

        self.assertEqual((code, result["invalid"], result["complete"]), (0, [], True))
        self.assertEqual([row["id"] for row in result["comparisons"]], ["bad:good:cpu_us", "bad:good:rate"])
        row = result["comparisons"][0]
        self.assertEqual((len(row["ratios"]), row["verdict"], row["target"]["value"]), (2, "undecided", 100))
        self.assertGreater(row["pairs"][0]["a"]["rate"], 0)
        self.assertGreater(row["noise"]["low"], 0)
        wanted = {f"{side}:{what}" for side in ("bad", "good") for what in ("cpu", "rss", "switches")}
        self.assertEqual({row["id"] for row in result["series"]}, wanted)
        self.assertIn("cpu", result["machine"])
        self.assertEqual(result["settings"]["pairs"], 2)
        self.assertIn("left)", self.out.getvalue())

    def counted(self, pairs=1):
        """The result of a comparison of system calls and of CPU."""
        content = FILE.format(fault="none", work="", python=sys.executable, server=SERVER)
        one = experiment.parse("x.yaml", content.replace("[cpu_us, rate]", "[cpu_us, system_calls]"), {})
        with contextlib.redirect_stderr(self.out):
            runner.run([one],
                       runner.settings_of("quick", self_test.BUILD, pairs=pairs, seconds=0.05),
                       self.folder,
                       say=lambda text: None)
        return results.load(self.folder / "x.json")

    def test_system_calls_are_counted_in_runs_of_their_own(self):
        if why := counters.system_calls(self_test.BUILD / "bench")[1]:
            self.skipTest(why)
        cpu, calls = self.counted()["comparisons"]
        self.assertEqual((cpu["of"], calls["of"]), ("cpu_us", "system_calls"))
        self.assertGreaterEqual(calls["a_value"], 2, "it reads and answers each request by itself")
        self.assertNotIn("system_calls", cpu["pairs"][0]["a"], "nothing counts while CPU time is measured")

    def test_system_calls_that_are_not_permitted_are_skipped_with_a_reason(self):
        with mock.patch.object(machine, "system_call_tracepoint", lambda: 0):
            result = self.counted()
        self.assertEqual([row["of"] for row in result["comparisons"]], ["cpu_us"])
        self.assertEqual([row["what"] for row in result["skipped"]], ["bad : good, /: system calls"])
        self.assertIn("needs root", result["skipped"][0]["why"])

    def test_a_side_that_answers_a_wrong_body_is_invalid(self):
        self.assertIn("bad: /: a wrong answer: 200 text/plain b'HELLO'", self.why("wrong body"))

    def test_what_nothing_has_in_its_id_is_a_mistake_and_the_result_before_stays(self):
        (self.folder / "x.json").write_text("before")
        settings = runner.settings_of("quick", self_test.BUILD, pairs=1, seconds=0.05, only=("bda", "odog"))
        with contextlib.redirect_stderr(self.out):
            code = runner.run([self.one("none")], settings, self.folder, say=self.fail)
        self.assertEqual((code, (self.folder / "x.json").read_text()), (2, "before"))
        self.assertIn("--only: nothing of these experiments has bda or odog in its id", self.out.getvalue())

    def test_a_folder_that_cannot_be_made_is_a_mistake_before_anything_is_measured(self):
        (self.folder / "file").write_text("")
        settings = runner.settings_of("quick", self_test.BUILD, pairs=1, seconds=0.05)
        with mock.patch.object(runner, "run_one", self.fail), self.assertRaises(OSError):
            runner.run([self.one("none")], settings, self.folder / "file/results", say=self.fail)

    def test_a_side_that_answers_a_wrong_body_only_under_load_is_invalid(self):
        self.assertRegex(self.why("wrong body later"), r"bad: errors: \d+ body")

    def test_a_side_that_drops_connections_is_invalid(self):
        self.assertRegex(self.why("drops connections"), r"bad: errors: \d+ closed")

    def test_a_side_that_loses_one_line_of_its_log_is_invalid(self):
        self.assertRegex(self.why("loses log lines", "log_lines: true,"),
                         r"bad: (\d+) requests for / left \d+ lines in the log")

    def test_a_side_that_logs_every_request_is_valid(self):
        settings = runner.settings_of("quick", self_test.BUILD, pairs=1, seconds=0.05)
        one = self.one("none", "log_lines: true,")
        done = measure.run(settings, measure.Half(one.sides["bad"], one.work, self_test.BUILD))
        self.assertGreater(done["requests"], 0)

    def posted(self, fault):
        """A run whose every answer 201 promises a row."""
        text = FILE.format(fault=fault, work="rows: data, body: '{n}',", python=sys.executable, server=SERVER)
        text = text.replace('"{folder}/log"]', '"{folder}/log", "{folder}/db"], database: "{folder}/db"')
        one = experiment.parse("x.yaml", text.replace("status: 200, type: text/plain, body: hello", "status: 201"), {})
        settings = runner.settings_of("quick", self_test.BUILD, pairs=1, seconds=0.05)
        return measure.run(settings, measure.Half(one.sides["bad"], one.work, self_test.BUILD))

    def test_a_side_that_has_a_row_for_each_201_is_valid(self):
        self.assertGreater(self.posted("none")["all_requests"], 0)

    def test_a_side_that_loses_one_row_is_invalid(self):
        with self.assertRaisesRegex(sides.Invalid, r"0 rows of data, (\d+) answers 201 and 0 204 left (\d+) rows"):
            self.posted("loses a row")

    def test_a_side_whose_rows_cannot_be_counted_is_invalid(self):
        with mock.patch.object(sides, "count_rows", lambda database, table: None):
            with self.assertRaisesRegex(sides.Invalid, "rows of data cannot be counted"):
                self.posted("none")

    def test_a_side_that_crashes_is_a_row_with_the_last_that_it_said(self):
        why = self.why("crashes")
        self.assertIn("bad: ended during the run with signal SIGABRT", why)
        self.assertIn("it said: assertion failed: planted", why)

    def test_a_side_that_hangs_is_a_row(self):
        with mock.patch.object(measure, "PATIENCE", 0.3):
            self.assertIn("bad: the client had not ended 0.3 s after its window", self.why("hangs"))

    def test_a_side_that_does_not_start_is_a_row(self):
        self.assertRegex(self.why("never starts"), "bad: ended at its start with code 3; it said: cannot bind: planted")

    def test_a_side_that_never_answers_is_a_row(self):
        def impatient(process, port, path, _):
            return wait(process, port, path, seconds=0.3)

        wait = sides.wait_for_answer
        with mock.patch.object(sides, "wait_for_answer", impatient):
            self.assertIn("did not answer within 0.3 s", self.why("says nothing"))

    def test_a_side_whose_program_is_not_there_is_skipped(self):
        gone = FILE.format(fault="none", work="", python="bench/nowhere", server=SERVER)
        one = experiment.parse("x.yaml", gone, {})
        with contextlib.redirect_stderr(self.out):
            code = runner.run([one],
                              runner.settings_of("quick", self_test.BUILD, pairs=1, seconds=0.05),
                              self.folder,
                              say=lambda text: None)
        result = results.load(self.folder / "x.json")
        self.assertEqual((code, result["invalid"]), (0, []))
        self.assertIn("bad needs bench/nowhere", result["skipped"][0]["why"])

    def test_an_interrupt_keeps_what_was_measured_and_ends_the_run(self):
        runs = iter(range(100))

        def run(*arguments):
            if next(runs) == 3:  # After one whole pair, and half of one.
                raise KeyboardInterrupt
            return quiet_run(*arguments)

        quiet_run = measure.quiet_run
        with mock.patch("keel_lab.pairs.quiet_run", run):
            code, result = self.run_it("none", pairs=2)
        self.assertEqual((code, result["complete"]), (130, False))
        self.assertEqual([len(row["ratios"]) for row in result["comparisons"]], [1, 1])
        self.assertIn("Interrupted: what was measured of x is in", self.out.getvalue())
        self.assertEqual(self.leftovers(), [])

    def test_an_experiment_that_breaks_is_a_row_and_the_next_one_runs(self):
        settings = runner.settings_of("quick", self_test.BUILD, pairs=1, seconds=0.05)
        second = dataclasses.replace(self.one("none"), id="y")
        kind = KINDS["pairs"]
        measured = kind.measure

        def measure_or_break(one, *more):
            measured(one, *more)
            if one.id == "x":
                raise RuntimeError("planted")

        with contextlib.redirect_stderr(self.out), mock.patch.object(kind, "measure", measure_or_break):
            code = runner.run([self.one("none"), second], settings, self.folder, say=lambda text: None)
        broken, next_one = (results.load(self.folder / name) for name in ("x.json", "y.json"))
        self.assertEqual((code, broken["complete"], next_one["complete"]), (1, False, True))
        self.assertEqual(broken["invalid"], [{"what": "x", "why": "RuntimeError: planted"}])
        self.assertEqual((len(broken["comparisons"]), next_one["invalid"]), (2, []))
        self.assertIn("in measure_or_break", self.out.getvalue())  # Where it broke.

    def leftovers(self):
        """Servers of ours that still run."""
        return [
            pid for pid in os.listdir("/proc")
            if pid.isdigit() and str(SERVER) in self.command_line(pid) and str(os.getpid()) == self.parent(pid)
        ]

    def command_line(self, pid):
        try:
            return pathlib.Path("/proc", pid, "cmdline").read_text()
        except OSError:
            return ""

    def parent(self, pid):
        try:
            return pathlib.Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            return ""


class Progress(unittest.TestCase):
    def test_the_time_left_is_corrected_by_how_wrong_the_plan_was(self):
        now = 0.0
        shown = progress.Progress(100, io.StringIO(), lambda: now)
        self.assertIsNone(shown.left())
        step = shown.steps("one", 2, 50)
        step()
        now = 50.0  # Twice as long as planned.
        self.assertEqual(shown.left(), 150)
        step()
        now = 100.0
        self.assertEqual(shown.left(), 100)

    def test_durations_read_well(self):
        self.assertEqual([progress.duration(seconds) for seconds in (5, 65, 3660)], ["5 s", "1 min 05 s", "1 h 01 min"])


class Plan(unittest.TestCase):
    """A full run can be done twice in an evening."""
    def test_all_of_the_full_profile_takes_at_most_75_minutes(self):
        settings = runner.settings_of("full", self_test.BUILD)
        planned = run.plan(experiment.of_profile(experiment.read_all().values(), "full"), settings)
        self.assertLessEqual(sum(seconds for seconds, _ in planned), 75 * 60, planned)

    def test_the_quick_profile_takes_at_most_10_minutes(self):
        settings = runner.settings_of("quick", self_test.BUILD)
        planned = run.plan([one for one in experiment.read_all().values() if one.profile == "quick"], settings)
        self.assertLessEqual(sum(seconds for seconds, _ in planned), 10 * 60, planned)

    def test_the_plan_has_a_line_for_each_experiment_and_the_sum(self):
        chosen = [experiment.read_all()[name] for name in ("stall", "plaintext")]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            run.print_plan(chosen, runner.settings_of("full", self_test.BUILD))
        lines = out.getvalue().splitlines()
        self.assertEqual([line.split()[-1] for line in lines[:2]], ["plaintext", "stall"])
        self.assertIn("in all", lines[2])

    def test_twelve_pairs_stay_in_both_profiles(self):
        self.assertEqual([runner.PROFILES[name]["pairs"] for name in ("quick", "full")], [12, 12])


class OfTheDocument(unittest.TestCase):
    """docs/lab.md promises that its example runs."""
    def test_the_example_of_ten_lines_runs_against_a_small_server(self):
        text = (experiment.ROOT / "docs/lab.md").read_text()
        example = next(block for block in text.split("```yaml\n")[1:]
                       if block.startswith("id: own\n")).partition("```")[0]
        self.assertLessEqual(len(example.splitlines()), 10)
        with tempfile.TemporaryDirectory(dir=self_test.BUILD) as folder:
            for version in ("new", "old"):
                program = pathlib.Path(folder, version, "service")
                program.parent.mkdir()
                program.write_text(f"#!/bin/sh\nexec {sys.executable} {SERVER} ${{1#--port=}} none\n")
                program.chmod(0o755)
            file = pathlib.Path(folder, "own.yaml")
            file.write_text(example)
            settings = runner.settings_of("quick", self_test.BUILD, pairs=1, seconds=0.05)
            with contextlib.redirect_stderr(io.StringIO()), mock.patch.object(measure, "DISTURBED", 1e9):
                code = runner.run(experiment.choose([str(file)]), settings, folder, say=lambda text: None)
            result = results.load(pathlib.Path(folder, "own.json"))
        self.assertEqual((code, result["invalid"], [row["id"] for row in result["comparisons"]]),
                         (0, [], ["new:old:cpu_us"]))
