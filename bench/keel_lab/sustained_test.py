"""Kind sustained: what is sampled each second becomes series and slopes, also of a run that was interrupted."""

import contextlib
import functools
import io
import pathlib
import sys
import tempfile
import time
import unittest
from unittest import mock

from keel_lab import experiment, measure, progress, resources, results, self_test, sustained
from keel_lab.measure import Settings

SERVER = pathlib.Path(__file__).with_name("fake_server.py")
FILE = """\
id: x
question: Does it grow?
kind: sustained
seconds: {seconds}
work: {{path: /, connections: 2, expect: {{status: 200, type: text/plain, body: hello}}}}
sides:
  one: {{serve: [{python}, {server}, "{{port}}", {fault}]}}
measure: [one]
"""


class Sustained(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=self_test.BUILD)
        self.addCleanup(folder.cleanup)
        often = functools.partial(resources.Watch, every=0.05)
        for patch in (mock.patch.object(resources, "Watch", often), contextlib.redirect_stderr(io.StringIO())):
            patch.__enter__()
            self.addCleanup(patch.__exit__, None, None, None)
        self.result = results.new("x", "?", [], "quick", "abc", {}, {})

    def measure(self, fault, seconds=1):
        text = FILE.format(fault=fault, seconds=seconds, python=sys.executable, server=SERVER)
        sustained.Sustained().measure(experiment.parse("x.yaml", text, {}), Settings(build=self_test.BUILD, warmup=0.1),
                          self.result, progress.Progress(1))
        self.assertEqual((results.check(self.result), self.result["invalid"]), ([], []))
        return {row["id"].removeprefix("one:"): row["median"] for row in self.result["values"]}

    def test_a_planted_leak_is_a_slope_and_its_absence_is_none(self):
        leaking = self.measure("leaks")
        points = next(row["points"] for row in self.result["series"] if row["id"] == "one:rss")
        self.assertGreater(points[-1][1] - points[0][1], 1000)
        self.result = results.new("x", "?", [], "quick", "abc", {}, {})
        steady = self.measure("none")

        # 16 KiB for each request: even a hundred a second are 96,000 KB per minute.
        self.assertGreater(leaking["rss-slope"], 50_000)
        self.assertLess(abs(steady["rss-slope"]), leaking["rss-slope"] / 10)
        self.assertGreater(leaking["rss-last"], steady["rss-last"])
        self.assertGreater(steady["cpu-used"], 0)
        self.assertGreaterEqual(steady["descriptors"], 3 + 1 + 2)  # A listener, and the connections of the work.

    def test_an_interrupt_keeps_the_samples(self):
        def interrupted(*_, **__):
            time.sleep(0.5)
            raise KeyboardInterrupt

        with mock.patch.object(measure, "client", interrupted), self.assertRaises(KeyboardInterrupt):
            self.measure("none", seconds=1800)
        self.assertEqual(results.check(self.result), [])
        series = {row["id"]: row["points"] for row in self.result["series"]}
        self.assertGreaterEqual(len(series["one:rss"]), 5)
        values = {row["id"]: row["median"] for row in self.result["values"]}
        self.assertEqual(values["one:rss-last"], series["one:rss"][-1][1])

    def test_an_interrupt_before_there_is_anything_leaves_nothing(self):
        with mock.patch.object(sustained, "run", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            self.measure("none")
        self.assertEqual((self.result["series"], self.result["values"]), ([], []))
