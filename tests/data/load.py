"""Clients of service.cc, in threads, and what they saw: each request, when, how long, and with what result; and how
fast the machine was meanwhile."""

import bisect
import dataclasses
import http.client
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

TIMEOUT = 30  # A request that takes longer hangs.
PAIR = 1_000_000_000  # What the second row of a pair has more.
KINDS = ("rows", "grouped", "pairs")


@dataclasses.dataclass(frozen=True)
class Seen:
    """One request. `status` 0: there was no whole response."""
    kind: str  # "find", or of KINDS.
    id: int
    status: int
    began: float
    seconds: float
    wrong: str = ""


def ask(connection, method, path):
    """(status, body, Retry-After)"""
    connection.request(method, path)
    response = connection.getresponse()
    return response.status, response.read().decode(), response.getheader("Retry-After")


class Load:
    """Requests of `clients` threads, from start() to stop(). Ids are never used twice for a write."""

    def __init__(self, address, clients=8, seed=1, first_id=0, pause=0.0):
        self.seen = []
        self._address = address
        self._pause = pause
        self._ids = iter(range(first_id + 1, first_id + PAIR))
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(random.Random(f"{seed} {number}"),), daemon=True)
                         for number in range(clients)]

    def start(self):
        for thread in self._threads:
            thread.start()
        return self

    def stop(self):
        """Whether all of them have ended: one that has not, hangs."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(TIMEOUT + 5)
        return not any(thread.is_alive() for thread in self._threads)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def _run(self, chance):
        connection = None
        mine = []  # Acknowledged.
        while not self._stopping.is_set():
            kind = chance.choice(("find", "find", *KINDS))
            if kind == "find":
                number = chance.choice(mine[-1000:]) if mine else 0
            else:
                with self._lock:
                    number = next(self._ids)
            connection = connection or http.client.HTTPConnection(*self._address, timeout=TIMEOUT)
            one = self._ask(connection, kind, number)
            if one.status == 0:
                connection.close()
                connection = None
                time.sleep(0.01)
            if one.status == 201:
                mine.append(number)
            with self._lock:
                self.seen.append(one)
            if self._pause:
                time.sleep(self._pause)
        if connection is not None:
            connection.close()

    @staticmethod
    def _ask(connection, kind, number):
        began = time.monotonic()
        try:
            path = f"/rows/{number}" if kind == "find" else f"/{kind}/{number}"
            status, body, retry = ask(connection, "GET" if kind == "find" else "POST", path)
        except (OSError, http.client.HTTPException) as error:
            took = time.monotonic() - began
            wrong = f"no response for {took:.0f} s" if took >= TIMEOUT else ""
            return Seen(kind, number, 0, began, took, wrong or f"{type(error).__name__}: {error}")
        wrong = ""
        if kind == "find" and status == 200 and body != str(number):
            wrong = f"row {number} was asked for, and {body[:40]} came"
        elif kind == "find" and status == 404 and number != 0:
            wrong = f"row {number} was acknowledged, and is not there"
        elif status == 503 and retry is None:
            wrong = "503 without Retry-After"
        elif status not in (200, 201, 404, 503):
            wrong = f"{kind}: {status} {body[:200]}"
        return Seen(kind, number, status, began, time.monotonic() - began, wrong)


# Bursts of work, long enough that the scheduler shares the processor as it does with anyone who is busy: when each
# ended, its time, and what it had of the processor.
BURSTS = """
import time
while True:
    began, had = time.monotonic(), time.process_time()
    while time.process_time() - had < 0.02:
        pass
    now = time.monotonic()
    print(now, now - began, time.process_time() - had, flush=True)
    time.sleep(0.1)
"""
ROUND_TRIPS = 8  # Of a client that finds its service again: connect, log in, prepare, and the statement itself.


class Pace:
    """What a bound in seconds is worth on this machine in this run: that, where the machine is as it was before the
    first outage and normal requests take no time.

    A process of its own, which has nothing to do with the service, works now and then. How much longer than before the
    first outage that takes it, is somebody else's doing, and so much longer everything may take. And a machine on which
    normal requests are slow is allowed a few of them.
    """

    def __init__(self):
        self.normal = 0.0  # Seconds of the slowest request before the first outage.
        self._calm = None
        self._bursts = []
        self._rest = ""
        self._file = self._process = None

    def __enter__(self):
        self._file = tempfile.NamedTemporaryFile("r")  # pylint: disable=consider-using-with
        with open(self._file.name, "w", encoding="utf-8") as out:
            self._process = subprocess.Popen([sys.executable, "-c", BURSTS], stdout=out)  # pylint: disable=consider-using-with
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._read()
        self._file.close()

    def _read(self):
        if self._file is not None and not self._file.closed:
            *lines, self._rest = (self._rest + self._file.read()).split("\n")  # The last one may be half written.
            self._bursts += [tuple(map(float, line.split())) for line in lines]

    def take_bursts(self, bursts):
        """In the place of the process's, for tests."""
        self._bursts = list(bursts)

    def cost(self, begin, end):
        """Seconds for a second of the processor, between two times."""
        self._read()
        first = bisect.bisect_left(self._bursts, (begin,))
        some = [one for one in self._bursts[first:] if one[0] - one[1] < end] or self._bursts[first - 1:first]
        had = sum(one[2] for one in some)
        return sum(one[1] for one in some) / had if had else 1.0

    def calm(self, begin, end, seen=()):
        """Between these times nothing was wrong."""
        self._calm = self.cost(begin, end)
        self.normal = max((one.seconds for one in seen if begin <= one.began and one.began + one.seconds < end), default=0)

    def slowdown(self, begin, end):
        """How many times slower than before the first outage."""
        return 1.0 if self._calm is None else max(1.0, self.cost(begin, end) / self._calm)

    def allows(self, seconds, begin, end):
        """The time that is allowed, in place of `seconds`, for what lasted from `begin` to `end`."""
        return seconds * self.slowdown(begin, end) + ROUND_TRIPS * self.normal


def judge_rows(seen, rows):
    """What is wrong with the rows of the table, a list of all ids in it, after these requests."""
    counts = {}
    for number in rows:
        counts[number] = counts.get(number, 0) + 1
    wrong = [f"row {number} is there {count} times" for number, count in counts.items() if count > 1]
    for one in seen:
        if one.kind == "find":
            continue
        ids = (one.id, one.id + PAIR) if one.kind == "pairs" else (one.id,)
        present = [counts.pop(number, 0) != 0 for number in ids]
        if one.status == 201 and not all(present):
            wrong.append(f"{one.kind} {one.id} was acknowledged, and is lost")
        if any(present) and not all(present):
            wrong.append(f"of the pair {one.id} one row is there")
    wrong += [f"row {number} was never asked for" for number in counts]
    return wrong


def answered(seen, begin, end):
    """Good responses to requests of this time, for a second."""
    good = sum(1 for one in seen if begin <= one.began + one.seconds < end and one.status in (200, 201, 404))
    return good / (end - begin)
