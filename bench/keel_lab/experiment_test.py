import tempfile
import unittest

from keel_lab import counts, experiment
from keel_lab.kind import Kind
from keel_lab.kinds import KINDS
from keel_lab.side_file import Side
from keel_lab.yaml_file import Mistakes

SIDES = {name: Side(name, name, ("x",)) for name in ("a", "b", "c")}
GOOD = """\
id: x
question: Which?
work: {path: /, expect: {status: 200, body: hello}}
comparisons:
  - {a: a, b: b, of: cpu_us, target: at most 0.8}
"""


def parsed(text):
    return experiment.parse("x.yaml", text, SIDES)


class Experiments(unittest.TestCase):
    def mistakes(self, text):
        with self.assertRaises(Mistakes) as raised:
            parsed(text)
        return raised.exception.lines

    def test_all_files_of_the_repository_are_right(self):
        self.assertIn("plaintext", experiment.read_all())

    def test_every_kind_says_what_its_file_has_and_how_it_measures_and_docs_name_it(self):
        document = (experiment.ROOT / "docs/lab.md").read_text()
        self.assertEqual({one.kind for one in experiment.read_all().values()}, set(KINDS))
        for name, kind in KINDS.items():
            self.assertLessEqual(set(kind.required), set(kind.keys), name)
            self.assertIn(f"`{name}`", document)
            for method in ("seconds", "measure"):
                self.assertIsNot(getattr(type(kind), method), getattr(Kind, method), name)

    def test_a_may_have_a_target_of_its_own_in_its_unit(self):
        one = parsed(GOOD.replace("target: at most 0.8", "a_target: at most 0.5 us")).comparisons[0]
        self.assertEqual((one.a_target, one.own_id), ({"kind": "at most", "value": 0.5}, "a:cpu_us"))
        self.assertIn("x.yaml:5: comparisons.0.a_target: 'at most 0.5 ns' is no target of us",
                      self.mistakes(GOOD.replace("target: at most 0.8", "a_target: at most 0.5 ns"))[0])

    def test_a_few_lines_are_an_experiment(self):
        one = parsed(GOOD)
        self.assertEqual((one.kind, one.profile, one.comparisons[0].id), ("pairs", "full", "a:b:cpu_us"))
        self.assertEqual(one.comparisons[0].target, {"kind": "at most", "value": 0.8})
        self.assertEqual((one.work.client, one.work.answer, one.work.connections), ("lockstep", "hello", 64))

    def test_no_profile_runs_what_is_long(self):
        every = [parsed(f"{GOOD}profile: {name}\n") for name in ("quick", "full", "long")]
        self.assertEqual([one.profile for one in experiment.of_profile(every, "full")], ["quick", "full"])
        self.assertEqual([one.profile for one in experiment.of_profile(every, "quick")], ["quick"])

    def test_lists_stand_for_every_combination(self):
        one = parsed(
            GOOD.replace("a: a, b: b, of: cpu_us",
                         "a: [a, c], b: b, of: [cpu_us, rate], work: [{depth: 2}, {depth: 4}]"))
        self.assertEqual(len(one.comparisons), 8)
        self.assertEqual(one.comparisons[-1].id, "c:b:rate:/, 4 pipelined")
        self.assertEqual(len({row.pair for row in one.comparisons}), 4)

    def test_each_mistake_has_its_file_line_and_key_and_says_what_is_allowed(self):
        for change, wanted in (
            (("question", "questoin"),
             "x.yaml:2: questoin: no such key; did you mean question?"), (("question: Which?\n", ""),
                                                                          "x.yaml:1: question: is missing"),
            (("id: x", "id: y"),
             "x.yaml:1: id: is 'y', and the file is called 'x'"), (("path: /,", "path: 7,"),
                                                                   "x.yaml:3: work.path: text is needed, not 7"),
            (("work: {path: /,", "work: {client: curl, path: /,"),
             "x.yaml:3: work.client: 'curl' is none of: lockstep, load, bytes, itself"),
            (("path: /,", "path: /, connections: 0,"), "x.yaml:3: work.connections: at least 1 is needed"),
            (("status: 200", "statos: 200"), "x.yaml:3: work.expect.statos: no such key; did you mean status?"),
            (("b: b", "b: d"), "x.yaml:5: comparisons.0.b: no side d (there are: a, b, c)"),
            (("of: cpu_us", "of: system_calls, work: {client: load}"),
             "x.yaml:5: comparisons.0.of: system calls are counted of the clients lockstep and bytes"),
            (("of: cpu_us", "of: speed"), "x.yaml:5: comparisons.0.of: no quantity speed (there are: cpu_us"),
            (("at most 0.8", "below 0.8"), "x.yaml:5: comparisons.0.target: 'below 0.8' is no target"),
            (("at most 0.8", "at most many"), "x.yaml:5: comparisons.0.target: 'at most many' is no target"),
            (("question: Which?", "question: Which?\nkind: race"),
             "x.yaml:3: kind: 'race' is none of: pairs, "), (("question: Which?", "question: Which?\nprofile: slow"),
                                                             "x.yaml:3: profile: 'slow' is none of: full, long, quick"),
            (("question: Which?", "question: Which?\nquestion: Who?"),
             "x.yaml:3: question: is there twice"), (("question: Which?", "question: [Which"),
                                                     "x.yaml:3: not YAML"), (("comparisons:",
                                                                              "counts: [d]\ncomparisons:"),
                                                                             "x.yaml:4: counts.0: no side d"),
            (("comparisons:", "counts: [a]\nbounds: [{a: a, b: b, of: switches, target: at most 2}]\ncomparisons:"),
             "x.yaml:5: bounds.0.b: b is not among what is measured (a)"),
            (("comparisons:", "sides: {d: {serve: ['{prot}']}}\ncomparisons:"),
             "x.yaml:4: sides.d.serve.0: {prot} is no placeholder (allowed: port, "),
            (("comparisons:", "sides: {d: {serve: [x], engines: [iocp]}}\ncomparisons:"),
             "x.yaml:4: sides.d.engines.0: 'iocp' is none of"), (("comparisons:", "sides: {a: {}}\ncomparisons:"),
                                                                 "x.yaml:4: sides.a.serve: is missing")):
            self.assertIn(change[0], GOOD)
            found = self.mistakes(GOOD.replace(*change, 1))
            self.assertTrue(any(line.startswith(wanted) for line in found), (wanted, found))

    def test_what_is_no_name_is_a_mistake_and_not_looked_for(self):
        for change, wanted in (
            (("a: a", "a: [a, {b: c}]"), "x.yaml:5: comparisons.0.a: the name of a side is needed, not {'b': 'c'}"),
            (("of: cpu_us", "of: [cpu_us, [rate]]"),
             "x.yaml:5: comparisons.0.of: the name of a quantity is needed, not ['rate']"),
            (("of: cpu_us", "of: cpu_us, work: [1]"),
             "x.yaml:5: comparisons.0.work: a mapping is needed, or a list of them"),
            (("comparisons:", "counts: [[a]]\ncomparisons:"),
             "x.yaml:4: counts.0: the name of a side is needed, not ['a']"),
            (("id: x", "id: x\nkind: [pairs]"), "x.yaml:2: kind: ['pairs'] is none of: pairs, "),
            (("id: x", "id: x\nprofile: [full]"), "x.yaml:2: profile: ['full'] is none of: full, "),
        ):
            with self.subTest(change):
                self.assertEqual([line[:len(wanted)] for line in self.mistakes(GOOD.replace(*change))], [wanted])

    def test_of_many_names_the_nearest_is_told(self):
        many = {f"side-{number}": SIDES["a"] for number in range(experiment.NAMES_SHOWN + 1)}
        with self.assertRaises(Mistakes) as raised:
            experiment.parse("x.yaml", GOOD.replace("b: b", "b: sid-7"), many | SIDES)
        self.assertEqual(raised.exception.lines, [
            "x.yaml:5: comparisons.0.b: no side sid-7; did you mean side-7? (bench/lab list --sides has them all)"
        ])

    def test_a_file_that_is_not_text_is_a_mistake(self):
        with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
            file.write(b"id: x\nquestion: \xff\n")
            file.flush()
            with self.assertRaises(Mistakes) as raised:
                experiment.read(file.name, {})
        self.assertEqual(raised.exception.lines, [f"{file.name}:2: not UTF-8"])

    def test_all_mistakes_are_told_at_once(self):
        self.assertEqual(len(self.mistakes(GOOD.replace("b: b", "b: d").replace("of: cpu_us", "of: speed"))), 2)

    def test_two_comparisons_of_the_same_name_are_a_mistake(self):
        self.assertIn("a second comparison a:b:cpu_us", self.mistakes(GOOD + "  - {a: a, b: b, of: cpu_us}\n")[0])

    def test_an_empty_file_and_a_list_are_mistakes(self):
        for text in ("", "- a\n"):
            self.assertIn("an experiment is a mapping", self.mistakes(text)[0])

    def test_a_side_with_engines_is_a_side_for_each(self):
        one = parsed(
            GOOD.replace(
                "comparisons:",
                "sides: {k: {engines: [uring, epoll], serve: ['p-{engine}', '--port={port}']}}\ncomparisons:").replace(
                    "b: b", "b: k-epoll"))
        self.assertEqual(one.sides["k-epoll"].serve, ("p-epoll", "--port={port}"))

    def test_cases_of_benchmarks_are_compared_by_name(self):
        micro = "id: x\nquestion: Which?\nkind: micro\nprogram: p\n" \
            "cases: {one: f/1, two: {benchmark: f/2, program: q}}\n"
        one = parsed(micro + "comparisons: [{a: one, b: two, target: above 1}]\n")
        self.assertEqual((one.cases["two"].program, one.comparisons[0].id), ("q", "one:two:ns"))
        self.assertIn("x.yaml:6: comparisons.0.b: no case three (there are: one, two)",
                      self.mistakes(micro + "comparisons: [{a: one, b: three}]\n"))
        self.assertIn("is no regular expression", self.mistakes(micro.replace("f/1", "'f('"))[0])

    def test_what_a_case_has_beyond_another_may_have_a_target(self):
        micro = "id: x\nquestion: Which?\nkind: micro\nprogram: p\ncases: {one: f/1, two: f/2}\n" \
            "comparisons: [{a: one, b: two, added_target: %s}]\n"
        one = parsed(micro % "at most 100 ns")
        self.assertEqual(one.comparisons[0].added_target, {"kind": "at most", "value": 100})
        self.assertIn("one:two:ns:added", KINDS["micro"].figures(one))
        self.assertIn("comparisons.0.added_target: 'at most 1.1' is no target of ns",
                      self.mistakes(micro % "at most 1.1")[0])

    def test_a_case_may_have_threads_and_a_target_in_its_own_unit(self):
        micro = "id: x\nquestion: Which?\nkind: micro\nprogram: p\ncases: {one: {benchmark: f, %s}}\n"
        one = parsed(micro % "threads: 4, target: at most 5 ns").cases["one"]
        self.assertEqual((one.threads, one.target), (4, {"kind": "at most", "value": 5.0}))
        rate = parsed(micro % "counter: c, unit: per second, target: at least 2.5 per second").cases["one"]
        self.assertEqual(rate.target, {"kind": "at least", "value": 2.5})
        for wrong in ("at most 5", "at most 5 us", "at most five ns", "within 5 ns", "5 ns", "at most 5ns"):
            with self.subTest(wrong):
                self.assertEqual(self.mistakes(micro % f"target: {wrong}"), [
                    f"x.yaml:5: cases.one.target: '{wrong}' is no target of ns (for example: at most 5 ns; allowed: "
                    "at most, at least)"
                ])
        self.assertIn("x.yaml:5: cases.one.threads: at least 1 is needed", self.mistakes(micro % "threads: 0"))
        self.assertIn("x.yaml:5: cases.one.threads: ", self.mistakes(micro % "threads: many")[0])

    def test_counts_are_all_or_those_that_are_named(self):
        self.assertEqual(parsed(GOOD).counted, counts.OF_AN_OPERATION)
        text = "id: x\nquestion: Which?\nkind: counts\nwork: {path: /}\ncounts: [a]\nof: [switches]\n"
        self.assertEqual(parsed(text).counted, ("switches",))
        self.assertIn("x.yaml:6: of.0: no count ns (there are: ", self.mistakes(text.replace("switches", "ns"))[0])
        idle = parsed(text.replace("switches", "idle_rss_kb") +
                      "bounds: [{a: a, b: 8192, of: idle_rss_kb, target: at most 1}]\n")
        self.assertEqual(idle.bounds, [("a", 8192, "idle_rss_kb", {"kind": "at most", "value": 1})])
        none = "bounds: [{a: a, b: 0, of: switches, target: at most 1}]\n"
        self.assertIn("x.yaml:7: bounds.0.b: more than 0 is needed", self.mistakes(text + none)[0])
        bound = "bounds: [{a: a, b: a, of: allocations, target: at most 2}]\n"
        self.assertIn("x.yaml:7: bounds.0.of", self.mistakes(text + bound)[0])

    def test_names_of_experiments_that_are_not_there_are_told(self):
        with self.assertRaisesRegex(Mistakes, "no experiment plaintxt"):
            experiment.choose(["plaintxt"])
        with self.assertRaisesRegex(Mistakes, "nowhere.yaml: No such file"):
            experiment.choose(["nowhere.yaml"])
