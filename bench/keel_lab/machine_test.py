import pathlib
import tempfile
import unittest
from unittest import mock

from keel_lab import machine

CACHE = """\
CMAKE_CXX_COMPILER:FILEPATH=/opt/c++
CMAKE_BUILD_TYPE:STRING=Release
CMAKE_CXX_FLAGS:STRING=-march=native
CMAKE_CXX_FLAGS_RELEASE:STRING=-O2 -DNDEBUG
CMAKE_CXX_FLAGS_DEBUG:STRING=-g
"""


class Facts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        self.said = {("git", "status"): "", ("git", "rev-parse"): "0123456789ab",
                     ("perf", "stat"): "1234,,instructions,,", ("/opt/c++", "--version"): "g++ 12.2\nmore"}

    def facts(self, tracepoint=7):
        def output(program, *arguments):
            said = (text for (name, word), text in self.said.items() if name == program and word in arguments)
            return next(said, "")

        with mock.patch.object(machine, "output", output), \
                mock.patch.object(machine, "system_call_tracepoint", lambda: tracepoint):
            return machine.facts(self.build / "bench")

    def test_flags_and_compiler_are_those_of_the_build_or_of_a_folder_around_it(self):
        (self.build / "CMakeCache.txt").write_text(CACHE)
        found = self.facts()
        self.assertEqual(found["flags"], "Release: -march=native -O2 -DNDEBUG")
        self.assertEqual(found["compiler"], "g++ 12.2")

    def test_without_a_build_they_are_unknown(self):
        found = self.facts()
        self.assertEqual((found["flags"], found["compiler"]), ("unknown", "unknown"))

    def test_the_commit_says_whether_files_were_changed(self):
        self.assertEqual(self.facts()["commit"], "0123456789ab")
        self.said["git", "status"] = " M README.md"
        self.assertEqual(self.facts()["commit"], "0123456789ab+changes")
        self.said |= {("git", "status"): "", ("git", "rev-parse"): ""}
        self.assertEqual(self.facts()["commit"], "unknown")

    def test_what_the_machine_does_not_permit_is_named(self):
        self.assertEqual(self.facts()["not permitted"], "nothing")
        self.said["perf", "stat"] = "<not supported>,,instructions,,"
        self.assertEqual(self.facts()["not permitted"], "hardware counters")
        self.said["perf", "stat"] = ""  # No perf.
        self.assertEqual(self.facts(tracepoint=0)["not permitted"], "system call tracepoint, hardware counters")

    def test_what_changes_a_measurement_is_told(self):
        found = self.facts()
        self.assertRegex(found["topology"], r"^\d+ sockets, \d+ cores, \d+ threads$")
        self.assertRegex(found["memory"], r"^\d+ MiB, swap \d+ MiB$")
        for name in ("smt", "mitigations", "transparent huge pages"):
            self.assertTrue(found[name], name)

    def test_of_a_list_the_choice_in_brackets_is_told(self):
        path = self.build / "enabled"
        path.write_text("always [madvise] never\n")
        self.assertEqual((machine.chosen(path), machine.chosen(self.build / "none")), ("madvise", "not readable"))

    def test_what_the_processor_is_not_affected_by_is_left_out(self):
        folder = self.build / "vulnerabilities"
        folder.mkdir()
        with mock.patch.object(machine, "CPUS", self.build):
            self.assertEqual(machine.mitigations(), "none needed")
            for name, text in (("meltdown", "Not affected"), ("spectre_v2", "Mitigation: Retpolines; STIBP: off")):
                (folder / name).write_text(text + "\n")
            self.assertEqual(machine.mitigations(), "spectre_v2: Mitigation: Retpolines, STIBP: off")

    def test_every_fact_is_one_line(self):
        for name, value in self.facts().items():
            self.assertTrue(value and "\n" not in value, name)
