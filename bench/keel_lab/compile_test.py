"""Compile times: what a case stands for, what is counted, and a compiler that fails is a row."""

import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from keel_lab import experiment, results
from keel_lab.kinds import KINDS
from keel_lab.load_test import Progress
from keel_lab.measure import Settings

FILE = """\
id: x
question: How long?
kind: compile
like: main.cc
cases:
  empty: {text: "int main() {}", target: at most 9 s}
  umbrella: {headers: "lib/*.h"}
  whole: {file: main.cc}
comparisons:
  - {a: whole, b: empty}
"""
# In the place of a compiler: says what it was asked to compile, and burns some CPU.
COMPILER = "#!/bin/sh\necho \"$@\" >>{log}\ncat \"$5\" >>{log}\ni=0\n" \
    "while [ $i -lt 20000 ]; do i=$((i + 1)); done\n{end}\n"


class Compile(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        (self.folder / "lib").mkdir()
        for name in ("main.cc", "lib/a.h", "lib/b.h"):
            (self.folder / name).write_text(f"// {name}\n")
        (self.folder / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.folder}\n")
        command = f"{self.folder}/compiler -I{self.folder} -o main.o -c {self.folder}/main.cc"
        (self.folder / "compile_commands.json").write_text(
            json.dumps([{"directory": str(self.folder), "command": command, "file": f"{self.folder}/main.cc"}]))

    def measured(self, end="exit 0", text=FILE, pairs=6):
        compiler = self.folder / "compiler"
        compiler.write_text(COMPILER.format(log=self.folder / "log", end=end))
        compiler.chmod(0o755)
        result = results.new("x", "?", [], "quick", "abc", {}, {})
        one = experiment.parse("x.yaml", text, {})
        KINDS["compile"].measure(one, Settings(build=self.folder, pairs=pairs), result, Progress())
        self.assertEqual(results.check(result), [])
        return result

    def test_each_text_file_and_header_is_compiled_with_the_flags_of_the_build(self):
        result = self.measured()
        values = {row["id"]: row for row in result["values"]}
        self.assertEqual(set(values), {"empty", "lib/a.h", "lib/b.h", "whole"})
        self.assertEqual((len(values["empty"]["values"]), values["empty"]["verdict"]), (6, "met"))
        self.assertGreater(values["empty"]["median"], 0)
        self.assertEqual([row["id"] for row in result["comparisons"]], ["whole:empty:cpu_s"])
        said = (self.folder / "log").read_text()
        self.assertIn(f"-I{self.folder} -o ", said)
        for text in ("int main() {}", '#include "lib/b.h"', "// main.cc"):
            self.assertEqual(said.count(text), 6, text)

    def test_two_builds_are_compared_case_by_case(self):
        self.measured(pairs=1)
        result = results.new("x", "?", [], "quick", "abc", {}, {})
        builds = dict.fromkeys(("head", "base"), self.folder)
        KINDS["compile"].compare(experiment.parse("x.yaml", FILE, {}), builds, Settings(build=self.folder, pairs=2),
                                 result, Progress())
        self.assertEqual(results.check(result), [])
        self.assertEqual({row["id"] for row in result["comparisons"]},
                         {f"{name}:cpu_s" for name in ("empty", "lib/a.h", "lib/b.h", "whole")})

    def test_few_rounds_decide_nothing(self):
        self.assertEqual(self.measured(pairs=2)["values"][0]["verdict"], "undecided")

    def test_a_compiler_that_fails_is_a_row_with_what_it_said(self):
        result = self.measured("echo planted; exit 1")
        self.assertIn("compiler ended with code 1: planted", result["invalid"][0]["why"])

    def test_a_file_that_the_build_does_not_compile_is_a_row(self):
        result = self.measured(text=FILE.replace("like: main.cc", "like: other.cc"))
        self.assertIn("does not compile other.cc", result["invalid"][0]["why"])

    def test_a_rebuild_is_counted_after_the_file_was_touched(self):
        cmake = self.folder / "cmake"
        built = self.folder / "built"
        cmake.write_text(f'#!/bin/sh\necho "$@" >>{built}\nstat -c %Y {self.folder}/main.cc >>{built}\n')
        cmake.chmod(0o755)
        text = FILE.partition("cases:")[0] + "cases: {rebuild: {touch: main.cc, build: all}}\n"
        os.utime(self.folder / "main.cc", (1, 1))
        with mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"}):
            self.measured(text=text, pairs=1)
        first, before, second, after = built.read_text().splitlines()
        self.assertEqual((first, second), (f"--build {self.folder} --target all",) * 2)
        self.assertLess(int(before), int(after))

    def test_a_case_is_one_of_four_things(self):
        with self.assertRaisesRegex(Exception, "exactly one of: text, file, headers, touch with build"):
            experiment.parse("x.yaml", FILE.replace("{file: main.cc}", "{file: main.cc, text: x}"), {})
