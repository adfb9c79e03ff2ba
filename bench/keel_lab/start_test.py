import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from keel_lab import results, start
from keel_lab.measure import Settings
from keel_lab.sides import Invalid

START = """start of a
  phase    at ms    took ms  on       waited for
  pool a    0.50       1.25  start-1
  http      2.00       0.10  start-2  pool a (0.25 ms)
  total                3.00
a is ready (3.0 ms)
"""
# In the place of bench_start: says that it is ready, and then FAULT.
PROGRAM = """\
#!{python}
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("  workers  0.1  0.2  x\\n  total  3.0\\n  service  http://127.0.0.1:1\\n  engine   uring", flush=True)
{fault}
"""


class Progress:
    def steps(self, line, count, seconds):
        return lambda: None


class Start(unittest.TestCase):
    def refused(self, program):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(Invalid) as raised:
            start.one(program, folder, 7)
        return str(raised.exception)

    def test_the_table_of_a_start_is_read(self):
        self.assertEqual(start.phases(START), {"pool a": (0.5, 1.25), "http": (2, 0.1), "total": (0, 3)})

    def test_a_start_that_never_comes_is_noticed(self):
        self.assertIn("no start within", self.refused("/bin/true"))

    def test_a_start_that_says_nothing_of_what_it_was_made_of_is_noticed(self):
        self.assertIn("it said: --systems=7", self.refused("/bin/echo"))

    def why(self, systems, fault, stays=start.STAYS_SECONDS):
        """Of an experiment of one program that misbehaves."""
        with tempfile.TemporaryDirectory() as build:
            program = pathlib.Path(build, "bench/start/bench_start")
            program.parent.mkdir(parents=True)
            program.write_text(PROGRAM.format(python=sys.executable, fault=fault))
            program.chmod(0o755)
            result = results.new("start-up", "?", [], "quick", "abc", {}, {})
            with mock.patch.multiple(start, SYSTEMS=((systems, "x"),), END_SECONDS_MAX=0.2, STAYS_SECONDS=stays):
                start.Start().measure(mock.Mock(), Settings(build=pathlib.Path(build), starts=2), result, Progress())
        row, = result["invalid"]
        self.assertEqual(row["what"], f"start of {systems}")
        return row["why"]

    def test_one_that_says_it_is_ready_and_ends_is_a_row(self):
        self.assertIn("/hello: [Errno 111] Connection refused", self.why(7, "sys.exit(0)"))
        self.assertIn("ended by itself", self.why(1, "sys.exit(0)", stays=10))

    def test_one_that_does_not_end_when_it_is_asked_to_is_a_row(self):
        self.assertIn("had not ended 0.2 s after SIGTERM", self.why(1, "time.sleep(60)"))

    def test_one_that_does_not_say_where_it_listens_is_a_row(self):
        with mock.patch(f"{__name__}.PROGRAM", PROGRAM.replace("  service  http://127.0.0.1:1\\n", "")):
            self.assertIn("does not say where it listens", self.why(7, "time.sleep(60)"))

    def test_each_quantity_is_a_value(self):
        measured = {7: [({part: (0.0, 2.0) for _, parts in start.ROWS for part in parts}, 12.0)] * 3}
        result = {"values": []}
        start.publish(measured, result)
        values = {row["id"]: row["median"] for row in result["values"]}
        self.assertEqual((values["total-7"], values["first-answer-7"], values["phase-workers"]), (2.0, 12.0, 4.0))
