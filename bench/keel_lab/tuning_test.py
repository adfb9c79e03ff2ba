import pathlib
import tempfile
import unittest

from keel_lab import archive, documents, experiment, fixtures, tuning
from keel_lab.yaml_file import Mistakes

MICRO = "id: micro\nquestion: How fast?\nkind: micro\nprogram: p\ncases: {a: a, b: b}\ncomparisons: [{a: a, b: b}]\n"
ROW = "- {says: do it, source: S0 §5, experiment: micro, value: 'a:b:ns'%s}\n"


def read(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "tuning.yaml")
        path.write_text(text)
        return tuning.read(path, {"micro": experiment.parse("micro.yaml", MICRO, {})})


def verdict(low, median, high, more="", **row):
    result = fixtures.found(
        "micro", comparisons=[fixtures.comparison("a:b:ns", median, low, high, None, "no target", **row)]
    )
    return tuning.verdict(read(ROW % more)[0], {"micro": result})


class AVerdict(unittest.TestCase):
    def test_is_help_or_harm_when_the_interval_excludes_1_and_the_effect_is_beyond_the_noise(self):
        self.assertEqual(verdict(0.85, 0.9, 0.95), "helps: 0.900 (0.850 – 0.950)")
        self.assertTrue(verdict(1.05, 1.1, 1.15).startswith("hurts"))
        self.assertTrue(verdict(1.05, 1.1, 1.15, ", more is better: true").startswith("helps"))
        self.assertTrue(verdict(0.9, 0.98, 1.02).startswith("no difference seen"))

    def test_is_no_difference_within_the_noise_of_a_side_against_itself(self):
        noise = {"low": 0.9, "high": 1.1}
        self.assertTrue(verdict(0.94, 0.95, 0.96).startswith("helps"))
        result = fixtures.comparison("a:b:ns", 0.95, 0.94, 0.96, None, "no target") | {"noise": noise}
        said = tuning.verdict(read(ROW % "")[0], {"micro": fixtures.found("micro", comparisons=[result])})
        self.assertTrue(said.startswith("no difference seen"))

    def test_is_undecided_with_too_few_pairs_or_a_client_that_was_the_limit(self):
        for change, said in (
            ({"ratios": [0.5] * 2}, "pairs are too few"),
            ({"client_bound": True}, "the client was the limit"),
        ):
            row = fixtures.comparison("a:b:ns", 0.5, 0.4, 0.6, None, "no target") | change
            found = tuning.verdict(read(ROW % "")[0], {"micro": fixtures.found("micro", comparisons=[row])})
            self.assertIn(said, found)

    def test_says_where_threads_took_turns(self):
        self.assertEqual(verdict(0.85, 0.9, 0.95, oversubscribed="9 threads on 2 cores"),
                         "helps: 0.900 (0.850 – 0.950), oversubscribed: 9 threads on 2 cores")

    def test_of_what_was_not_measured_is_open(self):
        rows = read(
            ROW % "" + "- {says: x, source: S0, open: the moon}\n- {says: y, source: S0, not comparable: it is far}\n"
        )
        self.assertEqual(
            [tuning.verdict(row, {}) for row in rows],
            ["open: waits for a dated result of micro", "open: waits for the moon", "not comparable: it is far"],
        )
        interrupted = {"micro": fixtures.found("micro", complete=False)}
        self.assertTrue(tuning.verdict(rows[0], interrupted).startswith("open"))


class AMistake(unittest.TestCase):
    def test_in_the_list_is_named(self):
        for text, said in (
            ("- {says: x, source: S0, experiment: macro, value: v}", "no experiment macro"),
            ("- {says: x, source: S0, experiment: micro, value: v}", "micro gives no v"),
            ("- {says: x, source: S0, experiment: micro}", "belong together"),
            ("- {says: x, source: S0}", "exactly one of"),
            ("- {says: x, open: y}", "source: is missing"),
            ("- {says: x, source: S0, opened: y}", "no such key"),
        ):
            with self.subTest(text), self.assertRaises(Mistakes) as raised:
                read(text)
            self.assertIn(said, str(raised.exception))


class TheDocument(unittest.TestCase):
    def test_has_the_table_that_list_and_results_give(self):
        self.assertEqual(tuning.check(archive.committed()[0]), [])

    def test_that_drifted_is_a_mistake_until_it_is_written_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "tuning.md")
            path.write_text(
                tuning.DOCUMENT.read_text().replace("| helps", "| hurts").replace("| open: waits", "| helps: waits", 1)
            )
            self.assertIn("--write", tuning.check(archive.committed()[0], path)[0])
            tuning.check(archive.committed()[0], path, write=True)
            self.assertEqual(tuning.check(archive.committed()[0], path), [])
            path.write_text("# Tuning\n")
            self.assertIn("no place for the table", tuning.check({}, path)[0])

    def test_may_state_figures_in_the_table_only(self):
        text = f"# T\n\n{tuning.BEGIN}\n| costs 5 % |\n{tuning.END}\nIt costs 5 %.\n"
        self.assertEqual(len(documents.check("docs/tuning.md", text, {})), 1)
        self.assertIn(":8:", documents.check("docs/tuning.md", text, {})[0])
        self.assertEqual(len(documents.check("docs/other.md", text, {})), 2)

    def test_names_a_recommendation_for_each_part_of_the_sources(self):
        sources = " ".join(row["source"] for row in tuning.read())
        for part in (
            "thread pool sizing",
            "custom allocators",
            "memory pool",
            "disk I/O",
            "network tuning",
            "high-throughput",
            "database-heavy",
            "low-latency",
            "Reactor per core §2.1",
            "Reactor per core §2.2",
            "Reactor per core §2.3",
            "executor tips",
            "event bus tips",
        ):
            self.assertIn(part, sources)
