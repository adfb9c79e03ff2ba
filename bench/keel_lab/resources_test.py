import os
import subprocess
import sys
import time
import unittest

from keel_lab import resources

GROWING = """
import sys
print("ready", flush=True)
sys.stdin.readline()
kept = b"x" * (64 << 20)
print("grown", flush=True)
sys.stdin.readline()
"""

class Watch(unittest.TestCase):
    def test_samples_at_its_ends_and_each_second_between(self):
        # A process of its own: threads that other tests left behind here end meanwhile, and their switches with them.
        growing = subprocess.Popen([sys.executable, "-c", GROWING], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(growing.communicate)
        self.assertEqual(growing.stdout.readline(), b"ready\n")
        with resources.Watch(growing.pid) as watch:
            growing.stdin.write(b"grow\n")
            growing.stdin.flush()
            self.assertEqual(growing.stdout.readline(), b"grown\n")
            until = time.monotonic() + 10
            while len(watch.samples) < 3 and time.monotonic() < until:
                time.sleep(0.1)
        self.assertEqual(len(watch.samples), 4)
        gaps = [after.at - before.at for before, after in zip(watch.samples, watch.samples[1:])]
        for gap in gaps[:2]:
            self.assertTrue(0.9 < gap < 1.5, gaps)
        first, *_, last = watch.samples
        self.assertGreater(last.rss_kb - first.rss_kb, 60_000)
        self.assertGreater(last.switches, first.switches)
        self.assertGreaterEqual(last.user + last.system, first.user + first.system)
        self.assertGreater(first.descriptors, 2)

    def test_keeps_its_samples_in_the_list_it_is_given(self):
        kept = []
        with self.assertRaises(KeyboardInterrupt), resources.Watch(os.getpid(), samples=kept):
            raise KeyboardInterrupt
        self.assertEqual(len(kept), 2)

    def test_of_a_process_that_has_ended_there_are_none(self):
        process = subprocess.Popen(["true"])
        process.wait()
        with resources.Watch(process.pid) as watch:
            pass
        self.assertEqual(watch.samples, [])


class Others(unittest.TestCase):
    def test_use_what_is_neither_idle_nor_ours_of_all_cores(self):
        cores = os.cpu_count() or 1
        self.assertAlmostEqual(resources.others_used(2, 2 * cores - 1, 0.5, 0.3), 0.1)
        self.assertEqual(resources.others_used(2, 2 * cores, 0.5), 0)
