"""bench/lab as it is called."""

import os
import pathlib
import subprocess
import sys
import unittest

LAB = pathlib.Path(__file__).resolve().parents[1] / "lab"


def call(*arguments, stdout=subprocess.PIPE):
    return subprocess.run([sys.executable, LAB, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60)


class Command(unittest.TestCase):
    def test_a_reader_that_has_seen_enough_ends_it_without_a_word(self):
        read, write = os.pipe()
        os.close(read)
        try:
            done = call("list", stdout=write)
        finally:
            os.close(write)
        self.assertEqual((done.returncode, done.stderr), (141, ""))

    def test_an_unknown_subcommand_is_named_and_the_known_ones_follow(self):
        done = call("measure")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no subcommand measure", done.stderr)
        self.assertIn("check-documents", done.stderr)

    def test_a_file_that_cannot_be_written_is_named_in_a_line(self):
        done = call("claims", "--summary", "--csv", "/nowhere/claims.csv")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "bench/lab: [Errno 2] No such file or directory: '/nowhere/claims.csv'\n"))

    def test_help_goes_to_standard_output(self):
        done = call("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("usage: bench/lab SUBCOMMAND", done.stdout)


if __name__ == "__main__":
    unittest.main()
