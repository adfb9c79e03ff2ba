"""The text form of results: what is written is read again, and a bad line is named with its file."""

import pathlib
import tempfile
import unittest

from keel_lab import archive, fixtures, record, results


def everything(name="a", **more):
    counted = {"side": "keel", "work": "/", "system_calls": 0.14, "instructions": 612.0, "instructions_by": "callgrind",
               "absent": {"switches": "needs root", "allocations": results.NOT_ASKED_FOR}}
    bound = {"id": "a:b:system_calls", "a": "a", "b": "b", "of": "system_calls", "a_value": 0.2, "b_value": 0.1,
             "ratio": 2.0, "target": {"kind": "at most", "value": 1.15}, "verdict": "missed"}
    made = {"comparisons": [fixtures.comparison(client_bound=True, oversubscribed="9 threads on 2 cores")],
            "values": [fixtures.value("v", 1 / 3, spread=0.1)], "counts": [counted], "bounds": [bound],
            "distributions": [fixtures.distribution("keel:80 %")], "series": [fixtures.series()],
            "invalid": [{"what": "c", "why": "it\tcrashed:\n  signal"}], "skipped": [{"what": "d", "why": "no nginx"}],
            "versions": {"nginx": {"nginx": "1.22"}}}
    return fixtures.result(name, **(made | more))


