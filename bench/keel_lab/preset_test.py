"""Builds of other presets: which of them a full run needs, and what is said of one that fails."""

import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

from keel_lab import experiment, preset


class Needed(unittest.TestCase):
    def test_bare_sides_and_those_that_callgrind_counts_name_their_programs(self):
        chosen = [experiment.read_all()[name] for name in ("logged-server", "plaintext", "tuning-build")]
        found = preset.needed(chosen, lambda side: side.engine == "uring")
        self.assertEqual(found["bare"], ["bench_service"])
        self.assertEqual(found["native"], ["bench_service"])
        self.assertEqual(found["callgrind"], ["bench_beast", "bench_raw_epoll", "bench_service"])

    def test_a_service_beside_its_database_is_built_with_the_program_that_starts_both(self):
        found = preset.needed([experiment.read_all()["postgres-http"]], lambda side: side.engine == "uring")
        self.assertEqual(found, {"callgrind": ["bench_postgres_service", "bench_with_postgres"]})

    def test_what_needs_neither_builds_nothing(self):
        experiments = experiment.read_all()
        for name in ("raw-loops", "idle-connections"):
            self.assertEqual(preset.needed([experiments[name]], lambda side: False), {}, name)


class Build(unittest.TestCase):
    def run_it(self, code):
        script = pathlib.Path(self.folder, "cmake")
        script.write_text(f"#!/bin/sh\necho \"$@\" >> {self.folder}/said; echo planted; exit {code}\n")
        script.chmod(0o755)
        with mock.patch.object(preset, "ROOT", pathlib.Path(self.folder)), mock.patch.dict(
                "os.environ", {"PATH": f"{self.folder}:/usr/bin:/bin"}):
            return preset.build("bare", ["bench_service"], say=lambda text: None)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_it_is_configured_once_and_built(self):
        self.assertEqual(self.run_it(0), pathlib.Path(self.folder, "build/bare"))
        said = pathlib.Path(self.folder, "said").read_text().splitlines()
        self.assertEqual(said[0], "--preset bare")
        self.assertRegex(said[1], r"^--build .*/build/bare -j\d+ --target bench_service$")

    def test_one_that_fails_says_which_command_and_how(self):
        with self.assertRaisesRegex(preset.Invalid, "cmake --preset bare failed: planted"):
            self.run_it(1)


class Presets(unittest.TestCase):
    def test_each_configures_with_what_is_measured(self):
        for name in ("bare", "native", "callgrind"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(["cmake", "--preset", name, "-B", folder],
                                      cwd=preset.ROOT,
                                      stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT,
                                      text=True)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertTrue(pathlib.Path(folder, "bench/service").is_dir(), "bench_service is made there")
