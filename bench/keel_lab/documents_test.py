import dataclasses
import pathlib
import tempfile
import unittest
from unittest import mock

from keel_lab import archive, documents, fixtures

FOUND = {
    "plaintext": dataclasses.replace(fixtures.found(
        "plaintext",
        comparisons=[fixtures.comparison("keel:nginx:cpu_us", median=0.8049)],
        values=[
            fixtures.value("total", 12.34, "ms"),
            fixtures.value("rss", 5200, "KB"),
            fixtures.value("rate", 161_234, "/s"),
        ],
    ), began="2026-01-02T03:04:05Z"),
    "broken": fixtures.found("broken", values=[fixtures.value("v", 5.0)], complete=False),
}


def wrong(text):
    return documents.check("README.md", text, FOUND)


class ADocument(unittest.TestCase):
    def test_states_figures_that_a_result_holds_rounded_to_the_digits_written(self):
        for text in (
            "It takes 0.80<!-- lab: plaintext keel:nginx:cpu_us --> of nginx's CPU.",
            "It takes 0.805x<!-- lab: plaintext keel:nginx:cpu_us --> of nginx's CPU.",
            "It is 80 %<!-- lab: plaintext keel:nginx:cpu_us --> of nginx's CPU.",
            "A start takes 12.3 ms<!-- lab: plaintext total -->.",
            "A start takes 12 ms<!-- lab: plaintext total -->, in 5.2 MB<!-- lab: plaintext rss -->.",
            "It answers 160,000 requests/s<!-- lab: plaintext rate -->.",
            "| start | 12 ms<!-- lab: plaintext total --> |",
        ):
            with self.subTest(text):
                self.assertEqual(wrong(text), [])

    def test_may_not_state_another_figure_than_the_result(self):
        for text, said in (
            ("It takes 0.79<!-- lab: plaintext keel:nginx:cpu_us -->", "keel:nginx:cpu_us of 2026-01-02 is 0.805"),
            ("It takes 13 ms<!-- lab: plaintext total -->", "is 12.3 ms"),
            ("It takes 170,000 requests/s<!-- lab: plaintext rate -->", "is 161,000 requests/s"),
            ("It takes 12 KB<!-- lab: plaintext total -->", "a time cannot be held against a size"),
        ):
            with self.subTest(text):
                self.assertIn(said, " ".join(wrong(text)))

    def test_may_not_name_a_result_or_value_that_is_not_there(self):
        self.assertIn("no committed result of json", wrong("3 us<!-- lab: json x:y:cpu_us -->")[0])
        self.assertIn("has no nothing", wrong("3 us<!-- lab: plaintext nothing -->")[0])
        self.assertIn("was interrupted", wrong("5 ns<!-- lab: broken v -->")[0])
        self.assertIn("neither an experiment", wrong("5 ns<!-- lab: plaintext -->")[0])

    def test_may_not_state_a_measured_figure_without_its_result(self):
        for text in (
            "A request costs 4.6 us.",
            "Answers 200,000 requests/s on one core.",
            "A start takes\n12 ms on this machine.",
            "Keel is 1.3x faster than nginx.",
            "It uses 2 times as much CPU time.",
            "Logging costs 5 % of the throughput.",
            "| plaintext | 4.6 us |",
            "Memory was measured: 5 MB.",
            "- a lookup is 2 ns",
        ):
            with self.subTest(text):
                self.assertIn("names no result", " ".join(wrong(text)))

    def test_may_state_settings_limits_dates_and_code(self):
        for text in (
            "An idle connection is closed after 30 s.",
            "`max_body` is 1 MiB, the queue holds 1,024 jobs.",
            "On 2026-01-02 with GCC 12.2 and kernel 6.18, RFC 9110.",
            "```\nit takes 12 ms\n```",
            "It takes `12 ms` in the log.",
            "Text.\n<!-- Written by `make reference`. -->\n| `a` | from 1 ms | what it takes |\n",
            "The interval holds the median with 99.4 %<!-- lab: setting -->.",
            "It waits at most 250 ms<!-- lab: setting -->, which costs nothing.",
            "At least 12 pairs for each comparison, measured in turns.",
        ):
            with self.subTest(text):
                self.assertEqual(wrong(text), [])

    def test_says_file_line_and_figure(self):
        self.assertEqual(
            wrong("# Title\n\nFine.\n\nA request costs 4.6 us.\n"),
            [
                "README.md:5: 4.6 us: names no result: "
                "write 4.6 us<!-- lab: EXPERIMENT VALUE -->, or leave the figure out"
            ],
        )

    def test_has_no_mark_that_belongs_to_no_figure(self):
        self.assertIn("follows no figure", wrong("Fast.<!-- lab: plaintext total -->")[0])
        self.assertIn("follows no figure", wrong("12 ms, fast.<!-- lab: plaintext total -->")[-1])


class TheDocumentsHere(unittest.TestCase):
    def test_state_only_figures_of_committed_results(self):
        found, problems = archive.committed()
        lines = [
            line
            for path in documents.documents()
            for line in documents.check(archive.shown(path), path.read_text(encoding="utf-8"), found)
        ]
        self.assertEqual((lines, problems), ([], []))


class TheCommand(unittest.TestCase):
    def test_fails_when_a_document_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.md")
            with mock.patch("sys.stdout"), mock.patch("sys.stderr"):
                path.write_text("A request costs 4.6 us.")
                self.assertEqual(documents.main([str(path)]), 1)
                path.write_text("A request costs little.")
                self.assertEqual(documents.main([str(path)]), 0)
