import contextlib
import io
import pathlib
import tempfile
import unittest

from keel_lab import archive, fixtures, history, results


def days(*medians, spread=0.0, **more):
    return [
        (f"2026-01-{at:02}", {"a": fixtures.result("a", values=[fixtures.value("v", median, spread=spread)], **more)})
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

    def test_the_page_has_a_line_for_each_figure_and_escapes_names(self):
        hostile = [("2026-01-01", {"a": fixtures.result("a", values=[fixtures.value("<script>", 1.0)])})]
        made = history.html(hostile + days(10, 12), ["x.json: <b>"])
        self.assertIn('class="spark"', made)
        self.assertIn("&lt;script&gt;", made)
        self.assertNotIn("<script", made)
        self.assertIn("x.json: &lt;b&gt;", made)

    def test_the_command_reads_dated_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            out, page = io.StringIO(), pathlib.Path(folder, "history.html")
            with contextlib.redirect_stdout(out):
                self.assertEqual(history.main(["--results", folder]), 0)
                for day, found in days(10, 12):
                    results.save(found["a"], pathlib.Path(folder, day, "a.json"))
                self.assertEqual(history.main(["--results", folder, "--html", str(page)]), 0)
            self.assertIn("no dated results", out.getvalue())
            self.assertIn("10 → 12", out.getvalue())
            self.assertIn("2 dated results", page.read_text())


class Kept(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.last, self.dated = pathlib.Path(held.name, "last"), pathlib.Path(held.name, "dated")

    def make(self, name, **more):
        series = [{"id": "s", "name": "s", "unit": "KB", "points": [[0, 1], [1, 2]]}]
        made = fixtures.result(name, values=[fixtures.value("v", 1 / 3)], series=series, **more)
        results.save(made | {"began": "2026-01-02T03:04:05Z"}, self.last / f"{name}.json")

    def test_results_lie_with_those_of_their_day_without_series_and_with_shorter_numbers(self):
        self.make("a")
        self.assertEqual(archive.keep((), self.last, self.dated), [self.dated / "2026-01-02/a.json"])
        kept = results.load(self.dated / "2026-01-02/a.json")
        self.assertEqual((kept["series"], kept["values"][0]["median"]), ([], 0.33333))

    def test_kept_results_do_not_say_where_the_repository_lies(self):
        self.make("a", invalid=[{"what": "x", "why": f"{archive.ROOT}/build/x: not found"}])
        archive.keep((), self.last, self.dated)
        kept = results.load(self.dated / "2026-01-02/a.json")
        self.assertEqual(kept["invalid"][0]["why"], "build/x: not found")

    def test_an_interrupted_result_is_not_kept_and_asking_for_it_is_an_error(self):
        self.make("a", complete=False)
        self.make("b")
        self.assertEqual([path.name for path in archive.keep((), self.last, self.dated)], ["b.json"])
        for name in ("a", "c"):
            with self.assertRaisesRegex(results.Wrong, f"{name}: no complete result"):
                archive.keep((name,), self.last, self.dated)

    def test_only_what_is_named_is_kept(self):
        self.make("a")
        self.make("b")
        self.assertEqual([path.name for path in archive.keep(("b",), self.last, self.dated)], ["b.json"])
