import html.parser
import pathlib
import re
import tempfile
import unittest
from unittest import mock

from keel_lab import claims, experiment, fixtures, plots, record, report, results

HOSTILE = '<script>alert("x")</script>&"\''


def made(*found, problems=(), rows=(), asked=None):
    """The page of these results; their experiments are `asked`."""
    records = {one["experiment"]: record.of(one) for one in found}
    raw = {one["experiment"]: one for one in found}
    return report.html(records, "build/lab/results", list(problems), list(rows), asked, raw)


def records(*found):
    return [record.of(one) for one in found]


def everything(name="plaintext", **more):
    row = {"side": "keel", "work": "/", "system_calls": 0.14, "allocations": 0.0, "instructions": None,
           "absent": {"instructions": "needs valgrind", "switches": results.NOT_ASKED_FOR}}
    bound = {
        "id": "a:b:system_calls",
        "a": "a",
        "b": "b",
        "of": "system_calls",
        "a_value": 0.2,
        "b_value": 0.1,
        "ratio": 2.0,
        "target": {"kind": "at most", "value": 1.15},
        "verdict": "missed",
    }
    return fixtures.result(
        name,
        **(
            {
                "comparisons": [fixtures.comparison()],
                "values": [fixtures.value("v", 12.0)],
                "counts": [row],
                "bounds": [bound],
                "distributions": [fixtures.distribution()],
                "series": [fixtures.series()],
            }
            | more
        ),
    )


class Checker(html.parser.HTMLParser):
    """What is opened is closed, and nothing is fetched."""

    VOID = {"meta", "br", "line", "polyline", "rect", "circle", "hr", "img", "link"}

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.tags, self.ids, self.links = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("src", "srcset", "data") or (name in ("href", "xlink:href") and not value.startswith("#")):
                self.wrong.append(f"{tag} {name}={value}")
            self.ids += [value] if name == "id" else []
            self.links += [value[1:]] if name == "href" else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")


def checked(text):
    checker = Checker()
    checker.feed(text)
    return checker


