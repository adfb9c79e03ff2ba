"""Clients against each other: what each says is read right, and one that meets errors makes the run invalid."""

import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from keel_lab import clients, experiment, judge, measure, resources, results, self_test, sides
from keel_lab.load_test import Progress

SERVER = pathlib.Path(__file__).with_name("fake_server.py")
FILE = """\
id: x
question: Which?
kind: clients
work: {{path: /, connections: 4, expect: {{status: 200, type: text/plain, body: hello}}}}
sides:
  good: {{serve: [{python}, {server}, "{{port}}", none]}}
measure: [good]
comparisons:
  - {{a: {a}, b: h2load, of: [rate, client_us], target: {target}}}
"""
WRK = "#!/bin/sh\necho '  1000 requests in 1.00s, 1MB read'; echo 'Requests/sec:   990.5'; echo \"$@\" >> {arguments}\n"
H2LOAD = "#!/bin/sh\necho 'requests: 900 total, 900 started, 900 done, 900 succeeded, {failed} failed, 0 errored'\n"


def parsed(a="wrk", target="within 0.5"):
    return experiment.parse("x.yaml", FILE.format(a=a, target=target, python=sys.executable, server=SERVER), {})


class Clients(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=self_test.BUILD)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        patch = mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"})
        patch.start()
        self.addCleanup(patch.stop)

    def install(self, failed=0):
        for name, text in (("wrk", WRK.format(arguments=self.folder / "arguments")), ("h2load",
                                                                                       H2LOAD.format(failed=failed))):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def measured(self, pairs=2):
        result = results.new("x", "?", [], "quick", "abc", {}, {})
        settings = measure.Settings(build=self_test.BUILD, pairs=pairs)
        clients.Clients().measure(parsed(), settings, result, Progress())
        self.assertEqual(results.check(result), [])
        return result

    def test_counts_and_cpu_are_compared_in_rounds(self):
        self.install()
        result = self.measured()
        self.assertEqual([row["id"] for row in result["comparisons"]], ["wrk:h2load:rate", "wrk:h2load:client_us"])
        row = result["comparisons"][0]
        self.assertEqual((row["a_value"], row["b_value"], len(row["pairs"])), (990.5, 900.0, 2))
        self.assertIn("-c4 -d1s http://127.0.0.1:", (self.folder / "arguments").read_text())

    def test_a_margin_within_what_a_client_differs_from_itself_gets_no_verdict(self):
        def rounds(*rates):
            return [{name: {"rate": rate * share, "client_us": 1, "others_used": 0}
                     for name, share in (("wrk", 0.95), ("h2load", 1))} for rate in rates]

        def verdict(*rates):
            result = results.new("x", "?", [], "quick", "abc", {}, {})
            clients.publish(parsed(target="at most 1.0"), rounds(*rates), result)
            return result["comparisons"][0]["verdict"]

        self.assertEqual(verdict(*[1000] * 12), "met")
        self.assertEqual(verdict(*[1000, 1000, 1200] * 4), "below the detectable effect")

    def test_a_client_that_meets_errors_makes_it_invalid(self):
        self.install(failed=3)
        result = self.measured()
        self.assertIn("h2load met errors", result["invalid"][0]["why"])
        self.assertEqual(result["comparisons"], [])

    def test_a_client_that_is_not_there_is_skipped_and_the_others_are_measured(self):
        self.install()
        with mock.patch.object(clients, "missing", lambda name, build: "h2load" if name == "h2load" else ""):
            result = self.measured()
        self.assertEqual([row["what"] for row in result["skipped"]], ["h2load"])
        self.assertEqual((result["comparisons"], result["invalid"]), ([], []))

    def test_what_a_client_says_is_read_right(self):
        self.assertEqual(clients.counted("wrk", "  17 requests in 1.0s\nRequests/sec: 16.5\n", ""), (17, 16.5, 0))
        self.assertEqual(clients.counted("h2load", "requests: 9 done, 9 succeeded, 0 failed", ""), (9, 9.0, 0))
        (self.folder / "report.json").write_text(
            '{"requests": 9, "achieved": 8.5, "errors": {}, "client_busy_polling": 0.25}')
        self.assertEqual(clients.counted("keel-uring", "", self.folder), (9, 8.5, 0.25 * clients.SECONDS))
        for said in ("17 requests in 1s\nRequests/sec: 16\nNon-2xx or 3xx responses: 3", "unable to connect"):
            with self.assertRaisesRegex(sides.Invalid, "wrk met errors, or said something else"):
                clients.counted("wrk", said, "")

    def test_an_unknown_client_is_a_mistake(self):
        with self.assertRaisesRegex(Exception, "no client ab"):
            parsed("ab")


class Within(unittest.TestCase):
    def test_the_whole_interval_is_near_enough_to_1_or_not_or_partly(self):
        target = judge.target_of("within 0.03")
        for low, high, wanted in ((0.98, 1.02, "met"), (0.9, 0.96, "missed"), (1.04, 1.1, "missed"),
                                  (0.96, 1.0, "undecided"), (0.97, 1.03, "met")):
            self.assertEqual(judge.by_interval(target, low, high), wanted, (low, high))


class Cpu(unittest.TestCase):
    def test_the_clock_of_a_process_runs_with_its_cpu(self):
        before = resources.cpu_of(os.getpid())
        while resources.cpu_of(os.getpid()) - before < 0.02:
            pass
        self.assertGreater(resources.cpu_of(os.getpid()), before)
