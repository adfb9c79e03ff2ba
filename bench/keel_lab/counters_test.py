"""Every counter counts a program right that does exactly N things, and a count that is not permitted is absent."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from keel_lab import callgrind, counters, machine, self_test

BUILD = self_test.BUILD / "bench"
KNOWN = BUILD / "bench_known"


class Known:
    """A process that does what it is told; see tools/known.c."""

    def __init__(self, prefix=(), **environment):
        self.process = subprocess.Popen([*prefix, str(KNOWN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | environment)
        self.do("turns", 1)     # Its first line of input and output allocates what the later ones use.

    @property
    def pid(self):
        return self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def do(self, what, times):
        self.process.stdin.write(f"{what} {times}\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "done\n":
            raise AssertionError(f"{what} {times}: not done")

    def command(self, what, times):
        """A command that has it done from outside, over its own pipes."""
        pipes = f"/proc/{self.pid}/fd"
        return ["sh", "-c", f"echo {what} {times} >{pipes}/0; read done <{pipes}/1"]

    def counted(self, name, what, times, *options):
        done = subprocess.run(
            [str(BUILD / "bench_count"), f"--server={self.pid}", *options, *self.command(what, times)],
            capture_output=True,
            text=True,
            timeout=60)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return json.loads(done.stdout.splitlines()[-1])[name]

    def difference(self, name, what, few, many, *options):
        """What `many` cost more than `few`: what a command costs by itself is in both."""
        less = self.counted(name, what, few, *options)
        return self.counted(name, what, many, *options) - less

    def resident_bytes(self):
        text = pathlib.Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        return int(text.partition("\nRss:")[2].split()[0]) * 1024


@unittest.skipUnless(KNOWN.exists(), "not built: make bench")
class Counted(unittest.TestCase):
    def test_heap_allocations_and_their_bytes_are_counted_exactly(self):
        with tempfile.TemporaryDirectory() as folder:
            count = f"{folder}/allocations"
            with Known(LD_PRELOAD=str(BUILD / "libbench_alloc_count.so"), ALLOC_COUNT_FILE=count) as known:
                self.assertEqual(known.difference("allocations", "allocations", 100, 400, f"--allocations={count}"),
                                 300)
                self.assertEqual(known.difference("allocated_bytes", "allocations", 1, 8, f"--allocations={count}"),
                                 700)
                self.assertEqual(known.difference("allocations", "calls", 100, 400, f"--allocations={count}"), 0)

    def test_system_calls_are_counted(self):
        tracepoint, why = counters.system_calls(BUILD)
        if tracepoint is None:
            self.skipTest(why)
        with Known() as known:
            # Its wait for the next line may begin before or after the count is taken: hence not exactly.
            self.assertAlmostEqual(known.difference("system_calls", "calls", 1000, 3000, f"--tracepoint={tracepoint}"),
                                   2000,
                                   delta=2)
            self.assertAlmostEqual(known.difference("system_calls", "allocations", 1, 2, f"--tracepoint={tracepoint}"),
                                   0,
                                   delta=2)

    def test_voluntary_context_switches_are_counted(self):
        with Known() as known:
            # A sleeper that is preempted at the wrong moment does not switch by itself: hence about.
            self.assertAlmostEqual(known.difference("voluntary_switches", "switches", 100, 500), 400, delta=20)
            self.assertAlmostEqual(known.difference("voluntary_switches", "calls", 100, 500), 0, delta=5)

    def test_involuntary_context_switches_are_counted_and_told_from_voluntary_ones(self):
        core = min(os.sched_getaffinity(0))
        with Known(prefix=("taskset", "-c", str(core))) as known:
            # Both want the same core for long enough that each has to give way to the other.
            known_turns = known.command("turns", 300_000_000)
            rival = ["timeout", "20", "taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]
            with subprocess.Popen(rival, stdin=subprocess.DEVNULL) as other:
                done = subprocess.run([str(BUILD / "bench_count"), f"--server={known.pid}", *known_turns],
                                      capture_output=True, text=True, timeout=60)
                other.terminate()
            seen = json.loads(done.stdout)
            self.assertGreater(seen["involuntary_switches"], 3)
            self.assertLess(seen["voluntary_switches"], 10)

    def test_page_faults_and_resident_bytes_are_counted(self):
        with Known() as known:
            self.assertAlmostEqual(known.difference("minor_faults", "pages", 100, 600), 500, delta=8)
            before = known.resident_bytes()
            known.do("pages", 1000)
            page = os.sysconf("SC_PAGE_SIZE")
            self.assertAlmostEqual(known.resident_bytes() - before, 1000 * page, delta=16 * page)

    def test_user_time_is_told_from_system_time(self):
        with Known() as known:
            turns = known.command("turns", 300_000_000)
            done = subprocess.run([str(BUILD / "bench_count"), f"--server={known.pid}", *turns], capture_output=True,
                                  text=True, timeout=60)
            seen = json.loads(done.stdout)
            self.assertGreater(seen["server_user"], 0.05)
            self.assertLess(seen["server_system"], seen["server_user"] / 2)
            self.assertAlmostEqual(seen["server_user"] + seen["server_system"], seen["server_cpu"],
                                   delta=0.05 + seen["server_cpu"] / 5)

    def test_stepped_instructions_are_counted(self):
        if why := counters.stepping(BUILD):
            self.skipTest(why)
        seen = []
        # On one core: a step is then a switch within it.
        one = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
        for turns in (5_000, 25_000):
            with Known(one) as known:
                done = subprocess.run(
                    [*one, str(BUILD / "bench_step_count"),
                     str(known.pid), *known.command("turns", turns)],
                    capture_output=True,
                    text=True,
                    timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                seen.append(int(done.stdout))
        # What it does between two lines may be in one count and not in the other: some 2,000.
        self.assertAlmostEqual(seen[1] - seen[0], 2 * 20_000, delta=3000)

    def test_instructions_under_callgrind_are_counted(self):
        if why := callgrind.refusal():
            self.skipTest(why)

        @contextlib.contextmanager
        def start(prefix):
            with Known(prefix) as known:
                yield known, 0

        def drive(known, _, turns):
            known.do("turns", turns)
            return turns

        found = callgrind.per_operation(start, drive, (10_000, 30_000))
        self.assertAlmostEqual(found, 2, delta=0.02)

    def test_the_bytes_of_a_connection_are_what_each_one_adds(self):
        with Known() as known:
            class Connection:
                def __init__(self):
                    known.do("pages", 3)

                def close(self):
                    pass
            found = counters.connection_bytes(Connection, known.resident_bytes, 10, 200)
            self.assertAlmostEqual(found / os.sysconf("SC_PAGE_SIZE"), 3, delta=0.2)


class NotPermitted(unittest.TestCase):
    def test_system_calls_without_the_tracepoint_are_absent_with_a_reason(self):
        with mock.patch.object(machine, "system_call_tracepoint", lambda: 0):
            value, why = counters.system_calls(BUILD)
        self.assertIsNone(value)
        self.assertRegex(why, "raw_syscalls/sys_enter/id cannot be read")

    def test_system_calls_that_perf_refuses_are_absent_with_its_words(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(machine, "system_call_tracepoint", lambda: 17):
            counter = pathlib.Path(folder, "bench_count")
            counter.write_text("#!/bin/sh\necho 'client: perf_event_open: Permission denied' >&2\nexit 2\n")
            counter.chmod(0o755)
            value, why = counters.system_calls(folder)
        self.assertIsNone(value)
        self.assertRegex(why, r"perf_event_open: Permission denied \(kernel.perf_event_paranoid is -?\d+\)")

    @unittest.skipUnless(KNOWN.exists() and os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_a_user_who_may_not_see_a_process_gets_an_error_and_no_count(self):
        with Known() as known:
            done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", str(BUILD / "bench_count"),
                                   f"--server={known.pid}", "--tracepoint=1", "true"], capture_output=True, text=True,
                                  timeout=20)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("denied", done.stderr)

    @unittest.skipUnless(KNOWN.exists(), "not built: make bench")
    def test_a_file_of_allocations_that_is_not_there_is_an_error_and_no_count(self):
        with Known() as known:
            done = subprocess.run(
                [str(BUILD / "bench_count"), f"--server={known.pid}", "--allocations=/no/file", "true"],
                capture_output=True,
                text=True,
                timeout=20)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("/no/file", done.stderr)

    def test_allocations_of_a_go_program_are_absent_with_a_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program")
            pathlib.Path(folder, "libbench_alloc_count.so").touch()
            for text, why in ((b"\x7fELF ld-linux" + counters.GO, "Go takes"), (b"\x7fELF", "a static"),
                              (b"\x7fELF ld-linux", "")):
                program.write_bytes(text)
                program.chmod(0o755)
                self.assertRegex(counters.allocations(folder, program), f"^{why}")

    def test_instructions_without_valgrind_are_absent_with_a_reason(self):
        with mock.patch.dict(os.environ, PATH="/nowhere"), self.assertRaises(callgrind.Invalid) as refused:
            callgrind.per_operation(None, None)
        self.assertEqual(str(refused.exception), "valgrind and vgdb not installed (scripts/setup bench)")
