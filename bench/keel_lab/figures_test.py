import pathlib
import tempfile
import unittest

from keel_lab import experiment, figures, results
from keel_lab.measure import Settings
from keel_lab.yaml_file import Mistakes

FILE = """id: x
question: How much?
kind: figures
program: idle_bench
seconds: 0.1
rounds: 6
cases:
  core: {figure: core_percent, unit: "%", target: at most 1 %}
  memory: {figure: kb, unit: KB}
"""


class Progress:
    def steps(self, line, count, seconds):
        return lambda: None


class Figures(unittest.TestCase):
    def measured(self, script, file=FILE):
        """The result where the program is a script of the shell."""
        with tempfile.TemporaryDirectory() as build:
            program = pathlib.Path(build, "src/idle_bench")
            program.parent.mkdir()
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
            one = experiment.parse("x.yaml", file, {})
            result = results.new("x", "?", [], "full", "abc", {}, {})
            figures.Figures().measure(one, Settings(build=pathlib.Path(build)), result, Progress())
        self.assertEqual(results.check(result), [])
        return result

    def test_each_figure_is_a_value_with_its_verdict(self):
        core, memory = self.measured("""echo hello; echo '{"core_percent": 0.5, "kb": 7, "more": 1}'""")["values"]
        self.assertEqual((core["id"], core["unit"], core["median"], core["verdict"]), ("core", "%", 0.5, "met"))
        self.assertEqual((memory["id"], len(memory["values"]), memory["median"]), ("memory", 6, 7))
        self.assertNotIn("verdict", memory)

    def test_a_figure_above_its_target_is_missed(self):
        core, _ = self.measured("""echo '{"core_percent": 1.5, "kb": 7}'""")["values"]
        self.assertEqual(core["verdict"], "missed")

    def test_a_program_that_did_not_do_its_work_is_a_row(self):
        for script, why in (("echo lost one >&2; exit 1", "lost one"), ("echo hello", "is no JSON object"),
                            ("echo 3", "is no JSON object"),
                            ("""echo '{"kb": 7}'""", "case core: idle_bench has no figure core_percent: it has kb")):
            result = self.measured(script)
            self.assertEqual(result["values"], [])
            self.assertIn(why, result["invalid"][0]["why"])

    def test_a_program_that_is_not_there_is_skipped(self):
        result = self.measured("", FILE.replace("idle_bench", "another_bench"))
        self.assertIn("no program another_bench", result["skipped"][0]["why"])

    def test_a_case_needs_a_figure_and_its_unit(self):
        with self.assertRaises(Mistakes) as raised:
            experiment.parse("x.yaml", FILE.replace("unit: KB", "target: at most 1 KB"), {})
        self.assertIn("cases.memory: unit: needed", raised.exception.lines[0])


if __name__ == "__main__":
    unittest.main()