class ThePage(unittest.TestCase):
    def test_is_one_well_formed_file_that_fetches_nothing(self):
        text = made(everything(), everything("other"))
        checker = checked(text)
        self.assertEqual((checker.wrong, checker.open), ([], []))
        self.assertEqual(re.findall(r"https?://|url\(|@import", text), [])
        self.assertLessEqual(set(checker.links), set(checker.ids))
        self.assertEqual(len(checker.ids), len(set(checker.ids)))

    def test_is_made_for_a_phone_and_for_the_dark(self):
        text = made(everything())
        self.assertIn('<meta name="viewport" content="width=device-width, initial-scale=1">', text)
        self.assertIn('<meta name="color-scheme" content="light dark">', text)
        self.assertIn("@media (max-width: 40rem)", text)
        light, _, dark = text.partition("@media (prefers-color-scheme: dark)")
        colours = lambda part: set(re.findall(r"(--\w+): #", part[:part.index("body {")]))
        self.assertEqual(colours(light + "body {"), colours(dark))
        # A table wider than the page scrolls within its box.
        self.assertEqual(text.count("<table>"), text.count('<div class="box" '))
        self.assertIn(".box { overflow-x: auto;", text)

    def test_gives_the_answer_first(self):
        text = made(everything(), rows=claims.judge(claims.read(), {}))
        self.assertLess(text.index("Most telling"), text.index("<section"))
        self.assertRegex(text, r"<b>1</b><span class=\"verdict good\">✓ met</span>")
        self.assertRegex(text, r"<b>1</b><span class=\"verdict bad\">✗ missed</span>")
        self.assertIn("141 claims: 0 beaten", text)
        self.assertIn("S2-CMP-EXC", text)
        self.assertIn("Nothing was invalid.", text)

    def test_shows_every_kind_of_row(self):
        text = made(everything())
        for said in (
            "What does plaintext cost?",
            "0.800 (0.780 – 0.820)",
            "at most 0.9",
            "keel/p99.9",
            "49,990",
            "client used 0.61",
            "0.14",
            "Over time: KB",
            "a CPU",
            "How it was measured",
            'aria-label="ratio 0.8, interval 0.78 to 0.82, target at most 0.9"',
            "half within 80 us",
        ):
            self.assertIn(said, text)

    def test_says_how_busy_the_sides_were_what_was_repeated_and_what_others_are_made_of(self):
        run = {"cpu_us": 4.0, "server_utilisation": 0.85, "client_utilisation": 0.99}
        pairs = [{"a": run, "b": run | {"server_utilisation": 0.97, "client_utilisation": 0.76}, "repeated": 1,
                  "disturbed": number == 0} for number in range(12)]
        row = fixtures.comparison(pairs=pairs, client_bound=True)
        text = made(everything(comparisons=[row], versions={"nginx": {"nginx": "1.22", "<zlib>": "1.3"}}))
        for said in (
            "the client was the limit",
            "server used 0.85 : 0.97; client used 0.99 : 0.76",
            "0.990 – 1.010",
            "runs repeated: 12, pairs disturbed: 1",
            "instructions of keel: needs valgrind",
            "nginx is made of nginx 1.22, &lt;zlib&gt; 1.3",
        ):
            self.assertIn(said, text)
        self.assertNotIn(results.NOT_ASKED_FOR, text)
        self.assertEqual(checked(text).wrong, [])

    def test_begins_with_a_picture_of_keel_against_each_peer(self):
        rows = [fixtures.comparison("keel-uring:nginx:cpu_us", 0.5, 0.4, 0.625),
                fixtures.comparison("keel-epoll:nginx:cpu_us", 0.8, 0.8, 0.8),
                fixtures.comparison("keel-uring:beast:cpu_us", 0.25, 0.25, 0.25),
                fixtures.comparison("keel-uring:nginx:rate", 9, 9, 9)]
        shown = report.picture({"plaintext": record.of(everything(comparisons=rows))}, {"nginx": "nginx, the server"})
        seen = [(one["peer"], [(bar["engine"], bar["times"].median) for bar in one["bars"]]) for one in shown]
        self.assertEqual(seen,
                         [("Keel", [("keel", 1)]), ("nginx, the server", [("uring", 2.0), ("epoll", 1.25)]),
                          ("beast", [("uring", 4.0)])])
        self.assertEqual((shown[1]["bars"][0]["times"].low, shown[1]["bars"][0]["times"].high), (1.6, 2.5))
        text = made(everything(comparisons=rows))
        self.assertLess(text.index("2.00 ×"), text.index('aria-label="verdicts on targets"'))
        self.assertIn("(1.60 – 2.50)", text)
        self.assertEqual(checked(text).wrong, [])

    def test_has_no_picture_of_an_interrupted_or_absent_run(self):
        row = fixtures.comparison("keel-uring:nginx:cpu_us")
        broken = record.of(everything(comparisons=[row], complete=False))
        self.assertEqual([report.picture(found, {}) for found in ({}, {"plaintext": broken})], [[], []])

    def test_without_the_raw_numbers_has_all_but_what_only_they_know(self):
        text = report.html({"plaintext": record.of(everything())}, "bench/results", [], [], experiment.read_all())
        self.assertIn("0.800 (0.780 – 0.820)", text)
        self.assertIn("What does a plaintext answer cost against nginx", text)
        self.assertNotIn("Over time", text)
        self.assertEqual(checked(text).wrong, [])

    def test_shows_the_target_of_a_value_and_counts_its_verdict(self):
        judged = {"target": {"kind": "at most", "value": 15.0}, "verdict": "met"}
        one = everything(values=[fixtures.value("v", 12.0) | judged], comparisons=[], bounds=[])
        self.assertEqual(report.verdicts(records(one))["met"], 1)
        self.assertRegex(made(one), r"at most 15: <span[^>]*>✓ met")
        self.assertEqual(report.verdicts(records(one | {"complete": False}))["met"], 0)
        self.assertEqual(report.telling(records(one)), [])

    def test_says_where_threads_took_turns(self):
        label = {"oversubscribed": "9 threads on 2 cores"}
        of_a_value = everything(values=[fixtures.value("v", 12.0) | label])
        of_a_ratio = everything(comparisons=[fixtures.comparison() | label])
        for one in (of_a_value, of_a_ratio):
            self.assertIn("oversubscribed: 9 threads on 2 cores", made(one))
        self.assertNotIn("oversubscribed", made(everything()))

    def test_says_what_is_invalid_interrupted_or_unreadable(self):
        text = made(
            everything(invalid=[{"what": "keel", "why": "it crashed"}]),
            everything("broken", complete=False),
            problems=["x.json: not JSON"],
        )
        self.assertIn("keel: it crashed", text)
        self.assertIn("broken</a> was interrupted", text)
        self.assertIn("Left out: x.json: not JSON", text)

    def test_an_interrupted_result_judges_nothing(self):
        self.assertEqual(sum(report.verdicts(records(everything(complete=False))).values()), 0)
        self.assertEqual(report.telling(records(everything(complete=False))), [])

    def test_without_results_it_says_what_to_run(self):
        self.assertIn("There is no result yet", made())

    def test_escapes_every_text(self):
        row = fixtures.comparison() | {"a": HOSTILE, "b": HOSTILE, "work": HOSTILE, "unit": HOSTILE}
        text = made(
            everything(
                question=HOSTILE,
                commit=HOSTILE,
                machine={HOSTILE: HOSTILE},
                settings={HOSTILE: HOSTILE},
                comparisons=[row],
                values=[fixtures.value(HOSTILE, 1.0, HOSTILE)],
                series=[fixtures.series(HOSTILE, HOSTILE)],
                distributions=[fixtures.distribution() | {"side": HOSTILE, "work": HOSTILE}],
                invalid=[{"what": HOSTILE, "why": HOSTILE}],
                skipped=[{"what": HOSTILE, "why": HOSTILE}],
            ),
            problems=[HOSTILE],
        )
        self.assertNotIn("<script", text)
        self.assertNotIn('alert("x")', text)
        self.assertEqual(checked(text).wrong, [])

    def test_has_a_word_for_every_verdict_that_a_result_may_hold(self):
        self.assertLessEqual(set(results.VERDICTS), set(report.MARKS))

    def test_the_most_telling_are_of_different_experiments_and_farthest_from_their_target(self):
        near = everything("near", comparisons=[fixtures.comparison(median=0.85, low=0.85, high=0.85)])
        far = everything(
            "far", comparisons=[fixtures.comparison(median=0.2, low=0.2, high=0.2),
                                fixtures.comparison("c:d:cpu_us", median=0.3, low=0.3, high=0.3)]
        )
        unsure = everything("unsure", comparisons=[fixtures.comparison(median=0.01, low=0.001, high=2)])
        self.assertEqual([name for name, _ in report.telling(records(near, far, unsure))], ["far", "near"])


