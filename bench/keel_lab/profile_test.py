"""Profiles: stacks are folded right, the graph is one file that needs nothing else, and a refusal says what to do."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import tempfile
import time
import unittest
import xml.etree.ElementTree
from unittest import mock

from keel_lab import callgrind, experiment, flame, profile, self_test

SCRIPT = """\
server 100
            55d0aa inner<int, char>(std::vector<int>&)+0x1f (/bin/server)
            55d0bb outer+0x2 (/bin/server)
            55d0cc main+0x33 (/bin/server)

server 100
        ffffffff81 tcp_sendmsg+0x5 ([kernel.kallsyms])
            55d0bb outer+0x2 (/bin/server)
            55d0cc main+0x40 (/bin/server)

server 100
            7f0011 [unknown] (/lib/libc.so.6)
            55d0cc main+0x33 (/bin/server)

server 101
            55d0aa inner<int, char>(std::vector<int>&)+0x77 (/bin/server)
            55d0bb outer+0x9 (/bin/server)
            55d0cc main+0x33 (/bin/server)
"""
INNER = "inner<int, char>(std::vector<int>&)"
FOLDED = {("server", "main", "outer", INNER): 2, ("server", "main", "outer", "tcp_sendmsg [kernel]"): 1,
          ("server", "main", "[libc.so.6]"): 1}
SVG = "{http://www.w3.org/2000/svg}"
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


class Flame(unittest.TestCase):
    def frames(self, folded=FOLDED):
        root = xml.etree.ElementTree.fromstring(flame.svg(folded, "a <title> & more"))
        return {group.get("data-n"): group for group in root.iter(SVG + "g")}

    def test_stacks_are_folded_from_the_outermost_and_without_offsets(self):
        self.assertEqual(flame.fold(SCRIPT), FOLDED)

    def test_the_last_stack_counts_without_a_line_after_it(self):
        self.assertEqual(flame.fold(SCRIPT.rstrip("\n")), FOLDED)

    def test_no_samples_are_no_stacks(self):
        self.assertEqual(flame.fold(""), {})

    def test_the_width_of_a_frame_is_its_share_and_its_inner_frames_lie_within(self):
        frames = self.frames()
        width = {name: float(frame.get("data-w")) for name, frame in frames.items()}
        self.assertEqual((width["all"], width["main"]), (1200, 1200))
        self.assertEqual((width["outer"], width[INNER], width["[libc.so.6]"]), (900, 600, 300))
        start = {name: float(frame.get("data-x")) for name, frame in frames.items()}
        for name in (INNER, "tcp_sendmsg [kernel]"):
            self.assertGreaterEqual(start[name], start["outer"])
            self.assertLessEqual(start[name] + width[name], start["outer"] + width["outer"])

    def test_a_frame_says_its_name_samples_and_share(self):
        self.assertEqual(self.frames()[INNER].find(SVG + "title").text, f"{INNER}: 2 samples, 50.00 %")

    def test_the_kernel_has_a_colour_of_its_own(self):
        hues = {name: int(re.match(r"hsl\((\d+)", flame.colour(name)).group(1)) for name in ("a", "b [kernel]")}
        self.assertLess(hues["a"], 60)
        self.assertGreater(hues["b [kernel]"], 190)

    def test_the_file_loads_nothing_from_elsewhere(self):
        text = flame.svg(FOLDED, "x")
        self.assertEqual(set(re.findall(r"https?://[^\"]+", text)),
                         {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"})
        self.assertNotRegex(text, r"\b(src|href)=")

    def test_frames_too_narrow_to_see_are_left_out(self):
        self.assertNotIn("rare", self.frames({("p", "often"): 100_000, ("p", "rare"): 1}))


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
        perf = self.folder / "perf"
        perf.write_text(text)
        perf.chmod(0o755)
        self.enterContext(mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"))

    def test_a_side_that_the_experiment_does_not_have_is_named_with_those_it_has(self):
        code, said = self.run_it("--side=third")
        self.assertEqual(code, 1)
        self.assertIn("x has no side third with work for a client (there are: one, other)", said)

    def test_a_refusal_of_perf_is_said_with_what_helps(self):
        self.plant_perf("#!/bin/sh\necho 'Access to performance monitoring is limited.' >&2\nexit 255\n")
        code, said = self.run_it("--side=one", "--seconds=0.2", f"--flame={self.folder}/x.svg")
        self.assertEqual(code, 1)
        self.assertIn("perf record failed: Access to performance monitoring is limited.", said)
        self.assertIn("bench/lab prepare --apply", said)
        self.assertFalse((self.folder / "x.svg").exists())

    def test_no_perf_is_said_with_what_installs_it(self):
        absent = mock.patch.object(shutil, "which", lambda program: None)
        with absent, self.assertRaises(profile.NotProfiled) as refused:
            profile.perf("record")
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
        with mock.patch.object(profile.load_client, "program", lambda build: str(keel)):
            with profile.loaded(settings, half, payload):
                end = time.monotonic() + 30
                while not said.exists() and time.monotonic() < end:
                    time.sleep(0.01)
                self.assertIn("--request=GET /plaintext", said.read_text())
                self.assertIn("--duration=9s", said.read_text())

    def test_callgrind_does_not_count_what_keel_load_asks(self):
        half = self.of_keel_load()
        settings = profile.runner.settings_of("full", self_test.BUILD, seconds=1)
        with mock.patch.object(profile.callgrind, "refusal", lambda: ""), self.assertRaises(profile.NotProfiled) as why:
            profile.count(settings, half, b"", self.folder / "callgrind.out")
        self.assertIn("--flame draws this one", str(why.exception))

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
        try:
            profile.perf("record", "--quiet", "--event=cpu-clock", f"--output={self.folder}/try", "true")
        except profile.NotProfiled as why:
            self.skipTest(str(why))
        code, said = self.run_it(f"--side={name}", "--seconds=1", f"--flame={self.folder}/x.svg")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"x.svg: \d+ samples")
        self.assertIn('data-n="', (self.folder / "x.svg").read_text())

    def test_callgrind_counts_a_program_without_a_client_as_a_whole(self):
        if why := callgrind.refusal():
            self.skipTest(why)
        for made, name in ((self.of_itself, "one"), (self.of_a_benchmark, "many")):
            made(times=2000)
            out = self.folder / f"{name}.out"
            with mock.patch.object(profile.callgrind, "build", lambda targets: self.folder):
                code, said = self.run_it(f"--side={name}", f"--callgrind={out}")
            self.assertEqual(code, 0, said)
            self.assertRegex(said, r"[\d,]{8,} instructions of the whole program")
            self.assertTrue(out.read_text().startswith("# callgrind format"))

    def test_a_program_that_fails_is_no_profile(self):
        self.of_itself().write_text("#!/bin/sh\necho planted >&2\nexit 3\n")
        if not callgrind.refusal():
            code, said = self.run_it("--side=one", f"--callgrind={self.folder}/x.out")
            self.assertEqual(code, 1)
            self.assertIn("ended with code 3", said)
        self.plant_perf("#!/bin/sh\necho planted >&2\nexit 3\n")
        code, said = self.run_it("--side=one", f"--flame={self.folder}/x.svg")
        self.assertEqual((code, "perf record failed: planted" in said), (1, True), said)

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

    def test_a_side_at_work_becomes_a_flame_graph_of_its_own_functions(self):
        try:
            profile.perf("record", "--quiet", "--event=cpu-clock", f"--output={self.folder}/try", "true")
        except profile.NotProfiled as why:
            self.skipTest(str(why))
        code, said = self.run_it("--side=one", "--seconds=1", f"--flame={self.folder}/x.svg")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"x.svg: \d+ samples")
        text = (self.folder / "x.svg").read_text()
        xml.etree.ElementTree.fromstring(text)
        self.assertIn('data-n="bench_raw_epoll"', text)

    def test_callgrind_counts_the_work_and_not_the_start(self):
        if why := callgrind.refusal():
            self.skipTest(why)
        one = experiment.read(str(self.file))
        half = profile.half_of(one, "one", self_test.BUILD)
        settings = profile.runner.settings_of("full", self_test.BUILD, seconds=1)
        payload = profile.measure.payload_for(half, [half])
        with mock.patch.object(profile.counts, "for_callgrind", lambda half: half):     # Without a build of its own.
            total = profile.count(settings, half, payload, self.folder / "callgrind.out")
        self.assertTrue((self.folder / "callgrind.out").read_text().startswith("# callgrind format"))
        self.assertGreater(total, 100 * profile.OPERATIONS)     # A request of the raw loop takes several hundred.
        self.assertLess(total, 10_000 * profile.OPERATIONS)
