"""keel load as the client of pairs: what it is told, what of its report counts, and what makes the run invalid."""

import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from keel_lab import experiment, fixtures, load_client, measure, resources, self_test, sides
from keel_lab.load_test import KEEL, REPORT
from keel_lab.yaml_file import Mistakes

SERVER = pathlib.Path(__file__).with_name("fake_server.py")
WHOLE = REPORT | {
    "statuses": {"200": 70},
    "bytes": {"sent": 3, "received": 4},
    "latency": REPORT["latency"] | {"mean": 12.5},
    "server_cpu_us_per_request": 5.0,
    "client_utilisation": 0.25
}
FILE = """\
id: x
question: Which?
work: {{client: load, connections: 4, {work}}}
sides:
  good: {{serve: [{python}, {server}, "{{port}}", none]}}
comparisons:
  - {{a: good, b: good, of: {of}}}
"""


def parsed(work, of="rate"):
    return experiment.parse("x.yaml", FILE.format(work=work, of=of, python=sys.executable, server=SERVER), {})


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=self_test.BUILD)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        program = self.folder / "tools/keel/keel"
        program.parent.mkdir(parents=True)
        program.write_text(KEEL.format(python=sys.executable, folder=str(self.folder)))
        program.chmod(0o755)

    def run_it(self, work, of="rate", **reports):
        (self.folder / "reports").write_text(json.dumps({"open": WHOLE, "closed": WHOLE} | reports))
        one = parsed(work, of)
        settings = measure.Settings(build=self.folder, seconds=0.1, warmup=0.1)
        return measure.run(settings, measure.Half(one.sides["good"], one.comparisons[0].a_work, self.folder))

    def arguments(self):
        return (self.folder / "arguments").read_text().splitlines()

    def test_rate_latencies_and_cpu_are_those_of_the_report(self):
        done = self.run_it("path: /, expect: {status: 200, body: hello}")
        wanted = {"requests": 50, "all_requests": 70, "rate": 99.5, "cpu_us": 5.0, "p50": 10, "p99": 900, "mean": 12.5}
        self.assertEqual({key: done[key] for key in wanted}, wanted)
        self.assertGreater(done["rss_kb"], 0)
        for wanted in ("--request=GET /", "--expect-body=hello", "--expect-status=200", "--connections=4",
                       "--duration=0.1s", "--warmup=0.1s"):
            self.assertIn(wanted, self.arguments()[0])

    def test_a_body_with_numbers_of_a_range_is_sent_as_json(self):
        self.run_it("path: '/{n}', body: '{\"a\": {n}}', range: 9, rate: 50, expect: {status: 201}")
        for wanted in ("--request=POST /{n:1..9}", '--body={"a": {n:1..9}}', "application/json", "--rate=50"):
            self.assertIn(wanted, self.arguments()[0])

    def test_a_connection_may_carry_a_few_requests_only(self):
        self.run_it("path: /, churn: 1")
        self.assertIn("--churn=1", self.arguments()[0])
        self.run_it("path: /")
        self.assertNotIn("--churn", self.arguments()[-1])

    def test_a_mix_goes_into_a_file(self):
        written = []
        requests = load_client.requests

        def kept(work, folder):
            options = requests(work, folder)
            written.append(json.loads(pathlib.Path(folder, "mix.yaml").read_text()))
            return options

        with mock.patch.object(load_client, "requests", kept):
            self.run_it("mix: [{request: GET /a, weight: 3}, {request: POST /b, body: '{}', expect: {status: 201}}]")
        self.assertEqual([one["request"] for one in written[0]], ["GET /a", "POST /b"])
        self.assertRegex(self.arguments()[0], "--mix=.*mix.yaml")

    def test_a_load_beside_runs_too_and_its_answers_count_for_the_rows(self):
        done = self.run_it("path: /, beside: {path: /other, rate: 5, connections: 2}")
        self.assertEqual(len(self.arguments()), 2)
        self.assertTrue(any("GET /other" in line and "--rate=5" in line for line in self.arguments()))
        self.assertEqual((done["statuses"], done["all_requests"]), ({"200": 140}, 70))

    def test_over_tls_it_believes_the_certificate_of_the_side_and_resumes_nothing(self):
        with mock.patch.object(sides, "make_certificate") as made:
            self.run_it("path: /, https: true, beside: {path: /, rate: 5}")
        folder = made.call_args.args[1]
        for one in self.arguments():
            self.assertIn(" https://127.0.0.1:", one)
            self.assertIn(f"--roots={folder}/root.pem", one)
            self.assertIn("--sessions=0", one)

    def test_the_admin_listener_is_another_port(self):
        self.run_it("path: /metrics, listener: admin, beside: {path: /}")
        ports = {line.split()[1] for line in self.arguments()}
        self.assertEqual(len(ports), 2)

    def test_a_wrong_or_late_answer_makes_the_run_invalid(self):
        for kind in ("status", "timeout"):
            with self.assertRaisesRegex(sides.Invalid, f"errors: 2 {kind}"):
                self.run_it("path: /", closed=WHOLE | {"errors": {kind: 2}})

    def test_a_keel_that_writes_no_report_is_invalid(self):
        (self.folder / "tools/keel/keel").write_text("#!/bin/sh\necho planted >&2; exit 2\n")
        with self.assertRaisesRegex(sides.Invalid, "keel load ended with code 2: planted"):
            self.run_it("path: /")

    def test_a_keel_that_hangs_is_ended(self):
        (self.folder / "tools/keel/keel").write_text("#!/bin/sh\nexec sleep 60\n")
        with mock.patch.object(load_client, "PATIENCE", 0.2):
            with self.assertRaisesRegex(sides.Invalid, "keel load had not ended"):
                self.run_it("path: /")

    def test_without_keel_the_run_says_what_to_build(self):
        (self.folder / "tools/keel/keel").unlink()
        with self.assertRaisesRegex(sides.Invalid, "is not built: cmake --build ... --target keel"):
            self.run_it("path: /")


