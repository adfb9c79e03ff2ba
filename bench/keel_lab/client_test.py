"""The clients against servers that answer wrongly: each kind of mistake is noticed, and nothing else is."""

import contextlib
import json
import socket
import subprocess
import threading
import time
import unittest

from keel_lab import self_test

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BAD_STATUS = b"HTTP/1.1 500 OK\r\nContent-Length: 2\r\n\r\nok"
LONGER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\noky"
SHORTER = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\no"
OTHER = GOOD[:-1] + b"K"
SURPLUS = GOOD + b"!"


def serve(listener, answers):
    """One connection: the n-th request gets the n-th answer, later ones the last; None closes."""
    connection, _ = listener.accept()
    with connection:
        text, served = b"", 0
        while True:
            while b"\r\n\r\n" not in text:
                try:
                    more = connection.recv(65536)
                except ConnectionResetError:  # The client has left with bytes unread.
                    return
                if not more:
                    return
                text += more
            text = text.partition(b"\r\n\r\n")[2]
            answer = answers[min(served, len(answers) - 1)]
            if answer is None:
                return
            try:
                connection.sendall(answer)
            except OSError:
                return
            served += 1


def outcome(program, server, listener, *options):
    threading.Thread(target=server, args=(listener,), daemon=True).start()
    done = subprocess.run(
        [str(self_test.BUILD / "bench" / program), f"--port={listener.getsockname()[1]}", "--warmup=0", *options],
        capture_output=True,
        text=True,
        timeout=20)
    result = json.loads(done.stdout) if done.stdout else {"errors": {}, "requests": 0}
    kinds = sorted(kind for kind, count in result["errors"].items() if count)
    return done.returncode, kinds, result["requests"]


def client_against(answers, *options):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return outcome("bench_client", lambda at: serve(at, answers), listener, "--connections=1", "--count=20",
                       *options)


MESSAGE = 1000  # Bytes of a message to the echo servers below.


def echo(change, connection, served):
    """Sends back what comes, in the order it comes; `change` says what becomes of each message."""
    with connection, contextlib.suppress(OSError):
        while True:
            message = b""
            while len(message) < MESSAGE:
                more = connection.recv(MESSAGE - len(message))
                if not more:
                    return
                message += more
            answer = change(next(served), message)
            if answer is None:
                return
            connection.sendall(answer)


def echo_all(change):
    def server(listener):
        served = iter(range(1 << 30))
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(change, connection, served), daemon=True).start()

    return server


class OneBehind:
    """The message before the last one: right in every respect but the order."""
    def __init__(self):
        self.before = bytes(MESSAGE)

    def __call__(self, number, message):
        self.before, answer = message, self.before
        return answer


def bytes_against(change, *options):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = outcome("bench_bytes", echo_all(change), listener, "--connections=1", "--count=20",
                        f"--payload={MESSAGE}", "--patience=0.5", *options)
        listener.shutdown(socket.SHUT_RDWR)
        return found


def from_third(change):
    return lambda number, message: message if number < 3 else change(message)


def late(message):
    time.sleep(1)
    return message


def flipped(at):
    return from_third(lambda message: message[:at] + bytes([message[at] ^ 1]) + message[at + 1:])


NUMBER = "--path=/{n}"
CHURN = ("--churn=1", "--connections=4")


def framed(at=None):
    """Answers as Keel's messages do; from the third request on with another byte at `at`."""
    def take(connection, size):
        text = b""
        while len(text) < size:
            more = connection.recv(size - len(text))
            if not more:
                raise OSError
            text += more
        return text

    def answer(listener):
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            for number in range(-1, 1 << 30):  # First its hello.
                frame = bytearray(take(connection, 4))
                frame += take(connection, int.from_bytes(frame, "big"))
                if number >= 0:
                    frame[4], frame[6:8] = 4, b"\0\0"
                if at is not None and number >= 3:
                    frame[at] ^= 1
                connection.sendall(frame)

    return answer


def frames_against(server, *options):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return outcome("bench_bytes", server, listener, "--framing=frames", "--connections=1", "--count=20",
                       "--patience=0.5", *options)


