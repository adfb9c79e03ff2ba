import pathlib
import socket
import sys
import tempfile
import unittest
from unittest import mock

from keel_lab import self_test, sides
from keel_lab.side_file import Side
from keel_lab.work import Work


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)

    def test_a_path_is_under_the_build_and_a_name_on_the_path(self):
        program = self.build / "bench/one"
        program.parent.mkdir()
        program.write_text("#!/bin/sh")
        self.assertIsNone(sides.program("bench/one", self.build))    # Not executable.
        program.chmod(0o755)
        self.assertEqual(sides.program("bench/one", self.build), str(program))
        self.assertTrue(sides.program("sh", self.build).endswith("/sh"))

    def test_what_is_missing_is_told_by_its_whole_path(self):
        side = Side("x", "x", ("{root}/nowhere/program",), needs=("no-such-tool",))
        self.assertEqual(sides.missing(side, self.build), f"no-such-tool, {sides.ROOT}/nowhere/program")


    def test_the_program_beside_a_database_is_what_is_prefixed_and_built(self):
        alone = Side("x", "x", ("bench/one", "--port={port}"))
        beside = Side("x", "x", ("bench/bench_with_postgres", "{build}/bench/one", "--port={port}"))
        peer = Side("x", "x", ("bench/bench_with_postgres", "{root}/peers/one"))
        places = {"build": self.build, "root": "/root", "port": 7}
        self.assertEqual(sides.prefixed(alone, self.build, places, ["valgrind"]),
                         ["valgrind", "bench/one", "--port=7"])
        self.assertEqual(sides.prefixed(beside, self.build, places, ["valgrind"]),
                         ["bench/bench_with_postgres", "valgrind", f"{self.build}/bench/one", "--port=7"])
        self.assertEqual([sides.built(side) for side in (alone, beside, peer)],
                         [["one"], ["bench_with_postgres", "one"], ["bench_with_postgres"]])
        self.assertEqual(sides.served(beside), "{build}/bench/one")


class Waiting(unittest.TestCase):
    def test_a_server_is_ready_when_its_own_path_or_that_of_the_work_answers(self):
        work = Work(client="lockstep", name="w", path="/users/{n}")
        self.assertEqual(sides.ready_path(Side("x", "x", ("x",)), work), "/users/1")
        self.assertEqual(sides.ready_path(Side("x", "x", ("x",), ready="/ready"), work), "/ready")

    def test_an_echo_server_is_ready_when_somebody_listens(self):
        self.assertEqual(sides.ready_path(Side("x", "x", ("x",)), Work(client="bytes", name="w", payload=64)), "")


class Ports(unittest.TestCase):
    def test_they_differ_and_are_free(self):
        ports = sides.free_ports(50)
        self.assertEqual(len(set(ports)), 50)
        with socket.create_server(("127.0.0.1", ports[0])), \
                mock.patch.object(sides.random, "SystemRandom") as random:
            random.return_value.sample = lambda *_: ports
            self.assertEqual(sides.free_ports(2), ports[1:3])
            random.return_value.sample = lambda *_: ports[:1]
            with self.assertRaisesRegex(sides.Invalid, "no 1 free ports"):
                sides.free_ports(1)


class Checking(unittest.TestCase):
    work = Work(client="lockstep", name="w", path="/done", method="GET", answer="done")

    def check(self, *answers):
        with mock.patch.object(sides, "fetch", side_effect=answers), mock.patch.object(sides.time, "sleep"):
            sides.check(1, self.work)

    def test_who_refuses_because_it_is_late_is_asked_again(self):
        late = (503, "application/problem+json", b"late")
        self.check(late, late, (200, "text/plain", b"done"))
        with self.assertRaisesRegex(sides.Invalid, "a wrong answer: 503"):
            self.check(*[late] * sides.LATE_TRIES)

    def test_another_wrong_answer_is_not_asked_for_again(self):
        for answer in ((500, "text/plain", b"done"), (200, "text/plain", b"other")):
            with self.assertRaisesRegex(sides.Invalid, "a wrong answer"):
                self.check(answer, (200, "text/plain", b"done"))


class Ending(unittest.TestCase):
    """A server that is asked to end writes a line."""
    def lines(self, work, log=""):
        fake = pathlib.Path(__file__).with_name("fake_server.py")
        with tempfile.NamedTemporaryFile("r") as file:
            serve = (sys.executable, str(fake), "{port}", "logs its end", file.name)
            with sides.running(Side("x", "x", serve, ready="/ready", log=log), work, self_test.BUILD) as server:
                pass
            self.assertIsNotNone(server.process.returncode)
            return file.read()

    def test_a_server_that_has_nothing_left_to_write_is_not_asked(self):
        self.assertEqual(self.lines(Work(client="lockstep", name="w", path="/")), "")

    def test_one_with_a_log_or_rows_is(self):
        work = Work(client="lockstep", name="w", path="/")
        self.assertEqual(self.lines(work, log="{folder}/log"), "ended by request /\n")
        self.assertEqual(self.lines(Work(client="lockstep", name="w", path="/", rows="data")), "ended by request /\n")


class Logs(unittest.TestCase):
    def test_lines_are_counted_by_the_path_they_name(self):
        with tempfile.NamedTemporaryFile("w+") as file:
            file.write("GET /a\nGET /b\nGET /a\n")
            file.flush()
            self.assertEqual(sides.lines_with(file.name, "/a"), 2)
        self.assertEqual(sides.lines_with("/nowhere/log", "/a"), 0)
