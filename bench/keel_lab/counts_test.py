"""The counts of a side: each is there with its value, or absent with a reason."""

import dataclasses
import pathlib
import resource
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

from keel_lab import callgrind, counts, experiment, machine, measure, record, runner, self_test, side_file, sides
from keel_lab.sides import Invalid

FILE = """\
id: x
question: Which?
work: {path: /plaintext, connections: 4, expect: {status: 200, type: text/plain, body: "Hello, World!"}}
sides:
  one: {serve: [bench/bench_raw_epoll, "--port={port}", "--plaintext={payload}"]}
comparisons:
  - {a: one, b: one, of: cpu_us}
counts: [one]
"""


class Counts(unittest.TestCase):
    def setUp(self):
        one = experiment.parse("x.yaml", FILE, {})
        self.half = measure.Half(one.sides["one"], one.work, self_test.BUILD)
        self.payload = measure.payload_for(self.half, [self.half])

    def row(self, *counted):
        settings = runner.settings_of("quick", self_test.BUILD, seconds=0.05)
        return counts.of_side(settings, self.half, self.payload, *counted)

    def instructions(self, profile):
        row = {"instructions": None, "instructions_by": None, "absent": {}}
        settings = runner.settings_of(profile, self_test.BUILD, seconds=0.05)
        counts.count_instructions(settings, self.half, self.payload, row)
        return row

    def test_what_is_permitted_has_a_value_and_no_reason(self):
        row = self.row()
        for name in ("allocations", "allocated_bytes", "switches", "bytes_per_connection"):
            self.assertIsNotNone(row[name], name)
            self.assertNotIn(name, row["absent"])
        self.assertLess(row["allocations"], 0.1)  # The raw loop keeps its memory.
        self.assertGreater(row["bytes_per_connection"], 0)

    def test_what_is_not_asked_for_is_not_counted(self):
        planted = AssertionError("is not asked for")
        with mock.patch.object(measure, "run", side_effect=planted), \
                mock.patch.object(counts, "count_instructions", side_effect=planted):
            row = self.row(("bytes_per_connection",))
        self.assertGreater(row["bytes_per_connection"], 0)
        self.assertEqual(set(row["absent"]), set(record.COUNTS) - {"bytes_per_connection"})
        self.assertEqual({row[name] for name in row["absent"]}, {None})

        with mock.patch.object(counts, "connection_bytes", side_effect=planted):
            row = self.row(("allocations",))
        self.assertEqual((row["system_calls"], row["switches"]), (None, None))
        self.assertLess(row["allocations"], 0.1)

    def test_what_is_not_counted_takes_no_time(self):
        settings, side = runner.settings_of("full", self_test.BUILD), self.half.side
        work = dataclasses.replace(self.half.work, idle=6000)
        times = [counts.seconds_of(settings, side, work, (name,))
                 for name in ("instructions", "bytes_per_connection", "switches")]
        self.assertEqual(times[:2], [counts.CALLGRIND_SECONDS, 6000 / counts.IDLE_PER_SECOND])
        self.assertAlmostEqual(counts.seconds_of(settings, side, work), sum(times))

    def test_memory_of_an_idle_process_is_that_before_any_load(self):
        server = str(pathlib.Path(__file__).with_name("fake_server.py"))

        def idle(fault):
            side = side_file.Side("fake", "fake", (sys.executable, server, "{port}", fault))
            with mock.patch.object(measure, "run", side_effect=AssertionError("a load")):
                return counts.of_side(None, dataclasses.replace(self.half, side=side), counted=("idle_rss_kb",))

        row = idle("none")
        self.assertGreater(row["idle_rss_kb"], 1000)
        self.assertNotIn("idle_rss_kb", row["absent"])
        self.assertAlmostEqual(idle("takes 32 MiB")["idle_rss_kb"] - row["idle_rss_kb"], 32 << 10, delta=1500)

    def test_a_count_is_bounded_by_that_of_another_or_by_a_number(self):
        target = {"kind": "at most", "value": 1.0}
        one = mock.Mock(bounds=[("a", 8192, "idle_rss_kb", target), ("a", "b", "idle_rss_kb", target),
                                ("a", "c", "idle_rss_kb", target)])
        rows = [{"side": "a", "idle_rss_kb": 6144}, {"side": "b", "idle_rss_kb": 3072}]
        found = [(row["id"], row["b"], row["b_value"], row["ratio"], row["verdict"])
                 for row in counts.bounds(one, rows)]
        self.assertEqual(found, [("a:8192:idle_rss_kb", "8192", 8192, 0.75, "met"),
                                 ("a:b:idle_rss_kb", "b", 3072, 2.0, "missed")])

    def test_memory_of_a_connection_is_taken_over_as_many_as_the_work_says(self):
        half = dataclasses.replace(self.half, work=dataclasses.replace(self.half.work, idle=30))
        with mock.patch.object(counts.counters, "connection_bytes", return_value=7.0) as taken:
            self.assertEqual(counts.connection_bytes(half, self.payload), 7.0)
        self.assertEqual(taken.call_args.kwargs["count"], 30)

    def test_more_descriptors_than_the_system_has_are_not_counted_with(self):
        with mock.patch.object(resource, "getrlimit", return_value=(100, 200)), \
                mock.patch.object(resource, "setrlimit") as set_to:
            with self.assertRaisesRegex(Invalid, "300 descriptors are needed, and a process has 200"):
                counts.permit_descriptors(300)
            counts.permit_descriptors(150)
            counts.permit_descriptors(90)
        set_to.assert_called_once_with(resource.RLIMIT_NOFILE, (150, 200))

    def test_system_calls_that_are_not_permitted_are_null_with_a_reason(self):
        with mock.patch.object(machine, "system_call_tracepoint", lambda: 0):
            row = self.row()
        self.assertIsNone(row["system_calls"])
        self.assertIn("needs root", row["absent"]["system_calls"])

    def test_instructions_of_an_http_server_are_left_to_the_full_profile(self):
        row = self.instructions("quick")
        self.assertIsNone(row["instructions"])
        self.assertIn("only the full profile", row["absent"]["instructions"])

    def test_instructions_of_an_http_server_are_counted_by_callgrind(self):
        if why := callgrind.refusal():
            self.skipTest(why)
        with mock.patch.object(counts, "for_callgrind", lambda half: half):  # Without a build of its own.
            row = self.instructions("full")
        self.assertEqual((row["instructions_by"], row["absent"]), ("callgrind", {}))
        self.assertTrue(100 < row["instructions"] < 10_000, row["instructions"])

    def test_lines_of_a_log_are_waited_for_and_missed(self):
        with tempfile.NamedTemporaryFile("w") as log:
            server = sides.Server(None, 0, "", 0.0, "", log=log.name)
            work = dataclasses.replace(self.half.work, path="/here", log_lines=True)

            def write():
                time.sleep(0.1)
                log.write("GET /here\nGET /there\nGET /here\n")
                log.flush()

            writer = threading.Thread(target=write)
            writer.start()
            counts.wait_for_lines(server, work, 2)
            writer.join()
            with mock.patch.object(counts, "LOG_SECONDS_MAX", 0.1), \
                    self.assertRaisesRegex(Invalid, "2 lines in the log, not 3"):
                counts.wait_for_lines(server, work, 3)

    def test_a_side_that_stands_still_under_callgrind_is_a_reason(self):
        side = dataclasses.replace(self.half.side, under_test=True, engine="uring")
        self.half = dataclasses.replace(self.half, side=side)
        self.assertIn("counted on epoll", self.instructions("full")["absent"]["instructions"])

    def test_a_build_for_callgrind_that_fails_is_a_reason(self):
        with mock.patch.object(callgrind, "build", side_effect=Invalid("cmake failed")):
            row = self.instructions("full")
        self.assertEqual((row["instructions"], row["absent"]["instructions"]), (None, "cmake failed"))
