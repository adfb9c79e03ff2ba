import json
import pathlib
import tempfile
import unittest

from keel_lab import archive, fixtures, judge, results, show


def whole():
    result = results.new("plaintext", "What?", ["S1-GET"], "quick", "abc", {"cpu": "x"}, {"pairs": 12})
    run = lambda cost, server, client: {"cpu_us": cost, "server_utilisation": server, "client_utilisation": client}
    pairs = [{"a": run(4 + number / 10, 0.85, 0.99), "b": run(8, 0.97, 0.76),
              "repeated": 3 if number == 4 else 2 * (number == 5), "disturbed": number in (4, 5)}
             for number in range(12)]
    row = judge.compare(pairs, "cpu_us", {"kind": "at most", "value": 0.8}, {"low": 0.99, "high": 1.01})
    result["comparisons"].append({"id": "a:b:cpu_us", "a": "a", "b": "b", "work": "/", **row})
    result["values"].append(judge.value("v", "a value", "ns", [1, 2, 3]))
    result["invalid"].append({"what": "c", "why": "it crashed"})
    result["complete"] = True
    return result


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name, "deep/plaintext.json")

    def test_what_was_saved_is_loaded(self):
        result = whole()
        results.save(result, self.path)
        self.assertEqual(results.load(self.path), result)
        self.assertEqual(list(archive.read(self.path.parent)[0]), ["plaintext"])
        self.assertEqual([path.name for path in self.path.parent.iterdir()], ["plaintext.json"])

    def test_each_mistake_is_named(self):
        for change, wanted in ((lambda r: r.pop("values"), "values: is missing"),
                               (lambda r: r.update(schema=2), "schema 2"), (lambda r: r.update(complete="yes"),
                                                                            "complete: bool expected, not str"),
                               (lambda r: r["comparisons"][0].pop("noise"), "comparisons[0]: without noise"),
                               (lambda r: r["comparisons"][0].update(verdict="fine"),
                                "verdict 'fine'"), (lambda r: r["comparisons"][0].update(low=2), "not in order"),
                               (lambda r: r["comparisons"].append(r["comparisons"][0]),
                                "a second a:b:cpu_us"), (lambda r: r["series"].append({
                                    "id": "s",
                                    "name": "",
                                    "unit": "",
                                    "points": [[0, 0]] * 601
                                }), "more than 600")):
            result = whole()
            change(result)
            self.assertIn(wanted, "\n".join(results.check(result)))
            with self.assertRaises(results.Wrong):
                results.save(result, self.path)
            self.assertFalse(self.path.exists())

    def test_a_verdict_of_a_value_is_one_that_readers_know(self):
        judged = {"target": {"kind": "at most", "value": 9.0}}
        for verdict, wrong in (("met", 0), ("splendid", 1)):
            row = fixtures.value("v", 1) | judged | {"verdict": verdict}
            self.assertEqual(len(results.check(fixtures.result(values=[row]))), wrong)

    def test_a_file_that_is_no_result_is_refused_with_its_name(self):
        self.path.parent.mkdir()
        for text in ("{", "[]", json.dumps({"schema": 1})):
            self.path.write_text(text)
            with self.assertRaisesRegex(results.Wrong, "plaintext.json"):
                results.load(self.path)
        with self.assertRaisesRegex(results.Wrong, "nowhere.json"):
            results.load(self.path.with_name("nowhere.json"))

    def test_thinning_keeps_the_first_and_the_last(self):
        kept = results.thinned([[at, at] for at in range(5000)])
        self.assertEqual((len(kept), kept[0], kept[-1]), (600, [0, 0], [4999, 4999]))

    def test_the_text_has_the_ratio_the_verdict_and_what_went_wrong(self):
        text = show.text(whole())
        for wanted in ("0.569", "at most 0.8: met", "INVALID  c: it crashed", "0.512 to 0.625"):
            self.assertIn(wanted, text)
        self.assertNotIn("INTERRUPTED", text)
        self.assertIn("server used 0.85 : 0.97; client used 0.99 : 0.76", text)
        self.assertIn("runs repeated: 5, pairs disturbed: 2", text)
        self.assertNotIn("made of", text)
        absent = {"switches": "needs root", "instructions": results.NOT_ASKED_FOR}
        counted = {"side": "k", "work": "/", "absent": absent}
        text = show.text(whole() | {"versions": {"n": {"nginx": "1.22"}}, "counts": [counted, counted | {"side": "j"}]})
        self.assertIn("  made of  n: nginx 1.22\n", text)
        self.assertIn("  absent   switches of k, j: needs root\n", text)
        self.assertNotIn(results.NOT_ASKED_FOR, text)
        text = show.text(whole() | {"distributions": [fixtures.distribution()]})
        self.assertIn("server used 0.83; client used 0.61", text)
        self.assertIn("INTERRUPTED", show.text(whole() | {"complete": False}))
