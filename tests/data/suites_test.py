"""The judges of suites.py: each can say that something is wrong, and says so of nothing that is right."""

import http.server
import threading
import time
import unittest

import load
import suites
from load import PAIR, Seen

GOOD = [
    Seen("rows", 1, 201, 10.0, 0.01),
    Seen("pairs", 2, 201, 10.1, 0.01),
    Seen("find", 1, 200, 10.2, 0.01),
    Seen("grouped", 3, 503, 10.5, 0.3),
]
ROWS = [1, 2, 2 + PAIR]
OUTAGE = [(10.4, 11.0)]


class Rows(unittest.TestCase):
    def test_what_was_acknowledged_is_there_once(self):
        self.assertEqual(load.judge_rows(GOOD, ROWS), [])

    def test_a_write_of_unknown_outcome_may_have_happened(self):
        self.assertEqual(load.judge_rows(GOOD, [*ROWS, 3]), [])

    def test_a_lost_write_is_noticed(self):
        self.assertEqual(load.judge_rows(GOOD, ROWS[1:]), ["rows 1 was acknowledged, and is lost"])

    def test_a_write_that_is_there_twice_is_noticed(self):
        self.assertEqual(load.judge_rows(GOOD, [*ROWS, 1]), ["row 1 is there 2 times"])

    def test_half_a_transaction_is_noticed(self):
        self.assertIn("of the pair 2 one row is there", load.judge_rows(GOOD, ROWS[:2]))

    def test_a_row_of_nobody_is_noticed(self):
        self.assertEqual(load.judge_rows(GOOD, [*ROWS, 77]), ["row 77 was never asked for"])


class Requests(unittest.TestCase):
    def test_503_is_right_in_an_outage(self):
        self.assertEqual(suites.judge_requests(GOOD, OUTAGE), [])

    def test_503_is_wrong_without_one(self):
        late = [*GOOD, Seen("rows", 9, 503, 12.2, 0.01)]
        self.assertEqual(len(suites.judge_requests(late, OUTAGE)), 1)
        self.assertEqual(len(suites.judge_requests(GOOD)), 1)

    def test_a_slow_request_is_noticed(self):
        self.assertEqual(suites.judge_requests([Seen("rows", 1, 201, 10, 7)], OUTAGE), ["rows took 7.0 s"])

    def test_a_rate_that_does_not_come_back_is_noticed(self):
        before = [Seen("rows", number, 201, 9.5 + number / 1000, 0.001) for number in range(500)]
        after = [Seen("rows", number, 201, 12.2 + number / 1000, 0.001) for number in range(500)]
        self.assertEqual(suites.judge_rates(before + after, OUTAGE), [])
        self.assertEqual(len(suites.judge_rates(before + after[:100], OUTAGE)), 1)

    @staticmethod
    def pace(slower, normal=0.01):
        """Until 10.0 with the processor for itself, then so many times slower."""
        pace = load.Pace()
        pace.take_bursts([(9 + number / 10, 0.02, 0.02) for number in range(10)] +
                         [(10.1 + number / 10, 0.02 * slower, 0.02) for number in range(300)])
        pace.calm(9.0, 10.0, [Seen("rows", 1, 201, 9.5, normal)])
        return pace

    def test_a_machine_that_others_slow_down_is_given_that_time_and_no_more(self):
        late = [*GOOD, Seen("rows", 9, 503, 12.2, 0.01)]
        slow = [Seen("rows", 1, 201, 20, 7)]
        for seen in (late, slow):
            self.assertEqual(suites.judge_requests(seen, OUTAGE, pace=self.pace(2)), [])
            self.assertEqual(len(suites.judge_requests(seen, OUTAGE, pace=self.pace(1.1))), 1)

    def test_a_machine_on_which_all_requests_are_slow_is_given_a_few_of_them(self):
        late = [*GOOD, Seen("rows", 9, 503, 12.2, 0.01)]
        self.assertEqual(suites.judge_requests(late, OUTAGE, pace=self.pace(1, 0.1)), [])
        self.assertEqual(len(suites.judge_requests(late, OUTAGE, pace=self.pace(1, 0.01))), 1)

    def test_a_rate_is_that_of_the_machine(self):
        before = [Seen("rows", number, 201, 9.4 + number / 1000, 0.001) for number in range(500)]
        after = [Seen("rows", number, 201, 13.2 + number / 200, 0.001) for number in range(400)]
        self.assertEqual(len(suites.judge_rates(before + after, OUTAGE, self.pace(1))), 1)
        self.assertEqual(suites.judge_rates(before + after, OUTAGE, self.pace(3)), [])
        self.assertEqual(len(suites.judge_rates(before + after[::4], OUTAGE, self.pace(3))), 1)

    def test_bursts_of_others_are_noticed(self):
        with load.Pace() as pace:
            begin = time.monotonic()
            time.sleep(2)
            end = time.monotonic()
        self.assertGreaterEqual(pace.cost(begin, end), 0.99)

    def test_a_run_without_an_outage_is_no_proof(self):
        self.assertFalse(suites.score(GOOD[:3], [], OUTAGE, "")[1])


class Wrong(http.server.BaseHTTPRequestHandler):
    """Another row than was asked for, and 503 without Retry-After."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # pylint: disable=invalid-name
        self.answer(200, b"77")

    def do_POST(self):  # pylint: disable=invalid-name
        self.answer(503, b"")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        """Nothing."""


class Clients(unittest.TestCase):
    def test_what_a_service_does_wrong_is_noticed(self):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Wrong) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with load.Load(server.server_address, clients=2, pause=0.001) as clients:
                while len(clients.seen) < 50:
                    pass
            server.shutdown()
        self.assertEqual({one.wrong for one in clients.seen}, {"503 without Retry-After", "row 0 was asked for, and 77 came"})


if __name__ == "__main__":
    unittest.main()