class Folder(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.last, self.dated = pathlib.Path(held.name, "last"), pathlib.Path(held.name, "dated")
        self.dated.mkdir()

    def write(self, text, day="2026-01-02"):
        path = self.dated / f"{day}.tsv"
        path.write_text(text)
        return path


class AsText(Folder):
    def read(self, *results_of):
        found, problems = record.read(self.write(record.text(map(record.of, results_of))))
        self.assertEqual(problems, [])
        return found

    def test_what_was_written_is_read_again(self):
        found = self.read(everything(), everything("b", comparisons=[]))
        self.assertEqual(list(found), ["a", "b"])
        again = record.text(found.values())
        self.assertEqual(again, (self.dated / "2026-01-02.tsv").read_text())

    def test_each_figure_has_its_interval_sides_noise_verdict_and_notes(self):
        one = self.read(everything())["a"]
        row = one.rows["a:b:cpu_us"]
        self.assertEqual((row.median, row.low, row.high, row.noise), (0.8, 0.78, 0.82, (0.99, 1.01)))
        self.assertEqual((row.target, row.verdict, row.runs), ({"kind": "at most", "value": 0.9}, "undecided", 12))
        self.assertEqual((one.find("a:b:cpu_us/a"), one.find("a:b:cpu_us/added")),
                         (record.exact(4, "us"), record.exact(-1, "us")))
        self.assertEqual((row.client_bound, row.oversubscribed), (True, "9 threads on 2 cores"))
        self.assertIn("cv 1.0%", row.notes)
        self.assertEqual(one.find("a:b:cpu_us").unit, "ratio")
        self.assertEqual(one.find("v"), record.Figure(0.33333, 0.3, 0.36667, "ns"))
        self.assertEqual((one.find("a:b:system_calls").median, one.find("a:b:system_calls/b").median), (2, 0.1))
        self.assertEqual(one.find("keel/system_calls"), record.exact(0.14, ""))
        self.assertEqual(one.find("keel:80 %/p99"), record.exact(300, "us"))
        self.assertEqual(one.find("keel:80 %/errors").median, 0)

    def test_the_commit_and_the_machine_stand_above_once_and_what_was_said_below(self):
        found = self.read(everything(), everything("b", machine={"cpu": "another"}), everything("c"))
        text = (self.dated / "2026-01-02.tsv").read_text()
        self.assertEqual(text.count("commit\tabc123"), 2)
        self.assertEqual((found["b"].facts["cpu"], found["c"].facts["cpu"]), ("another", "a CPU"))
        self.assertEqual(found["a"].of("invalid"), [("c", "it crashed: signal")])
        self.assertEqual(found["a"].of("absent"), [("switches of keel", "needs root")])
        self.assertEqual(found["a"].of("made of"), [("nginx", "nginx 1.22")])

    def test_a_verdict_is_that_of_the_whole_interval(self):
        row = fixtures.comparison(median=0.8, low=0.78, high=0.92, verdict="met")
        self.assertEqual(self.read(everything(comparisons=[row]))["a"].rows["a:b:cpu_us"].verdict, "undecided")

    def test_a_bad_line_is_named_with_file_and_line_and_hides_no_other(self):
        good = record.text([record.of(everything())]).splitlines()
        figure = next(line for line in good if line.startswith("figure\ta\tv\t"))
        for bad, wanted in (
                ("fact\t1\tcpu\tx", "'fact' is none of run, experiment, figure, said"),
                ("figure\ta\tx\tns", "figure has 3 cells, not 14"),
                (figure.replace("\tv\t", "\tx\t").replace("0.33333", "many"), "could not convert string to float"),
                (figure.replace("\tv\t", "\tx\t").replace("0.33333", "9"), "low, median and high are not in order"),
                (figure, "a second figure v"),
                (figure.replace("figure\ta", "figure\tz"), "no experiment z above"),
                (figure.replace("\tv\t", "\tx\t").replace("\t7\t\t\t\t", "\t7\t\tat most 1\tfine\t"), "verdict 'fine'"),
                ("experiment\ta\t1\t2026-01-02T03:04:05Z\t1", "a second experiment a"),
                ("experiment\tz\t9\t2026-01-02T03:04:05Z\t1", "no run 9"),
                ("said\ta\tguessed\tx\ty", "'guessed' is none of invalid, skipped, absent, made of")):
            path = self.write("\n".join([*good, bad, ""]))
            found, problems = record.read(path)
            self.assertEqual([line.partition(": ")[0] for line in problems], [f"{path}:{len(good) + 1}"], bad)
            self.assertIn(wanted, problems[0])
            self.assertEqual(len(found["a"].rows), sum(line.startswith("figure") for line in good))

    def test_the_folder_is_small_and_its_lines_are_right(self):
        lines = 0
        for path in archive.days():
            self.assertEqual(record.read(path)[1], [])
            lines += len(path.read_text().splitlines())
        self.assertGreater(lines, 1000)
        self.assertLess(lines / len(archive.days()), 2500)


class Weakness(unittest.TestCase):
    def test_too_few_runs_and_a_client_that_was_the_limit_judge_nothing(self):
        row = record.of(fixtures.result(comparisons=[fixtures.comparison()])).rows["a:b:cpu_us"]
        self.assertEqual(row.weakness, "")
        row.runs = 3
        self.assertEqual(row.weakness, "3 pairs are too few")
        row.notes = (record.CLIENT_BOUND,)
        self.assertEqual(row.weakness, "the client was the limit")

    def test_a_single_value_stands_for_itself(self):
        one = fixtures.value("slope", 5) | {"values": [5]}
        self.assertEqual(record.of(fixtures.result(values=[one])).rows["slope"].weakness, "")


class Archive(Folder):
    def make(self, name, day="2026-01-02", **more):
        made = fixtures.result(name, **({"values": [fixtures.value("v", 1 / 3)]} | more))
        results.save(made | {"began": f"{day}T03:04:05Z"}, self.last / f"{name}.json")

    def keep(self, *names):
        return archive.keep(names, self.last, self.dated)

    def test_results_are_kept_in_the_file_of_their_day_beside_those_that_are_there(self):
        self.make("a")
        self.make("b")
        self.assertEqual(self.keep("a"), 1)
        self.assertEqual(self.keep(), 2)
        self.assertEqual([path.name for path in self.dated.iterdir()], ["2026-01-02.tsv"])
        self.assertEqual(list(archive.committed(self.dated)[0]), ["a", "b"])

    def test_kept_results_do_not_say_where_the_repository_lies(self):
        self.make("a", invalid=[{"what": "x", "why": f"{archive.ROOT}/build/x: not found"}])
        self.keep()
        self.assertEqual(archive.committed(self.dated)[0]["a"].of("invalid"), [("x", "build/x: not found")])

    def test_an_interrupted_result_is_not_kept_and_asking_for_it_is_an_error(self):
        self.make("a", complete=False)
        self.make("b")
        self.assertEqual(self.keep(), 1)
        for name in ("a", "c"):
            with self.assertRaisesRegex(results.Wrong, f"{name}: no complete result"):
                self.keep(name)

    def test_a_file_that_is_spoilt_is_not_written_over(self):
        self.make("a")
        path = self.write("spoilt\n")
        with self.assertRaisesRegex(results.Wrong, "2026-01-02.tsv:1"):
            self.keep()
        self.assertEqual(path.read_text(), "spoilt\n")

    def test_the_last_runs_come_before_kept_ones_of_which_each_experiment_has_its_newest(self):
        for day, cost in (("2026-01-01", 10), ("2026-02-01", 11)):
            self.make("a", day, values=[fixtures.value("v", cost)])
            self.keep()
        where, found, _ = archive.present(self.last / "none", self.dated)
        self.assertEqual((where, found["a"].day, found["a"].find("v").median), (self.dated, "2026-02-01", 11))
        self.assertEqual(archive.present(self.last, self.dated)[0], self.last)

    def test_one_bad_file_hides_no_other(self):
        self.make("a")
        (self.last / "x.json").write_text("[]")
        found, problems = archive.read(self.last)
        self.assertEqual((list(found), len(problems)), (["a"], 1))
        self.assertIn("x.json: a result is a JSON object", problems[0])
