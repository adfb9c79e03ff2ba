"""Clients of service.cc, in threads, and what they saw: each request, when, how long, and with what result."""

import dataclasses
import http.client
import random
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
    """Requests of so many threads, from start() to stop(). Ids are never used twice for a write."""

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
