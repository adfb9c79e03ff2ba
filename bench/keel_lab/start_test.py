import tempfile
import unittest

from keel_lab import start
from keel_lab.sides import Invalid

START = """start of a
  phase    at ms    took ms  on       waited for
  pool a    0.50       1.25  start-1
  http      2.00       0.10  start-2  pool a (0.25 ms)
  total                3.00
a is ready (3.0 ms)
"""


class Start(unittest.TestCase):
    def refused(self, program):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(Invalid) as raised:
            start.one(program, folder, 7)
        return str(raised.exception)

    def test_the_table_of_a_start_is_read(self):
        self.assertEqual(start.phases(START), {"pool a": (0.5, 1.25), "http": (2, 0.1), "total": (0, 3)})

    def test_a_start_that_never_comes_is_noticed(self):
        self.assertIn("no start within", self.refused("/bin/true"))

    def test_a_start_that_says_nothing_of_what_it_was_made_of_is_noticed(self):
        self.assertIn("it said: --systems=7", self.refused("/bin/echo"))

    def test_each_quantity_is_a_value(self):
        measured = {7: [({part: (0.0, 2.0) for _, parts in start.ROWS for part in parts}, 12.0)] * 3}
        result = {"values": []}
        start.publish(measured, result)
        values = {row["id"]: row["median"] for row in result["values"]}
        self.assertEqual((values["total-7"], values["first-answer-7"], values["phase-workers"]), (2.0, 12.0, 4.0))
