"""Does the lab notice what it must notice? The statistics, and the client against servers that answer wrongly."""

import contextlib
import json
import socket
import subprocess
import tempfile
import threading
import time

from keel_lab import measure, start, statistics

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BAD_STATUS = b"HTTP/1.1 500 OK\r\nContent-Length: 2\r\n\r\nok"
LONGER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\noky"
SHORTER = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\no"
SURPLUS = GOOD + b"!"
START = """start of a
  phase    at ms    took ms  on       waited for
  pool a    0.50       1.25  start-1
  http      2.00       0.10  start-2  pool a (0.25 ms)
  total                3.00
a is ready (3.0 ms)
"""


def serve(listener, answers):
    """One connection: the n-th request gets the n-th answer, later ones the last; None closes."""
    connection, _ = listener.accept()
    with connection:
        text, served = b"", 0
        while True:
            while b"\r\n\r\n" not in text:
                more = connection.recv(65536)
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


def outcome(build, program, server, listener, *options):
    threading.Thread(target=server, args=(listener,), daemon=True).start()
    done = subprocess.run([str(build / program), f"--port={listener.getsockname()[1]}", "--warmup=0", *options],
                          capture_output=True, text=True, timeout=20)
    result = json.loads(done.stdout) if done.stdout else {"errors": {}, "requests": 0}
    kinds = sorted(kind for kind, count in result["errors"].items() if count)
    return done.returncode, kinds, result["requests"]


def client_against(build, answers, *options):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return outcome(build, "bench_client", lambda at: serve(at, answers), listener, "--connections=1", "--count=20", *options)


MESSAGE = 1000    # Bytes of a message to the echo servers below.


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


def bytes_against(build, change, *options):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = outcome(build, "bench_bytes", echo_all(change), listener, "--connections=1", "--count=20",
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


def is_invalid(program):
    with tempfile.TemporaryDirectory() as folder:
        try:
            start.one(program, folder, 7)
        except measure.Invalid:
            return True
    return False


def checks(build):
    values = [5, 1, 12, 3, 8, 2, 11, 4, 10, 6, 9, 7]
    low, high, covered = statistics.interval(values)
    yield "the median of an even count lies between the middle two", statistics.median(values) == 6.5
    yield "the median of an odd count is the middle one", statistics.median([3, 9, 1]) == 3
    yield "12 values give the 2nd and the 11th, 99.4 %", (low, high, round(covered, 4)) == (2, 11, 0.9937)
    yield "8 values give the smallest and the largest, 99.2 %", statistics.interval(range(8))[::2] == (0, 1 - 2 / 256)
    yield "few values say how little they cover", statistics.interval([1, 2])[2] == 0.5

    number = ("--path=/{n}",)
    yield "good answers are no errors", client_against(build, [GOOD]) == (0, [], 20)
    yield "good answers of different lengths are no errors", client_against(build, [GOOD, LONGER], *number) == (0, [], 20)
    yield "pipelined answers are counted", client_against(build, [GOOD], "--depth=5") == (0, [], 20)
    yield "a wrong status is an error", client_against(build, [GOOD, GOOD, BAD_STATUS])[:2] == (1, ["status"])
    yield "a wrong status is an error, numbered", client_against(build, [BAD_STATUS], *number)[:2] == (1, ["status"])
    yield "a longer answer is an error", client_against(build, [GOOD, GOOD, LONGER])[:2] == (1, ["length"])
    yield "a shorter answer is an error", client_against(build, [GOOD, GOOD, SHORTER])[:2] == (1, ["length"])
    yield "surplus bytes are an error", client_against(build, [GOOD, SURPLUS])[:2] == (1, ["length"])
    yield "surplus bytes are an error, numbered", client_against(build, [SURPLUS], *number)[:2] == (1, ["length"])
    yield "a closed connection is an error", client_against(build, [GOOD, GOOD, None])[:2] == (1, ["closed"])
    yield "a closed connection is an error, numbered", client_against(build, [GOOD, None], *number)[:2] == (1, ["closed"])

    same = lambda number, message: message
    churn = ("--churn=1", "--connections=4")
    yield "echoed messages are counted", bytes_against(build, same) == (0, [], 20)
    yield "echoed messages are counted on many connections", bytes_against(build, same, "--connections=5") == (0, [], 20)
    yield "echoed messages are counted on new connections", bytes_against(build, same, *churn) == (0, [], 20)
    for name, at in (("first", 0), ("middle", 500), ("last", MESSAGE - 1)):
        yield f"a wrong {name} byte is an error", bytes_against(build, flipped(at)) == (1, ["wrong"], 3)
    yield "a wrong byte is an error on a new connection", bytes_against(build, flipped(7), *churn)[:2] == (1, ["wrong"])
    yield "a dropped byte is an error", bytes_against(build, from_third(lambda m: m[:400] + m[401:]))[:2] == (1, ["timeout"])
    yield "a dropped byte is an error on a new connection", bytes_against(build, lambda n, m: m[1:], *churn)[:2] == (1, ["timeout"])
    yield "a byte dropped for one of later ones is an error", bytes_against(
        build, from_third(lambda m: m[1:] + b"!"))[:2] == (1, ["wrong"])
    yield "the message before is an error", bytes_against(build, OneBehind())[:2] == (1, ["wrong"])
    yield "a late echo is an error", bytes_against(build, from_third(late))[:2] == (1, ["timeout"])
    yield "a byte too much is an error", bytes_against(build, from_third(lambda m: m + b"!"))[:2] == (1, ["wrong"])
    yield "a byte too much at the end is an error", bytes_against(
        build, lambda n, m: m + b"!" if n == 19 else m)[:2] == (1, ["surplus"])
    yield "a byte too much at the end is an error on a new connection", bytes_against(
        build, lambda n, m: m + b"!" if n == 19 else m, *churn)[:2] == (1, ["surplus"])
    yield "a stream that ends is an error", bytes_against(build, from_third(lambda m: None))[:2] == (1, ["closed"])

    yield "the table of a start is read", start.phases(START) == {"pool a": (0.5, 1.25), "http": (2, 0.1), "total": (0, 3)}
    yield "a start that never comes is noticed", is_invalid("/bin/true")
    yield "a start that says nothing of what it was made of is noticed", is_invalid("/bin/echo")


def run(build):
    failed = 0
    for sentence, holds in checks(build):
        print(f"{'ok    ' if holds else 'FAILED'} {sentence}")
        failed += not holds
    return 1 if failed else 0
