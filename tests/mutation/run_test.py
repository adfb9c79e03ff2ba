#!/usr/bin/env python3
"""That each bug can be put into today's sources, and that the judge tells a bug that is found from one that is not."""

import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock

import run
from bug import Bug
from bugs import BUGS
from module_bugs import MODULE_BUGS

TEXT = "int a = 1;\nint b = 1;\n"


class BugsTest(unittest.TestCase):

    def test_each_changes_one_place_of_the_sources(self):
        for bug in BUGS:
            with self.subTest(bug.name):
                text = (run.ROOT / bug.file).read_text()
                self.assertNotEqual(run.mutated(bug, text), text)

    def test_they_are_many_and_differ(self):
        self.assertGreaterEqual(len(BUGS) - len(MODULE_BUGS), 20)
        self.assertGreaterEqual(len(MODULE_BUGS), 48)
        self.assertEqual(len({bug.name for bug in BUGS}), len(BUGS))

    def test_each_names_a_test_that_there_is(self):
        known = set()
        for lists in [*(run.ROOT / "src").rglob("CMakeLists.txt"), *(run.ROOT / "tests").rglob("CMakeLists.txt")]:
            known |= set(re.findall(r"(?:keel_test\(|add_test\(NAME )(\w+)", lists.read_text()))
        for bug in BUGS:
            self.assertIn(bug.test, known, bug.name)


class RunTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = pathlib.Path(folder.name)
        (self.copy / "a.cc").write_text(TEXT)
        self.seen = []
        patches = [mock.patch.object(run, "COPY", self.copy), mock.patch.object(run, "build", self.note)]
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def note(self, tests):
        self.seen.append(((self.copy / "a.cc").read_text(), tests))

    def judge(self, said, old="a = 1"):
        with mock.patch.object(run, "failures", lambda test: said):
            return run.find(Bug("two", "never", "a.cc", old, "a = 2", "a_test"))

    def test_a_test_that_fails_has_found_it(self):
        self.assertEqual(self.judge(["A.b", "A.c", "A.d"]), (True, "A.b, A.c"))
        self.assertEqual(self.seen, [(TEXT.replace("a = 1", "a = 2"), ["a_test"])])
        self.assertEqual((self.copy / "a.cc").read_text(), TEXT, "and the source is as it was")

    def test_a_test_that_passes_has_not(self):
        self.assertEqual(self.judge([]), (False, ""))

    def test_what_does_not_fit_any_more_is_an_error(self):
        for old in ("a = 3", "int"):
            with self.assertRaises(run.Failed):
                self.judge([], old)
        self.assertEqual((self.copy / "a.cc").read_text(), TEXT)

    def test_a_bug_that_does_not_compile_is_an_error_and_is_taken_back(self):
        with mock.patch.object(run, "build", side_effect=run.Failed("error: a")), self.assertRaises(run.Failed):
            self.judge([])
        self.assertEqual((self.copy / "a.cc").read_text(), TEXT)


if __name__ == "__main__":
    sys.exit(unittest.main())
