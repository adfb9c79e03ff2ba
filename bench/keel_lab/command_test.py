"""bench/lab as it is called."""

import ast
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from keel_lab import self_test

LAB = pathlib.Path(__file__).resolve().parents[1] / "lab"


def loaded():
    """bench/lab as a module."""
    loader = importlib.machinery.SourceFileLoader("lab", str(LAB))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lab", loader))
    loader.exec_module(module)
    return module


PROGRAM = loaded()


def call(*arguments, stdout=subprocess.PIPE):
    return subprocess.run([sys.executable, LAB, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=60)


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

    def test_what_python_lacks_is_said_and_what_installs_it(self):
        without = [sys.executable, "-I", "-S", "-c", f"""
import os, runpy, sys
os.access = lambda path, mode: False  # No Python of Debian's either.
sys.argv = ["lab", "list"]
runpy.run_path({str(LAB)!r}, run_name="__main__")
"""]
        done = subprocess.run(without, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr),
                         (2, "bench/lab: Python lacks jinja2 and yaml: scripts/setup bench installs it\n"))
        setup = (LAB.parents[1] / "scripts/setup").read_text()
        for package in PROGRAM.PACKAGES:
            self.assertRegex(setup, rf"(?m)^bench \| python3-{package} ")

    @unittest.skipUnless(sys.prefix != "/usr" and os.path.exists("/usr/lib/python3/dist-packages/jinja2"),
                         "there is no other Python that has them")
    def test_a_python_without_the_packages_leaves_its_place_to_debians(self):
        done = subprocess.run([sys.executable, "-I", "-S", LAB, "list"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_it_imports_nothing_else_that_is_not_pythons(self):
        imported = set()
        for file in LAB.parent.glob("keel_lab/*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                names = [name.name for name in node.names] if isinstance(node, ast.Import) else \
                    [node.module] if isinstance(node, ast.ImportFrom) else []
                imported |= {name.partition(".")[0] for name in names}
        # Jinja2 stands on MarkupSafe.
        self.assertEqual(imported - set(sys.stdlib_module_names) - {"keel_lab", "markupsafe"}, set(PROGRAM.PACKAGES))

    def test_a_python_that_is_too_old_is_named(self):
        with mock.patch.object(sys, "version_info", (3, 10, 14)), contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(PROGRAM.main(["list"]), 2)
        self.assertIn("Python 3.11 or later is needed", said.getvalue())

    def test_a_mistake_of_the_user_is_a_line(self):
        done = call("run", "nothing", "--plan")
        self.assertEqual((done.returncode, done.stderr), (2, "no experiment nothing: bench/lab list has them all\n"))
        done = call("show", "/nowhere/result.json")
        self.assertEqual((done.returncode, done.stderr), (2, "/nowhere/result.json: No such file or directory\n"))

    def test_help_goes_to_standard_output(self):
        done = call("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("usage: bench/lab SUBCOMMAND", done.stdout)

    def test_a_plan_needs_no_build_and_a_run_does(self):
        plan = call("run", "raw-loops", "--plan", "--build", "/nowhere")
        self.assertEqual((plan.returncode, plan.stderr), (0, ""))
        self.assertIn("raw-loops", plan.stdout)
        run = call("run", "raw-loops", "--build", "/nowhere")
        self.assertEqual(run.returncode, 2)
        self.assertIn("no bench/bench_client under /nowhere", run.stderr)


OWN = """\
id: own
question: Which?
work: {{path: /, connections: 4, expect: {{status: 200, type: text/plain, body: hello}}}}
sides:
  one: {{serve: [{python}, {server}, "{{port}}", none, {log}]}}
comparisons:
  - {{a: one, b: one, of: cpu_us}}
"""


class Ended(unittest.TestCase):
    def run_until_it_measures(self, folder):
        """`bench/lab run`, when its first server has had a request; its output."""
        file, log = pathlib.Path(folder, "own.yaml"), pathlib.Path(folder, "log")
        server = pathlib.Path(__file__).with_name("fake_server.py")
        file.write_text(OWN.format(python=sys.executable, server=server, log=log))
        process = subprocess.Popen([
            sys.executable, LAB, "run", file, f"--build={self_test.BUILD}", f"--out={folder}", "--seconds=20"
        ], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.kill)
        end = time.monotonic() + 20
        while not (log.exists() and log.stat().st_size > 0) and time.monotonic() < end:
            time.sleep(0.01)
        return process, log

    def test_by_sigterm_it_ends_its_server_and_keeps_what_was_measured(self):
        with tempfile.TemporaryDirectory(dir=self_test.BUILD) as folder:
            process, log = self.run_until_it_measures(folder)
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=20)
            size = log.stat().st_size
            self.assertEqual(process.returncode, 130, said)
            self.assertIn("Interrupted: what was measured of own is in", said)
            self.assertIn('"complete": false', pathlib.Path(folder, "own.json").read_text())
            time.sleep(0.1)
            self.assertEqual(log.stat().st_size, size, "the server continues")
            self.assertEqual(subprocess.run(["pgrep", "-f", str(log)], capture_output=True).stdout, b"")

    def test_by_an_interrupt_where_nothing_is_kept_it_says_so(self):
        process = subprocess.Popen([sys.executable, LAB, "doctor", f"--build={self_test.BUILD}"],
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.kill)
        process.stdout.readline()  # It has begun to look.
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(said.splitlines()[-1], "bench/lab: interrupted")
        self.assertNotIn("Traceback", said)


class Sources(unittest.TestCase):
    def test_no_line_is_longer_than_120(self):
        files = [LAB, *pathlib.Path(__file__).parent.glob("*.py")]
        found = [f"{file.name}:{number}" for file in files
                 for number, line in enumerate(file.read_text().splitlines(), 1) if len(line) > 120]
        self.assertEqual(found, [])
