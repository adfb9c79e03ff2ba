"""Kinds open-loop and capacity: what `keel load` reports becomes rows; what it found wrong makes the run invalid."""

import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from keel_lab import experiment, load_client, measure, results, self_test, sides, wrk_test
from keel_lab.kinds import KINDS

SERVER = pathlib.Path(__file__).with_name("fake_server.py")
FILE = """\
id: x
question: Which?
kind: {kind}
work: {{path: /, connections: 4, expect: {{status: 200, type: text/plain, body: hello}}}}
sides:
  good: {{serve: [{python}, {server}, "{{port}}", none]}}
measure: [good]
{more}
"""
REPORT = {
    "offered": 100,
    "achieved": 99.5,
    "requests": 50,
    "errors": {
        "status": 0,
        "closed": 0
    },
    "latency": {
        "unit": "us",
        "from": "intended",
        "count": 50,
        "percentiles": {
            "50": 10,
            "99": 900,
            "max": 1000
        },
        "cdf": [[10, 0.5], [1000, 1]]
    },
    "series": [{
        "second": 0,
        "latency_max_us": 1000
    }],
    "server_utilisation": 0.5
}
# In the place of keel: writes what it was told as the report, and its arguments beside.
KEEL = """\
#!{python}
import json, os, pathlib, signal, sys, time
here = pathlib.Path({folder!r})
file = next(one for one in sys.argv if one.startswith("--json=")).removeprefix("--json=")
reports = json.loads((here / "reports").read_text())
(here / "own session").write_text(str(os.getsid(0) == os.getpid()))
if (here / "interrupts").exists():  # Ctrl-C for the lab, which then asks this one to end.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getppid(), signal.SIGINT)
    signal.sigwait([signal.SIGINT])
    if (here / "interrupts").read_text() == "never ends":
        time.sleep(60)
closed = not any(one.startswith(("--rate", "--steps")) for one in sys.argv)
pathlib.Path(file).write_text(json.dumps(reports["closed" if closed else "open"]))
with open(here / "arguments", "a") as out:
    print(*sys.argv[1:], file=out)
"""


class Progress:
    def steps(self, line, count, seconds):
        return lambda: None


