import contextlib
import csv
import io
import pathlib
import tempfile
import unittest

from keel_lab import archive, claims, experiment, fixtures, quantity, report
from keel_lab.yaml_file import Mistakes

CLAIMS = "key,document,group,benchmark,claim,hardware,kind,finding\nS1,S,a group,a thing,12 ns,other,A,\n"
MICRO = (
    "id: micro\nquestion: How fast?\nclaims: [S1]\nkind: micro\nprogram: p_bench\n"
    "cases: {one: one, two: two}\ncomparisons: [{a: one, b: two}]\n"
)


def read(ledger, listed=CLAIMS):
    """Rows of this text against one experiment."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "claims.yaml").write_text(ledger)
        (folder / "claims.csv").write_text(listed)
        return claims.read(
            folder / "claims.yaml", folder / "claims.csv", {"micro": experiment.parse("micro.yaml", MICRO, {})}
        )


def verdict(part, *values, **more):
    rows = read("S1: {kind: ratio, experiment: micro, parts: {it: {value: one, %s}}}" % part)
    result = fixtures.found("micro", values=[fixtures.value("one", *values)], **more)
    return claims.judge(rows, {"micro": result})[0]


class TheLedger(unittest.TestCase):
    def test_has_a_row_for_each_of_the_141_claims_and_names_only_what_exists(self):
        rows = claims.read()

        self.assertEqual(len(rows), 141)
        self.assertEqual([row.claim["key"] for row in rows], [claim["key"] for claim in claims.read_claims()])
        for row in rows:
            self.assertTrue(row.parts or row.open or row.incomparable, row.claim["key"])

    def test_calls_open_what_waits_for_a_system_and_not_incomparable(self):
        rows = {row.claim["key"]: row for row in claims.judge(claims.read(), {})}
        for key in ("S0-ISO-3", "S0-ISO-4", "S4-64", "S4-256", "S4-1K", "S4-8K", "S4-LAT", "S4-50", "S4-CONN"):
            self.assertEqual((rows[key].verdict, rows[key].why[:10]), ("open", "waits for "), key)

    def test_takes_no_run_of_a_minute_for_a_test_of_stability(self):
        experiments = experiment.read_all()
        for row in claims.read():
            for part in row.parts:
                if part.value.endswith("rss-slope"):
                    self.assertGreaterEqual(experiments[part.experiment].seconds, 1800, row.claim["key"])

    def test_and_the_experiments_know_the_same_claims(self):
        known = {claim["key"] for claim in claims.read_claims()}
        for one in experiment.read_all().values():
            self.assertLessEqual(set(one.claims), known, one.id)

    def test_answers_at_least_35_claims_by_runs(self):
        self.assertGreaterEqual(sum(bool(row.parts) and not row.incomparable for row in claims.read()), 35)

    def test_judges_at_least_35_claims_by_the_committed_results(self):
        found, problems = archive.committed()
        judged = [row for row in claims.judge(claims.read(), found) if row.verdict not in ("open", "not comparable")]
        self.assertEqual(problems, [])
        self.assertGreaterEqual(len(judged), 35)

    def test_without_results_everything_waits_and_says_for_what(self):
        rows = claims.judge(claims.read(), {})

        self.assertEqual({row.verdict for row in rows}, {"open", "not comparable"})
        self.assertTrue(all(row.why for row in rows))


class AMistakeInTheLedger(unittest.TestCase):
    def mistakes(self, ledger, listed=CLAIMS):
        with self.assertRaises(Mistakes) as raised:
            read(ledger, listed)
        return " ".join(raised.exception.lines)

    def test_a_missing_row_and_an_unknown_one_are_named(self):
        said = self.mistakes("S2: {kind: ratio, open: the moon}")
        self.assertIn("no row for S1", said)
        self.assertIn("S2: no such claim", said)

    def test_an_experiment_or_value_that_does_not_exist_is_an_error(self):
        self.assertIn(
            "no experiment macro",
            self.mistakes("S1: {kind: ratio, experiment: macro, parts: {it: {value: one, beats: at most 1}}}"),
        )
        self.assertIn(
            "micro gives no three",
            self.mistakes("S1: {kind: ratio, experiment: micro, parts: {it: {value: three, beats: at most 1}}}"),
        )
        self.assertIn(
            "gives no one/p99",
            self.mistakes("S1: {kind: ratio, experiment: micro, parts: {it: {value: one/p99, beats: at most 1}}}"),
        )

    def test_a_count_that_an_experiment_does_not_ask_for_is_no_value_of_it(self):
        self.assertEqual(
            claims.figures_of(experiment.read_all()["idle-connections"]),
            {f"keel-idle-{engine}{end}" for engine in ("uring", "epoll")
             for end in ("/bytes_per_connection", ":512:bytes_per_connection")},
        )

    def test_a_row_answers_or_is_open_or_cannot_be_compared(self):
        self.assertIn("exactly one of", self.mistakes("S1: {kind: ratio}"))
        self.assertIn(
            "exactly one of", self.mistakes('S1: {kind: not comparable, open: the moon, "not comparable": it is far}')
        )
        self.assertIn(
            "is not open",
            self.mistakes("S1: {kind: ratio, experiment: micro, open: x, parts: {it: {value: one, beats: at most 1}}}"),
        )
        self.assertIn("`not comparable` exactly where", self.mistakes('S1: {kind: ratio, "not comparable": it is far}'))

    def test_a_limit_is_needed_and_must_be_readable(self):
        self.assertIn(
            "a limit is needed", self.mistakes("S1: {kind: ratio, experiment: micro, parts: {it: {value: one}}}")
        )
        self.assertIn(
            "is no limit",
            self.mistakes("S1: {kind: ratio, experiment: micro, parts: {it: {value: one, beats: faster}}}"),
        )

    def test_a_line_and_a_key_say_where(self):
        self.assertIn(
            "claims.yaml:2: S1.kind: 'guess' is none of", self.mistakes("\nS1: {kind: guess, open: the moon}")
        )


class AVerdict(unittest.TestCase):
    def test_is_beaten_or_missed_only_when_the_whole_interval_is_on_that_side(self):
        self.assertEqual(verdict("beats: at most 12 ns", 10, "ns", 0.1).verdict, "beaten")
        self.assertEqual(verdict("beats: at most 12 ns", 12.5, "ns", 0.1).verdict, "undecided")
        self.assertEqual(verdict("beats: at most 12 ns", 11.5, "ns", 0.1).verdict, "undecided")
        self.assertEqual(verdict("beats: at most 12 ns", 15, "ns", 0.1).verdict, "missed")
        self.assertEqual(verdict("beats: at least 12 /s", 15, "/s", 0.1).verdict, "beaten")
        self.assertEqual(verdict("beats: at least 12 /s", 10, "/s", 0.1).verdict, "missed")

    def test_is_met_when_the_whole_interval_is_right_and_none_of_it_better(self):
        self.assertEqual(verdict("beats: at most 0 allocations", 0, "allocations").verdict, "met")
        self.assertEqual(verdict("beats: at most 12 ns", 12 / 1.1, "ns", 0.1).verdict, "met")
        self.assertEqual(verdict("beats: at least 10.8 /s", 12, "/s", 0.1).verdict, "met")

    def test_holds_a_time_against_a_rate(self):
        row = verdict("beats: at least 1 M/s", 500, "ns", 0.1)
        self.assertEqual(row.verdict, "beaten")
        self.assertEqual(row.parts[0].ours(), "2 M/s (1.82 M/s – 2.22 M/s)")
        self.assertEqual(verdict("beats: at least 1 M/s", 2, "us").verdict, "missed")

    def test_contradicts_a_statement_that_our_interval_excludes(self):
        self.assertEqual(verdict("holds: at least 400", 120, "x", 0.1).verdict, "contradicted")
        self.assertEqual(verdict("holds: at least 400", 390, "x", 0.1).verdict, "undecided")
        self.assertEqual(verdict("holds: at least 400", 500, "x", 0.1).verdict, "met")
        self.assertEqual(verdict("holds: between 0.9 and 1.1", 1, "x", 0.05).verdict, "met")
        self.assertEqual(verdict("holds: between 0.9 and 1.1", 1.3, "x", 0.1).verdict, "contradicted")

    def test_of_an_interrupted_or_absent_run_is_open(self):
        self.assertIn("interrupted", verdict("beats: at most 12 ns", 10, complete=False).why)
        rows = read("S1: {kind: ratio, experiment: micro, parts: {it: {value: two, beats: at most 12 ns}}}")
        result = fixtures.found("micro", invalid=[{"what": "two", "why": "it crashed"}])
        self.assertEqual(
            claims.judge(rows, {"micro": result})[0].why, "waits for a run of micro that has two: two: it crashed"
        )

    def test_needs_enough_pairs_and_a_server_that_was_the_limit(self):
        rows = read("S1: {kind: ratio, experiment: micro, parts: {it: {value: 'one:two:ns', beats: at most 2}}}")
        for change, said in (
            ({}, ""),
            ({"ratios": [0.8] * 2}, "pairs are too few"),
            ({"client_bound": True}, "client was the limit"),
        ):
            comparison = fixtures.comparison("one:two:ns") | change
            row = claims.judge(rows, {"micro": fixtures.found("micro", comparisons=[comparison])})[0]
            self.assertEqual(row.verdict, "open" if said else "beaten")
            self.assertIn(said, row.why)
        few = fixtures.value("one", 5) | {"values": [5, 5]}
        rows = read("S1: {kind: ratio, experiment: micro, parts: {it: {value: one, beats: at most 12 ns}}}")
        self.assertIn(
            "2 rounds are too few", claims.judge(rows, {"micro": fixtures.found("micro", values=[few])})[0].why
        )

    def test_of_several_parts_is_the_worst_and_says_how_many(self):
        rows = read(
            "S1: {kind: ratio, experiment: micro, parts: "
            "{a: {value: one, beats: at most 9 ns}, b: {value: two, beats: at most 9 ns}}}"
        )
        result = fixtures.found("micro", values=[fixtures.value("one", 5), fixtures.value("two", 50)])
        row = claims.judge(rows, {"micro": result})[0]
        self.assertEqual((row.verdict, row.why), ("missed", "1 of 2"))

    def test_a_figure_without_a_verdict_is_shown_where_nothing_can_be_compared(self):
        rows = read(
            'S1: {kind: not comparable, experiment: micro, "not comparable": it is far, parts: {it: {value: one}}}'
        )
        row = claims.judge(rows, {"micro": fixtures.found("micro", values=[fixtures.value("one", 5)])})[0]
        self.assertEqual((row.verdict, claims.cells(row)["ours"]), ("not comparable", "it: 5 ns"))

    def test_says_where_threads_took_turns(self):
        label = {"oversubscribed": "9 threads on 2 cores"}
        comparison = fixtures.comparison("one:two:ns") | label
        result = fixtures.found("micro", comparisons=[comparison], values=[fixtures.value("one", 5) | label])
        for value in ("one", "'one:two:ns'", "'one:two:ns/a'"):
            limit = "holds: at most 9" + ("" if value == "'one:two:ns'" else " ns")
            rows = read("S1: {kind: ratio, experiment: micro, parts: {it: {value: %s, %s}}}" % (value, limit))
            self.assertIn("oversubscribed: 9 threads on 2 cores", claims.text(claims.judge(rows, {"micro": result})))
        self.assertNotIn("oversubscribed", claims.text([verdict("beats: at most 9 ns", 5)]))

    def test_a_unit_that_does_not_fit_is_no_silent_verdict(self):
        with self.assertRaises(quantity.Unreadable):
            verdict("beats: at most 12 ns", 10, "B")


class Figures(unittest.TestCase):
    def test_are_found_by_id_side_and_percentile(self):
        result = fixtures.found(
            comparisons=[fixtures.comparison()],
            distributions=[fixtures.distribution()],
            counts=[{"side": "keel", "work": "/", "allocations": 0.0, "system_calls": None, "absent": {}}],
            bounds=[
                {
                    "id": "a:b:system_calls",
                    "a": "a",
                    "b": "b",
                    "of": "system_calls",
                    "a_value": 2.0,
                    "b_value": 4.0,
                    "ratio": 0.5,
                    "target": None,
                    "verdict": "no target",
                }
            ],
        )
        self.assertEqual(result.find("a:b:cpu_us").median, 0.8)
        self.assertEqual(
            (result.find("a:b:cpu_us/b").median, result.find("a:b:cpu_us/b").unit), (5.0, "us")
        )
        self.assertEqual(result.find("keel/p99").median, 300.0)
        self.assertEqual(result.find("keel/max").median, 1500.0)
        self.assertEqual(result.find("keel/achieved").unit, "/s")
        self.assertEqual(result.find("keel/errors").median, 0)
        self.assertEqual(result.find("keel/allocations").median, 0.0)
        self.assertEqual(result.find("a:b:system_calls").median, 0.5)
        for name in ("nothing", "keel/p12", "keel/system_calls", "a:b:cpu_us/c"):
            self.assertIsNone(result.find(name), name)


class Output(unittest.TestCase):
    def rows(self):
        rows = read(
            'S1: {kind: absolute on other hardware, experiment: micro, note: "<b>", '
            "parts: {it: {value: one, beats: at most 12 ns}}}",
            CLAIMS.replace("a thing", "<script>alert(1)</script>"),
        )
        return claims.judge(rows, {"micro": fixtures.found("micro", values=[fixtures.value("one", 10)])})

    def test_the_line_counts_each_verdict(self):
        self.assertEqual(
            claims.summary(self.rows()), "1 claims: 1 beaten, 0 met, 0 undecided, 0 missed, 0 contradicted, "
            "0 not comparable, 0 open",
        )

    def test_the_table_labels_figures_of_other_hardware(self):
        said = claims.text(self.rows())
        self.assertIn("beaten", said)
        self.assertIn("absolute on other hardware; experiment micro", said)

    def test_the_csv_has_a_row_for_each_claim(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "out.csv")
            claims.write_csv(self.rows(), path)
            with open(path, newline="") as file:
                self.assertEqual([row["ours"] for row in csv.DictReader(file)], ["it: 10 ns"])

    def test_the_page_escapes_what_it_is_given(self):
        made = report.html({}, "build/lab/results", [], self.rows())
        self.assertNotIn("<script>", made)
        self.assertIn("&lt;script&gt;", made)

    def test_the_command_prints_only_the_line_when_asked(self):
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
            self.assertEqual(claims.main(["--summary", "--results", folder]), 0)
        self.assertRegex(out.getvalue(), r"^141 claims: .* open.*\n$")
