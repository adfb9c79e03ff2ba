"""Does the lab notice what it must notice? The statistics, and the client against servers that answer wrongly."""

import json
import socket
import subprocess
import tempfile
import threading

from lab import measure, start, statistics

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


def client_against(build, answers, *options):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener, answers), daemon=True).start()
        done = subprocess.run([str(build / "bench_client"), f"--port={listener.getsockname()[1]}", "--connections=1",
                               "--warmup=0", "--count=20", *options], capture_output=True, text=True, timeout=10)
    result = json.loads(done.stdout) if done.stdout else {"errors": {}, "requests": 0}
    kinds = sorted(kind for kind, count in result["errors"].items() if count)
    return done.returncode, kinds, result["requests"]


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

    yield "the table of a start is read", start.phases(START) == {"pool a": (0.5, 1.25), "http": (2, 0.1), "total": (0, 3)}
    yield "a start that never comes is noticed", is_invalid("/bin/true")
    yield "a start that says nothing of what it was made of is noticed", is_invalid("/bin/echo")


def run(build):
    failed = 0
    for sentence, holds in checks(build):
        print(f"{'ok    ' if holds else 'FAILED'} {sentence}")
        failed += not holds
    return 1 if failed else 0
