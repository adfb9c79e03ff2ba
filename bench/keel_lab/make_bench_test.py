"""What `make bench` builds and how it ends."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from keel_lab import experiment

ROOT = experiment.ROOT
TEXT = (ROOT / "bench/CMakeLists.txt").read_text()
PROGRAMS_OF_KINDS = {"start": {"bench_start"}, "pairs": {"bench_client"}}


def quick():
    """The targets of bench_quick, as bench/CMakeLists.txt lists them."""
    always, where_there, benchmarks = (re.search(rf"^{start} ([^)]*)\)$", TEXT, re.MULTILINE).group(1).split()
                                       for start in (r"set\(quick", r"foreach\(target", r"set\(quick_benchmarks"))
    return {*always, *where_there}, set(benchmarks)


def needed():
    """(programs, benchmarks) that `bench/lab run --profile quick` runs of this build."""
    programs, benchmarks = set(), set()
    for one in experiment.read_all().values():
        if one.profile != "quick":
            continue
        benchmarks |= {case.program for case in one.cases.values()}
        programs |= PROGRAMS_OF_KINDS.get(one.kind, set())
        compared = {name for row in one.comparisons if row.profile == "quick" for name in (row.a, row.b)}
        for name in (compared | set(one.measure) | {side for side, _ in one.counts}) & set(one.sides):
            side = one.sides[name]
            if side.profile == "quick" and side.serve[0].startswith("bench/"):
                programs.add(pathlib.Path(side.serve[0]).name)
    return programs, benchmarks


class WhatItBuilds(unittest.TestCase):
    def test_has_every_program_that_the_quick_profile_runs(self):
        self.assertLessEqual(needed()[0], quick()[0])

    def test_has_the_benchmarks_of_the_quick_profile_and_no_others(self):
        self.assertEqual(quick()[1], needed()[1])


class ItsEnd(unittest.TestCase):
    @unittest.skipUnless(shutil.which("make"), "no make")
    def test_is_the_path_of_the_report_and_the_line_of_the_ledger_whatever_the_run_said(self):
        recipe = subprocess.run(["make", "-n", "bench"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            report = f"{folder}/report.html"
            lab = pathlib.Path(folder, "bench/lab")
            lab.parent.mkdir()
            lab.write_text(f'#!/bin/sh\n[ "$1" = run ] && echo measured && exit 3\n[ "$1" = report ] && set -- "$@" '
                           f'--out {report}\nexec {sys.executable} {ROOT}/bench/lab "$@"\n')
            lab.chmod(0o755)
            done = subprocess.run(["sh", "-c", recipe.splitlines()[-1]], cwd=folder, capture_output=True, text=True)
            self.assertTrue(pathlib.Path(report).exists(), done.stderr)
        first, path, ledger = done.stdout.splitlines()
        self.assertEqual((first, path, done.returncode), ("measured", report, 3))
        self.assertRegex(ledger, r"^141 claims: \d+ beaten, ")