class Load(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=self_test.BUILD)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        program = self.folder / "tools/keel/keel"
        program.parent.mkdir(parents=True)
        program.write_text(KEEL.format(python=sys.executable, folder=str(self.folder)))
        program.chmod(0o755)

    def measured(self, kind, more, **reports):
        (self.folder / "reports").write_text(json.dumps(reports))
        text = FILE.format(kind=kind, more=more, python=sys.executable, server=SERVER)
        one = experiment.parse("x.yaml", text, {})
        result = results.new("x", "?", [], "quick", "abc", {}, {})
        KINDS[kind].measure(one, measure.Settings(build=self.folder, profile="quick"), result, Progress())
        self.assertEqual(results.check(result), [])
        return result

    def test_an_open_and_a_closed_loop_are_two_distributions_that_a_bound_compares(self):
        closed = REPORT | {
            "offered": None,
            "latency": REPORT["latency"] | {
                "percentiles": {
                    "50": 10,
                    "99": 30,
                    "max": 1000
                }
            }
        }
        bounds = "bounds: [{a: 'good:100 per second', b: 'good:closed loop', of: p99, target: at least 10}]"

        result = self.measured("open-loop", f"rates: [100]\nclosed: true\n{bounds}", open=REPORT, closed=closed)

        self.assertEqual([row["id"] for row in result["distributions"]], ["good:100 per second", "good:closed loop"])
        self.assertEqual((result["bounds"][0]["ratio"], result["bounds"][0]["verdict"]), (30, "met"))
        arguments = (self.folder / "arguments").read_text()
        for wanted in ("--rate=100", "--connections=4", "--expect-body=hello", "--expect-status=200",
                       f"--cores={sides.CLIENT_CORE}"):
            self.assertIn(wanted, arguments)

    def by_wrk(self, program):
        path = self.folder / "wrk"
        if program:
            path.write_text(program)
            path.chmod(0o755)
        bounds = "bounds: [{a: 'good:100 per second', b: 'good:wrk', of: p99, target: within 0.5}]"
        search = f"{self.folder}:{os.environ['PATH']}" if program else str(self.folder)
        with mock.patch.dict(os.environ, {"PATH": search}):
            return self.measured("open-loop", f"rates: [100]\nwrk: [good]\n{bounds}", open=REPORT)

    def test_what_wrk_says_is_a_distribution_that_a_bound_compares(self):
        result = self.by_wrk(f"#!/bin/sh\ncat <<E\n{wrk_test.SAID.replace('84.62ms', '600.00us')}E\n")
        row = result["distributions"][1]
        self.assertEqual((row["id"], row["offered"], row["percentiles"]["99"]), ("good:wrk", None, 600))
        self.assertGreaterEqual(row["client_utilisation"], 0)
        self.assertEqual((result["bounds"][0]["ratio"], result["bounds"][0]["verdict"]), (1.5, "met"))

    def test_a_wrk_that_fails_is_invalid_and_one_that_is_not_there_is_skipped(self):
        result = self.by_wrk("#!/bin/sh\necho planted\nexit 3\n")
        self.assertIn("wrk ended with code 3: planted", result["invalid"][0]["why"])
        (self.folder / "wrk").unlink()
        result = self.by_wrk("")
        self.assertEqual(([row["what"] for row in result["skipped"]], result["bounds"]), (["good:wrk"], []))

    def test_each_share_of_the_capacity_is_a_distribution(self):
        steps = [REPORT | {"step": None}, REPORT | {"step": 0.5}, REPORT | {"step": 1}]
        result = self.measured("capacity", "percent: [50, 100]", open={"capacity": 1234, "steps": steps})
        self.assertEqual([row["id"] for row in result["distributions"]], ["good:50 %", "good:100 %"])
        self.assertEqual((result["values"][0]["id"], result["values"][0]["median"]), ("good:capacity", 1234))

    def test_of_several_windows_the_one_with_the_median_p99_is_published_with_the_errors_of_all(self):
        def window(p99, unanswered):
            latency = REPORT["latency"] | {"percentiles": {"50": 10, "99": p99, "max": 30000}}
            return REPORT | {"step": 0.8, "latency": latency, "errors": {"unanswered": unanswered}}

        steps = [window(900, 1), window(20000, 2), window(1000, 0)]
        result = self.measured("capacity", "percent: [80]\nwindows: 3", open={"capacity": 1234, "steps": steps})
        row, = result["distributions"]
        self.assertEqual((row["id"], row["percentiles"]["99"], row["errors"]), ("good:80 %", 1000, {"unanswered": 3}))
        self.assertEqual(result["values"][1]["values"], [900, 20000, 1000])
        self.assertIn("--steps=80,80,80", (self.folder / "arguments").read_text())

    def test_an_interrupt_keeps_the_windows_that_were_whole(self):
        steps = [REPORT | {"step": None, "complete": True}, REPORT | {"step": 0.5, "complete": True},
                 REPORT | {"step": 0.8, "complete": True}, REPORT | {"step": 0.8, "complete": False}]
        (self.folder / "interrupts").write_text("")
        (self.folder / "reports").write_text(json.dumps({"open": {"capacity": 1234, "steps": steps}}))
        result = self.interrupted()
        self.assertEqual([row["id"] for row in result["distributions"]], ["good:50 %", "good:80 %"])
        self.assertEqual({row["id"]: row["values"] for row in result["values"]}, {"good:capacity": [1234]})

    def test_an_interrupt_before_the_capacity_is_known_leaves_nothing(self):
        (self.folder / "interrupts").write_text("")
        (self.folder / "reports").write_text(json.dumps({"open": {"steps": [REPORT | {"complete": False}]}}))
        self.assertEqual(self.interrupted()["distributions"], [])

    def test_an_interrupt_of_a_client_that_does_not_end_is_one_all_the_same(self):
        (self.folder / "interrupts").write_text("never ends")
        (self.folder / "reports").write_text(json.dumps({"open": {}}))
        with mock.patch.object(load_client, "INTERRUPTED_PATIENCE", 0.5):
            self.assertEqual(self.interrupted()["distributions"], [])

    def interrupted(self):
        text = FILE.format(kind="capacity", more="percent: [50, 80, 100]\nwindows: 2", python=sys.executable,
                           server=SERVER)
        result = results.new("x", "?", [], "quick", "abc", {}, {})
        with self.assertRaises(KeyboardInterrupt):
            KINDS["capacity"].measure(experiment.parse("x.yaml", text, {}),
                                      measure.Settings(build=self.folder, profile="quick"), result, Progress())
        self.assertEqual((results.check(result), result["invalid"]), ([], []))
        # A Ctrl-C of the terminal would be its first one, and the lab's its second, which ends it without a report.
        self.assertEqual((self.folder / "own session").read_text(), "True")
        return result

    def test_the_capacity_is_found_over_connections_of_its_own(self):
        text = FILE.replace("connections: 4,", "client: load, refusal: 503, connections: 4, capacity_connections: 2,")
        text = text.replace(", type: text/plain", "")
        refused = {"unit": "us", "percentiles": {"99": 7000}}
        step = REPORT | {"step": 2, "errors": {"status": 1}, "statuses": {"200": 49, "503": 1},
                         "latency_of_other_statuses": refused}
        with mock.patch(f"{__name__}.FILE", text):
            closed = {"achieved": 110, "requests": 11, "errors": {"status": 1}, "statuses": {"200": 10, "503": 1}}
            result = self.measured("capacity", "percent: [200]", closed=REPORT | closed,
                                   open={"capacity": 100, "steps": [step]})
            self.assertEqual(result["invalid"], [])
            found, shares = (self.folder / "arguments").read_text().splitlines()
            self.assertIn("--connections=2 ", found)
            self.assertIn("--connections=4 ", shares)
            self.assertIn("--capacity=100", shares)
            values = {row["id"]: row["median"] for row in result["values"]}
            self.assertEqual(values["good:200 %:refused:p99"], 7000)
            result = self.measured("capacity", "percent: [200]", open={"capacity": 100, "steps": [step]},
                                   closed=REPORT | {"errors": {"status": 1}, "statuses": {"500": 1}})
            self.assertIn("1 status", result["invalid"][0]["why"])

    def test_an_open_loop_tells_the_capacity_where_it_is_what_is_answered_in_time(self):
        def step(share, achieved, p99):
            latency = REPORT["latency"] | {"percentiles": {"50": 10, "99": p99, "max": 30000}}
            return REPORT | {"step": share, "offered": 100 * share, "achieved": achieved, "latency": latency}

        def capacity(*steps):
            result = self.measured("capacity", "percent: [80]\ncapacity_p99_ms: 10", closed=REPORT | {"achieved": 200},
                                   open={"capacity": 100, "steps": [*steps, step(0.8, 80, 10)]})
            lines = (self.folder / "arguments").read_text().splitlines()
            asked = [line for line in lines if "--steps=80 " in f"{line} "]
            (self.folder / "arguments").write_text("")
            return result, asked

        # Of 90 % too little was answered, and of 95 % too late.
        result, asked = capacity(step(0.5, 50, 900), step(0.85, 85, 9900), step(0.9, 88, 900), step(0.95, 95, 10100))
        self.assertIn("--capacity=170", asked[0])
        # What is above a share that was too much does not count, nor does one fortunate or unfortunate window.
        result, asked = capacity(step(0.5, 50, 900), step(0.6, 60, 90000), step(0.7, 70, 900))
        self.assertIn("--capacity=100", asked[0])
        good, late = step(0.9, 90, 900), step(0.9, 90, 90000)
        result, asked = capacity(step(0.5, 50, 900), late, good, late)
        self.assertIn("--capacity=160", asked[0])
        result, asked = capacity(step(0.5, 50, 900), good, late, good)
        self.assertIn("--capacity=180", asked[0])
        self.assertEqual({row["id"]: row["median"] for row in result["values"]}["good:closed loop"], 200)
        result = self.measured("capacity", "percent: [80]\ncapacity_p99_ms: 10", closed=REPORT | {"achieved": 200},
                               open={"capacity": 100, "steps": [step(0.5, 50, 20000)]})
        self.assertIn("an open loop of 50 % of 200", result["invalid"][0]["why"])

    def test_what_was_refused_is_not_within_the_capacity(self):
        def step(share, refused):
            statuses = {"200": 100 - refused, "503": refused} if refused else {"200": 100}
            return REPORT | {"step": share, "offered": 100 * share, "achieved": 100 * share, "requests": 100,
                             "errors": {"status": refused} if refused else {}, "statuses": statuses}

        refusal = FILE.replace("connections: 4,", "client: load, refusal: 503, connections: 4,").replace(
            ", type: text/plain", "")
        with mock.patch(f"{__name__}.FILE", refusal):
            closed = REPORT | {"achieved": 200, "statuses": {"200": 100}}
            result = self.measured("capacity", "percent: [120]\ncapacity_p99_ms: 10", closed=closed,
                                   open={"capacity": 100, "steps": [step(0.7, 1), step(0.8, 2), step(1.2, 20)]})
        self.assertEqual(result["invalid"], [])
        self.assertIn("--capacity=140", (self.folder / "arguments").read_text())

    def test_wrong_answers_make_the_run_invalid(self):
        for errors in ({"status": 3}, {"body": 1}, {"closed": 2}):
            result = self.measured("open-loop", "rates: [100]", open=REPORT | {"errors": errors})
            kind, count = next(iter(errors.items()))
            self.assertEqual(result["distributions"], [])
            self.assertIn(f"{count} {kind}", result["invalid"][0]["why"])

    def test_requests_that_came_too_late_are_part_of_an_overload(self):
        result = self.measured("open-loop", "rates: [100]", open=REPORT | {"errors": {"timeout": 3, "unanswered": 2}})
        self.assertEqual((len(result["distributions"]), result["invalid"]), (1, []))

    def test_refusals_are_no_mistake_where_the_work_names_them_and_are_taken_off_the_goodput(self):
        refusal = FILE.replace("connections: 4,", "client: load, refusal: 503, connections: 4,").replace(
            ", type: text/plain", "")
        errors, statuses = {"status": 20}, {"200": 40, "503": 25}
        steps = [REPORT | {"step": None, "statuses": {"200": 50}},
                 REPORT | {"step": 2, "achieved": 200, "requests": 50, "errors": errors, "statuses": statuses}]
        with mock.patch(f"{__name__}.FILE", refusal):
            result = self.measured("capacity", "percent: [200]", open={"capacity": 100, "steps": steps})
            self.assertEqual(result["invalid"], [])
            self.assertEqual({row["id"]: row["median"] for row in result["values"]},
                             {"good:capacity": 100, "good:200 %:goodput": 1.2})
            steps[1]["statuses"] = {"200": 40, "500": 25}
            result = self.measured("capacity", "percent: [200]", open={"capacity": 100, "steps": steps})
            self.assertIn("20 status", result["invalid"][0]["why"])

    def test_no_answer_at_all_is_invalid(self):
        result = self.measured("open-loop", "rates: [100]", open=REPORT | {"requests": 0})
        self.assertIn("no answer", result["invalid"][0]["why"])

    def test_without_keel_the_experiment_is_skipped(self):
        (self.folder / "tools/keel/keel").unlink()
        result = self.measured("open-loop", "rates: [100]")
        self.assertIn("is not built", result["skipped"][0]["why"])
