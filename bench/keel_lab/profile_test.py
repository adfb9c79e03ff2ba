"""Profiles: the side is at work while perf samples it, inferno is given its stacks, and a refusal says what to do."""

import contextlib
import io
import os
import pathlib
import shutil
import tempfile
import time
import unittest
from unittest import mock

from keel_lab import experiment, profile, self_test

FILE = """\
id: x
question: Which?
work: {path: /plaintext, connections: 4, expect: {status: 200, type: text/plain, body: "Hello, World!"}}
sides:
  one: {serve: [bench/bench_raw_epoll, "--port={port}", "--plaintext={payload}"]}
  other: {serve: [bench/bench_raw_epoll, "--port={port}", "--plaintext={payload}"]}
comparisons:
  - {a: one, b: other, of: cpu_us}
"""


class Profile(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "x.yaml"
        self.file.write_text(FILE)

    def run_it(self, *arguments):
        with contextlib.redirect_stderr(io.StringIO()) as err, contextlib.redirect_stdout(io.StringIO()) as out:
            code = profile.main([str(self.file), f"--build={self_test.BUILD}", *arguments])
        return code, out.getvalue() + err.getvalue()

    def plant_perf(self, text):
        self.plant("perf", text)

    def plant_inferno(self):
        self.plant("inferno-collapse-perf", "#!/bin/sh\nexec wc -l\n")
        self.plant("inferno-flamegraph", "#!/bin/sh\necho \"<svg>$(cat)</svg>\"\n")

    def plant(self, name, text):
        program = self.folder / name
        program.write_text(text)
        program.chmod(0o755)
        self.enterContext(mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"))

    def test_a_side_that_the_experiment_does_not_have_is_named_with_those_it_has(self):
        code, said = self.run_it("--side=third")
        self.assertEqual(code, 1)
        self.assertIn("x has no side third with work (there are: one, other)", said)

    def test_a_refusal_of_perf_is_said_with_what_helps(self):
        self.plant_perf("#!/bin/sh\necho 'Access to performance monitoring is limited.' >&2\nexit 255\n")
        code, said = self.run_it("--side=one", "--seconds=0.2", f"--flame={self.folder}/x.svg")
        self.assertEqual(code, 1)
        self.assertIn("perf ended with code 255: Access to performance monitoring is limited.", said)
        self.assertIn("kernel.perf_event_paranoid is", said)
        self.assertFalse((self.folder / "x.svg").exists())

    def test_no_perf_is_said_with_what_installs_it(self):
        absent = mock.patch.object(shutil, "which", lambda program: None)
        with absent, self.assertRaises(profile.Invalid) as refused:
            profile.output("perf", "record")
        self.assertEqual(str(refused.exception), "perf is not installed (scripts/setup bench)")

    def test_a_client_that_ends_while_the_side_is_profiled_makes_no_profile(self):
        pid = self.folder / "pid"
        self.plant_perf(f"""#!/bin/sh
until [ -s {pid} ]; do sleep 0.01; done
until grep -q ') Z ' /proc/$(cat {pid})/stat; do sleep 0.01; done
printf 'server 1\\n        1 main (/a)\\n'
""")
        ends = ["sh", "-c", f"echo 3 wrong answers; echo $$ >{pid}"]
        with mock.patch.object(profile.measure, "client_command", lambda *_: ends):
            code, said = self.run_it("--side=one", "--seconds=0.2", f"--flame={self.folder}/x.svg")
        self.assertEqual(code, 1)
        self.assertIn("the client ended before its time: 3 wrong answers", said)
        self.assertFalse((self.folder / "x.svg").exists())

    def of_keel_load(self):
        text = self.file.read_text().replace("work: {", "work: {client: load, ")
        self.file.write_text(text)
        return profile.half_of(experiment.read(str(self.file)), "one", self_test.BUILD)

    def test_a_side_can_be_loaded_by_keel_load(self):
        half, said, keel = self.of_keel_load(), self.folder / "said", self.folder / "keel"
        keel.write_text(f'#!/bin/sh\necho "$@" >{said}.new; mv {said}.new {said}; exec sleep 60\n')
        keel.chmod(0o755)
        settings = profile.runner.settings_of("full", self_test.BUILD, seconds=9)
        payload = profile.measure.payload_for(half, [half])
        with mock.patch.object(profile.sides, "keel", lambda build: str(keel)):
            with profile.loaded(settings, half, payload):
                end = time.monotonic() + 30
                while not said.exists() and time.monotonic() < end:
                    time.sleep(0.01)
                self.assertIn("--request=GET /plaintext", said.read_text())
                self.assertIn("--duration=9s", said.read_text())

    def test_a_side_that_is_only_measured_can_be_profiled(self):
        one = experiment.read_all()["sustained"]
        self.assertEqual(profile.half_of(one, "keel-epoll", self_test.BUILD).work, one.work)

    def of_itself(self, times=300_000):
        """An experiment of a program that measures itself, and burns for a while."""
        program = self.folder / "burns"
        program.write_text("#!/bin/sh\ni=0\nwhile [ $i -lt $1 ]; do i=$((i + 1)); done\necho \"$PLANTED\"\n")
        program.chmod(0o755)
        self.file.write_text("id: x\nquestion: Which?\nwork: {client: itself, arguments: [%d]}\nsides:\n" % times +
                             "  one: {serve: [./burns], environment: {PLANTED: value}}\n"
                             "comparisons: [{a: one, b: one, of: cpu_us}]\n")
        return program

    def of_a_benchmark(self, times=300_000):
        """An experiment of two benchmarks; the program burns and says how it was called."""
        program = self.folder / "made_up_bench"
        program.write_text("#!/bin/sh\n[ \"$1\" = --benchmark_list_tests=true ] && printf 'f/1\\nf/10\\n' && exit\n"
                           f"echo \"$@\" >>{self.folder}/called\n"
                           f"i=0\nwhile [ $i -lt {times} ]; do i=$((i + 1)); done\n")
        program.chmod(0o755)
        self.file.write_text("id: x\nquestion: How fast?\nkind: micro\n"
                             f"program: {program}\ncases: {{few: f/1, many: f/10}}\n")
        return program

    def test_a_program_that_measures_itself_becomes_a_flame_graph(self):
        self.of_itself()
        self.drawn("one")

    def test_a_case_becomes_a_flame_graph_of_its_benchmark_alone(self):
        self.of_a_benchmark()
        self.drawn("few")
        self.assertEqual((self.folder / "called").read_text(),
                         "--benchmark_filter=^f/1$ --benchmark_min_time=1.0\n")

    def drawn(self, name):
        """Runs it with the inferno that is planted: it says how many lines of stacks it was given."""
        self.plant_inferno()
        self.may_sample()
        code, said = self.run_it(f"--side={name}", "--seconds=1", f"--flame={self.folder}/x.svg")
        self.assertEqual(code, 0, said)
        self.assertIn("x.svg: open it in a browser", said)
        self.assertRegex((self.folder / "x.svg").read_text(), r"<svg>\d{2,}</svg>")

    def may_sample(self):
        try:
            profile.output("perf", "record", "--quiet", "--event=cpu-clock", f"--output={self.folder}/try", "true")
        except profile.Invalid as why:
            self.skipTest(str(why))

    def test_a_program_that_fails_is_no_profile(self):
        self.of_itself()
        self.plant("perf", "#!/bin/sh\necho planted >&2\nexit 3\n")
        code, said = self.run_it("--side=one", f"--flame={self.folder}/x.svg")
        self.assertEqual((code, "perf ended with code 3: planted" in said), (1, True), said)

    def test_a_case_that_is_not_there_is_named_with_those_that_are(self):
        self.of_a_benchmark()
        code, said = self.run_it("--side=third")
        self.assertEqual(code, 1)
        self.assertIn("x has no case third (there are: few, many)", said)
        self.file.write_text(self.file.read_text().replace("made_up_bench", "nowhere_bench"))
        code, said = self.run_it("--side=few")
        self.assertEqual((code, "nowhere_bench: not found" in said), (1, True), said)

    def test_an_idle_side_is_no_profile(self):
        self.plant_perf("#!/bin/sh\nexit 0\n")
        code, said = self.run_it("--side=one", "--seconds=0.2", f"--flame={self.folder}/x.svg")
        self.assertEqual((code, "took no samples" in said), (1, True), said)

    def test_a_side_at_work_becomes_a_flame_graph(self):
        self.drawn("one")

    def test_without_anything_that_draws_the_stacks_are_kept(self):
        self.plant("perf", "#!/bin/sh\nprintf 'server 1\\n        1 main (/a)\\n'\n")
        for program in ("inferno-collapse-perf", "cargo"):
            self.plant(program, "#!/bin/sh\necho planted >&2\nexit 1\n")
        code, said = self.run_it("--side=one", "--seconds=0.2", f"--flame={self.folder}/x.svg")
        self.assertEqual(code, 1)
        self.assertIn("x.perf has the stacks, for profiler.firefox.com", said)
        self.assertIn("main (/a)", (self.folder / "x.perf").read_text())
