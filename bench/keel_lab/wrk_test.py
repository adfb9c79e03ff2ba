import unittest

from keel_lab import wrk
from keel_lab.sides import Invalid

SAID = """\
Running 3s test @ http://127.0.0.1:18999/plaintext
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     3.50ms   14.15ms   1.02s    94.82%
    Req/Sec    88.85k    25.43k  110.89k    93.33%
  Latency Distribution
     50%  342.00us
     75%  391.00us
     90%  642.00us
     99%   84.62ms
  265740 requests in 3.05s, 4.89MB read
Requests/sec:  87128.50
Transfer/sec:      1.60MB
"""


class Wrk(unittest.TestCase):
    def test_what_it_says_is_read_in_microseconds(self):
        found = wrk.read(SAID)
        self.assertEqual((found["requests"], found["achieved"]), (265740, 87128.5))
        self.assertEqual(found["latency"]["percentiles"],
                         {"50": 342.0, "75": 391.0, "90": 642.0, "99": 84620.0, "max": 1020000.0})
        self.assertEqual(found["latency"]["cdf"][-2:], [[84620.0, 0.99], [1020000.0, 1]])

    def test_errors_and_other_texts_are_invalid(self):
        for said in ("", SAID + "  Socket errors: connect 0, read 0, write 0, timeout 2\n",
                     SAID + "  Non-2xx or 3xx responses: 3\n", SAID.replace("%  ", "- ")):
            with self.assertRaisesRegex(Invalid, "wrk met errors"):
                wrk.read(said)

    def test_it_is_asked_for_whole_seconds(self):
        self.assertEqual(wrk.command("http://x/", 64, 1.2), ["wrk", "--latency", "-t1", "-c64", "-d2s", "http://x/"])
