import contextlib
import io
import pathlib
import tempfile
import unittest

from keel_lab import fixtures, history, record


def days(*medians, spread=0.0, **more):
    return [
        (f"2026-01-{at:02}", {"a": fixtures.found("a", values=[fixtures.value("v", median, spread=spread)], **more)})
        for at, median in enumerate(medians, 1)
    ]


class History(unittest.TestCase):
    def test_lists_each_figure_from_the_oldest_to_the_newest(self):
        self.assertIn("10 → 12 → 11 ns  -8.3 % since 2026-01-02", history.text(history.trends(days(10, 12, 11))))

    def test_says_when_a_change_is_within_the_intervals(self):
        self.assertIn(
            "+5.0 % since 2026-01-01, within the intervals", history.text(history.trends(days(100, 105, spread=0.1)))
        )

    def test_one_result_has_no_change_and_nothing_is_divided_by_0(self):
        self.assertEqual(history.change([(day, value) for day, value in history.trends(days(5))["a"]["v"]]), "")
        self.assertEqual(history.change(history.trends(days(0, 5))["a"]["v"]), "")

    def test_an_interrupted_result_has_no_part(self):
        self.assertEqual(history.trends(days(5, complete=False)), {})

    def test_the_command_reads_dated_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                self.assertEqual(history.main(["--results", folder]), 0)
                for day, found in days(10, 12):
                    pathlib.Path(folder, f"{day}.tsv").write_text(record.text(found.values()))
                self.assertEqual(history.main(["--results", folder]), 0)
            self.assertIn("no dated results", out.getvalue())
            self.assertIn("10 → 12", out.getvalue())
