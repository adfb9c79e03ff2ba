import unittest
from unittest import mock

from keel_lab import kind, results, stages
from keel_lab.measure import Settings
from keel_lab.sides import Invalid

NAMES = ("parse", "route", "handler", "database_wait", "database", "serialize", "write")
NOTHING = dict.fromkeys(NAMES, 0)


def of(measured, written, *ns):
    return measured, written, dict(zip(NAMES, ns))


class Means(unittest.TestCase):

    def test_are_of_what_was_added_in_between(self):
        before = {("GET", "/a"): of(10, 5, 1000, 0, 2000, 0, 3000, 0, 500)}
        after = {
            ("GET", "/a"): of(30, 15, 3000, 0, 6000, 0, 43000, 0, 20500),
            ("GET", "/b"): of(3, 3, 1, 1, 1, 1, 1, 1, 1)
        }
        route, mean = stages.means(before, after)
        self.assertEqual(route, ("GET", "/a"))
        self.assertEqual(mean, NOTHING | {"parse": 100, "handler": 200, "database": 2000, "write": 2000})

    def test_begin_at_nothing_for_a_route_that_was_not_there(self):
        _, mean = stages.means({}, {("GET", "/a"): of(2, 0, 200, 0, 400, 0, 0, 0, 0)})
        self.assertEqual(mean, NOTHING | {"parse": 100, "handler": 200})

    def test_need_a_request_that_was_measured(self):
        same = {("GET", "/a"): of(10, 5, 1000, 0, 2000, 0, 3000, 0, 500)}
        for before, after in (({}, {}), (same, same)):
            with self.assertRaises(Invalid):
                stages.means(before, after)


class Shares(unittest.TestCase):

    def test_are_percent_of_all_stages(self):
        found = stages.shares(of(1, 1, 50, 50, 150, 100, 500, 50, 100)[2])
        self.assertEqual(found["database"], 50)
        self.assertEqual(found["data-base"], 60)
        self.assertEqual(found["all-but-the-data-base"], 40)
        self.assertEqual(found["route and handler"], 20)
        self.assertEqual(found["route, handler and serialize"], 25)


class Publish(unittest.TestCase):

    def test_gives_a_value_for_each_stage_and_share(self):
        result = results.new("stages", "?", [], "quick", "0" * 40, {}, {})
        run = (("GET", "/a"), of(1, 1, 50, 50, 150, 100, 500, 50, 100)[2])
        stages.publish("keel", [run] * 12, result)
        found = {row["id"]: (row["median"], row["unit"]) for row in result["values"]}
        self.assertEqual(found["keel:parse-us"], (0.05, "us"))
        self.assertEqual(found["keel:all-but-the-data-base"], (40, "%"))
        self.assertEqual(len(found), 2 * len(NAMES) + 4)


class Progress:
    def steps(self, line, count, seconds):
        return lambda: None


class Measure(unittest.TestCase):

    def measured(self, third):
        """The result of three runs of which the third one does not end well, and how it ended."""
        result = results.new("stages", "?", [], "quick", "0" * 40, {}, {})
        looks = ({}, {("GET", "/a"): of(2, 2, 100, 100, 300, 200, 1000, 100, 200)})
        one = mock.MagicMock(measure=["keel"])
        runs = mock.Mock(side_effect=[{"looks": looks}, {"looks": looks}, third])
        ended = None
        half = mock.Mock(missing="")
        half.name = "keel"
        with mock.patch.object(stages, "run", runs), mock.patch.object(kind, "Half", lambda *_: half), \
                mock.patch.object(stages, "payload_for", lambda half, others: b""):
            try:
                stages.Stages().measure(one, Settings(build=None, pairs=3), result, Progress())
            except KeyboardInterrupt as problem:
                ended = problem
        return result, ended

    def test_keeps_what_came_before_an_interrupt(self):
        result, ended = self.measured(KeyboardInterrupt())
        self.assertIsInstance(ended, KeyboardInterrupt)
        values = {row["id"]: row["values"] for row in result["values"]}
        self.assertEqual((values["keel:parse-us"], result["invalid"]), ([0.05, 0.05], []))

    def test_keeps_what_came_before_a_wrong_answer(self):
        result, ended = self.measured(Invalid("planted"))
        self.assertEqual((ended, [row["why"] for row in result["invalid"]]), (None, ["planted"]))
        self.assertEqual(len(result["values"]), 2 * len(NAMES) + 4)

    def test_runs_whose_routes_differ_are_invalid(self):
        result, _ = self.measured({"looks": ({}, {("GET", "/b"): of(1, 1, 1, 1, 1, 1, 1, 1, 1)})})
        self.assertEqual([row["why"] for row in result["invalid"]], ["another route answered most in each run"])
        self.assertEqual(result["values"], [])