class TheCommand(unittest.TestCase):
    def test_leaves_out_a_file_that_is_no_result_with_a_line(self):
        with tempfile.TemporaryDirectory() as folder:
            results.save(everything(), pathlib.Path(folder, "plaintext.json"))
            pathlib.Path(folder, "broken.json").write_text("{")
            out = pathlib.Path(folder, "out/report.html")
            with mock.patch("sys.stderr") as err, mock.patch("sys.stdout"):
                self.assertEqual(report.main(["--results", folder, "--out", str(out)]), 0)
            self.assertIn("broken.json: not JSON", "".join(str(call) for call in err.mock_calls))
            self.assertIn("What does plaintext cost?", out.read_text())


def ratio(**of_a_comparison):
    return record.of(fixtures.result(comparisons=[fixtures.comparison(**of_a_comparison)])).rows["a:b:cpu_us"]


class Plots(unittest.TestCase):
    def test_a_scale_has_room_for_everything_and_for_1(self):
        low, high = plots.ratio_scale([ratio(median=0.5, low=0.4, high=0.6, target=("at most", 3))])
        self.assertLess(low, 0.4)
        self.assertGreater(high, 3)
        self.assertIn(1.0, plots.ticks((low, high)))

    def test_ticks_are_few_and_inside_for_narrow_and_wide_scales(self):
        for scale in ((0.95, 1.06), (0.5, 2.1), (0.9, 5000), (0.001, 1.1), (0.0001, 90000)):
            found = plots.ticks(scale)
            self.assertTrue(
                1 <= len(found) <= 7 and all(scale[0] <= tick <= scale[1] for tick in found), (scale, found)
            )

    def test_a_place_stays_within_the_strip(self):
        self.assertEqual(plots.place(0.01, (0.5, 2)), 0)
        self.assertEqual(plots.place(100, (0.5, 2)), 1000)
        self.assertAlmostEqual(plots.place(1, (0.5, 2)), 500)

    def test_without_points_there_is_no_plot(self):
        self.assertIsNone(plots.cdf([fixtures.distribution() | {"cdf": []}]))
        self.assertIsNone(plots.over_time([fixtures.series() | {"points": []}]))

    def test_one_point_and_equal_values_are_drawn(self):
        for drawn in (
            plots.cdf([fixtures.distribution() | {"cdf": [[5, 1.0]]}]),
            plots.over_time([fixtures.series() | {"points": [[0, 0]]}]),
        ):
            self.assertNotIn("nan", drawn)