class Lockstep(unittest.TestCase):
    def test_good_answers_are_no_errors(self):
        self.assertEqual(client_against([GOOD]), (0, [], 20))

    def test_good_answers_of_different_lengths_are_no_errors(self):
        self.assertEqual(client_against([GOOD, LONGER], NUMBER), (0, [], 20))

    def test_pipelined_answers_are_counted(self):
        self.assertEqual(client_against([GOOD], "--depth=5"), (0, [], 20))

    def test_each_kind_of_wrong_answer_is_an_error_of_its_kind(self):
        for answers, kind in (([GOOD, GOOD, BAD_STATUS], "status"), ([GOOD, GOOD,
                                                                      LONGER], "length"), ([GOOD, GOOD,
                                                                                            SHORTER], "length"),
                              ([GOOD, GOOD, OTHER], "body"), ([GOOD, SURPLUS], "length"), ([GOOD, GOOD,
                                                                                            None], "closed")):
            self.assertEqual(client_against(answers)[:2], (1, [kind]), answers)

    def test_a_wrong_body_among_pipelined_answers_is_an_error(self):
        self.assertEqual(client_against([*[GOOD] * 8, OTHER], "--depth=5")[:2], (1, ["body"]))

    def test_each_kind_of_wrong_answer_is_an_error_when_every_request_is_another(self):
        for answers, kind in (([BAD_STATUS], "status"), ([SURPLUS], "length"), ([GOOD, None], "closed")):
            self.assertEqual(client_against(answers, NUMBER)[:2], (1, [kind]), answers)


class Bytes(unittest.TestCase):
    def test_echoed_messages_are_counted(self):
        same = lambda number, message: message
        for options in ((), ("--connections=5",), CHURN):
            self.assertEqual(bytes_against(same, *options), (0, [], 20), options)

    def test_a_wrong_byte_is_an_error_wherever_it_is(self):
        for at in (0, 500, MESSAGE - 1):
            self.assertEqual(bytes_against(flipped(at)), (1, ["wrong"], 3))
        self.assertEqual(bytes_against(flipped(7), *CHURN)[:2], (1, ["wrong"]))

    def test_a_dropped_byte_is_an_error(self):
        self.assertEqual(bytes_against(from_third(lambda m: m[:400] + m[401:]))[:2], (1, ["timeout"]))
        self.assertEqual(bytes_against(lambda n, m: m[1:], *CHURN)[:2], (1, ["timeout"]))

    def test_a_byte_dropped_for_one_of_later_ones_is_an_error(self):
        self.assertEqual(bytes_against(from_third(lambda m: m[1:] + b"!"))[:2], (1, ["wrong"]))

    def test_the_message_before_is_an_error(self):
        self.assertEqual(bytes_against(OneBehind())[:2], (1, ["wrong"]))

    def test_a_late_echo_is_an_error(self):
        self.assertEqual(bytes_against(from_third(late))[:2], (1, ["timeout"]))

    def test_a_byte_too_much_is_an_error(self):
        self.assertEqual(bytes_against(from_third(lambda m: m + b"!"))[:2], (1, ["wrong"]))

    def test_a_byte_too_much_at_the_end_is_an_error(self):
        for options in ((), CHURN):
            self.assertEqual(
                bytes_against(lambda n, m: m + b"!" if n == 19 else m, *options)[:2], (1, ["surplus"]), options)

    def test_a_stream_that_ends_is_an_error(self):
        self.assertEqual(bytes_against(from_third(lambda m: None))[:2], (1, ["closed"]))


class Framed(unittest.TestCase):
    def test_answered_requests_are_counted(self):
        for options, count in (((), 20), (("--depth=5", ), 20), (("--depth=16", "--payload=1000"), 32)):
            self.assertEqual(frames_against(framed(), *options), (0, [], count), options)

    def test_a_wrong_byte_is_an_error_in_the_head_as_well(self):
        for at in (4, 5, 7, 11, 12, 75):  # Kind, flags, type, id, and the payload.
            self.assertEqual(frames_against(framed(at)), (1, ["wrong"], 3), at)

    def test_a_server_that_does_not_greet_is_not_measured(self):
        self.assertEqual(frames_against(echo_all(lambda number, message: None))[0], 2)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.assertEqual(outcome("bench_bytes", lambda at: serve(at, [GOOD, None]), listener, "--framing=websocket",
                                     "--connections=1", "--count=1")[0], 2)
