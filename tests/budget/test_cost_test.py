"""scripts/test-cost: the budget that it reads from CONTRIBUTING.md, and how it judges a figure. Nothing is measured."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = """# Contributing

| 1000 | a table of another section |
|---|---|
| 1000 | does not count |

## Time of the tests

Words | with a line.

| seconds | what needs them |
|---|---|
| 540 | the rest |
| 45 | `suite` (20 s | and 25 s) |
|   5   | more |

## After it

| 1000 | neither |
|---|---|
| 1000 | does this |
"""


def run(*options):
    done = subprocess.run([ROOT / "scripts/test-cost", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = os.path.join(folder.name, "page.md")

    def write(self, text):
        pathlib.Path(self.page).write_text(text, encoding="utf-8")


class Budget(Page):
    def test_is_the_sum_of_the_first_column_of_the_table_below_its_heading(self):
        self.write(PAGE)
        self.assertEqual(run("--budget", self.page), (0, "590\n", ""))

    def test_refuses_a_row_without_a_whole_number_of_seconds(self):
        for wrong in ("", "a minute", "45 s", "4.5", "-45", "0"):
            with self.subTest(wrong):
                self.write(PAGE.replace("| 45 |", f"| {wrong} |"))
                code, said, error = run("--budget", self.page)
                self.assertEqual((code, said), (1, ""))
                self.assertIn("no whole number of seconds", error)
                self.assertIn("`suite`", error)

    def test_refuses_a_page_without_the_table(self):
        for text in ("", PAGE.replace("## Time of the tests", "## Another"), "## Time of the tests\n\nNone.\n",
                     "## Time of the tests\n\n| seconds | what |\n|---|---|\n"):
            self.write(text)
            code, said, error = run("--budget", self.page)
            self.assertEqual((code, said), (1, ""), text)
            self.assertIn("no table", error)

    def test_of_this_repository_is_that_of_its_page(self):
        text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        section = text.split("\n## Time of the tests\n")[1].split("\n## ")[0]
        seconds = [int(number) for number in re.findall(r"^\| (\d+) \|", section, re.M)]
        self.assertGreater(len(seconds), 10)
        self.assertEqual(run("--budget"), (0, f"{sum(seconds)}\n", ""))


class Judge(Page):
    def test_accepts_a_figure_up_to_the_budget(self):
        self.write(PAGE)
        self.assertEqual(run("--judge", "300.5", self.page), (0, "make test: 5.0 minutes of CPU, of at most 9.8\n", ""))
        self.assertEqual(run("--judge", "590", self.page)[0], 0)

    def test_fails_above_the_budget_and_says_what_to_do(self):
        self.write(PAGE)
        code, said, error = run("--judge", "590.1", self.page)
        self.assertEqual((code, said), (1, "make test: 9.8 minutes of CPU, of at most 9.8\n"))
        self.assertIn("add a line to CONTRIBUTING.md", error)

    def test_scales_a_figure_of_a_machine_that_is_slower_or_faster(self):
        self.write(PAGE)
        reference = float(re.search(r"^reference=([\d.]+)", (ROOT / "scripts/test-cost").read_text(encoding="utf-8"), re.M)[1])
        self.assertEqual(run("--judge", "1180", self.page, str(2 * reference)),
                         (0, "make test: 9.8 minutes of CPU, of at most 9.8\n", ""))
        self.assertEqual(run("--judge", "1181", self.page, str(2 * reference))[0], 1)
        self.assertEqual(run("--judge", "296", self.page, str(reference / 2))[0], 1)

    def test_compares_numbers_and_not_text(self):
        self.write(PAGE)
        self.assertEqual(run("--judge", "1000", self.page)[0], 1)
        self.assertEqual(run("--judge", "9", self.page)[0], 0)

    def test_fails_where_the_budget_cannot_be_read(self):
        self.write("")
        self.assertEqual(run("--judge", "1", self.page)[0], 1)


class Command(unittest.TestCase):
    def test_refuses_an_option_that_it_does_not_have(self):
        code, _, error = run("--nothing")
        self.assertEqual(code, 2)
        self.assertIn("scripts/test-cost --judge SECONDS", error)


if __name__ == "__main__":
    unittest.main()