class Files(unittest.TestCase):
    def mistakes(self, work, of="rate"):
        with self.assertRaises(Mistakes) as caught:
            parsed(work, of)
        return "\n".join(caught.exception.lines)

    def test_a_path_or_a_mix_and_not_both(self):
        for work in ("range: 3", "path: /, mix: [{request: GET /}]"):
            self.assertIn("either a path or a mix is needed", self.mistakes(work))

    def test_a_request_of_a_mix_has_only_known_keys(self):
        self.assertIn("work.mix.0.wieght: no such key; did you mean weight?",
                      self.mistakes("mix: [{request: GET /, wieght: 3}]"))

    def test_a_load_beside_is_checked_as_the_other_is(self):
        self.assertIn("beside", self.mistakes("path: /, beside: {rate: 3}"))

    def test_a_churn_is_no_negative_number(self):
        self.assertIn("work.churn: at least 0 is needed", self.mistakes("path: /, churn: -1"))

    def test_rows_name_a_table(self):
        self.assertIn("'data; drop' is no table", self.mistakes("path: /, rows: 'data; drop'"))

    def test_latencies_need_this_client(self):
        text = FILE.format(work="path: /", of="p99", python=sys.executable, server=SERVER).replace("client: load, ", "")
        with self.assertRaises(Mistakes) as caught:
            experiment.parse("x.yaml", text, {})
        self.assertIn("only the client load knows p99: client: load", str(caught.exception))


class Figures(unittest.TestCase):
    def test_what_one_side_adds_is_taken_inside_each_pair(self):
        pairs = [{"a": {"cpu_us": 4.0 + n}, "b": {"cpu_us": 3.0 + n / 2}, "repeated": 0, "disturbed": False}
                 for n in range(12)]
        result = fixtures.found("x", comparisons=[fixtures.comparison("a:b:cpu_us", pairs=pairs)])
        found = result.find("a:b:cpu_us/added")
        self.assertEqual((found.median, found.unit), (3.75, "us"))
        self.assertLess(found.low, found.median)


class Resources(unittest.TestCase):
    def test_a_sample_has_what_was_written_and_the_open_descriptors(self):
        before = resources.sample(os.getpid())
        with tempfile.TemporaryFile(dir=self_test.BUILD) as file:
            file.write(bytes(1 << 20))
            file.flush()
            os.fsync(file.fileno())
            after = resources.sample(os.getpid())
        self.assertEqual(after.descriptors - before.descriptors, 1)
        self.assertGreaterEqual(after.written - before.written, 1 << 20)
