#!/usr/bin/env python3
"""What a service does when its database fails it, and what its client does with servers that mean no good: a table.

  make data-conformance                            builds what is needed, and runs this
  tests/data/suites.py [--build build/release] [--fuzzer FILE] [--only TEXT] [--sample]

--sample is what .ci/run has a minute for. Code 1 when a score is below what is demanded.
"""

import argparse
import contextlib
import itertools
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import load
import peers
from peers import Failed

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FUZZER = ROOT / "build/clang/src/keel/db/postgres/db_postgres_reader_fuzz"

# Where the machine is as it was before the first outage, and normal requests take no time (load.Pace).
AGAIN = 1.0  # Seconds after a server is back in which everything is as before.
SLOWEST = 5.0  # Of any request, an outage included.
AS_BEFORE = 0.5  # Of the rate before an outage: the clients and the server share the processor.
CALM = 1.0  # Seconds before the first outage that are compared with.


def judge_requests(seen, outages=(), slowest=SLOWEST, pace=load.Pace()):
    """What is wrong with these requests, where there were outages from one time to another."""
    wrong = [one.wrong for one in seen if one.wrong]
    for one in seen:
        end = one.began + one.seconds
        if one.status == 503 and not any(
                down <= end and one.began <= up + pace.allows(AGAIN, up, one.began) for down, up in outages):
            near = min((abs(end - up), end - up) for _, up in outages)[1] if outages else 0
            wrong.append(f"503 at {near:+.2f} s of an outage's end")
        if one.seconds > slowest and one.seconds > pace.allows(slowest, one.began, end):
            wrong.append(f"{one.kind} took {one.seconds:.1f} s")
    return wrong


def full_rate(up, pace):
    """When everything has to be as before after an outage that ended then."""
    return up + pace.allows(AGAIN, up, up + 2 * AGAIN)


def judge_rates(seen, outages, pace=load.Pace()):
    """The same of the rate after each outage against that before the first."""
    if not outages:
        return []
    before = load.answered(seen, outages[0][0] - CALM, outages[0][0])
    wrong = []
    for number, (_, up) in enumerate(outages):
        begin = full_rate(up, pace)
        if number + 1 < len(outages):
            begin = min(begin, outages[number + 1][0] - CALM)
        after = load.answered(seen, begin, begin + CALM)
        if after * pace.slowdown(begin, begin + CALM) < AS_BEFORE * before:
            wrong.append(f"{after:.0f} requests/s after an outage, {before:.0f} before")
    return wrong


# A transaction that waits for a slow machine is not rolled back for that.
PATIENT = ("--database.type=postgres", "--database.hold_max_sec=30")


class Outages:
    """Clients of a service that is made to fail: when, and what they saw."""

    def __init__(self, service):
        self._clients = load.Load(service.address)
        self._pace = load.Pace()
        self.seen = self._clients.seen
        self.times = []
        self._hangs = False

    def __enter__(self):
        self._pace.__enter__()
        self._clients.start()
        time.sleep(0.5 + CALM)
        now = time.monotonic()
        self._pace.calm(now - CALM, now, list(self.seen))
        return self

    def __exit__(self, *_):
        self._hangs = not self._clients.stop()
        self._pace.__exit__()

    @contextlib.contextmanager
    def one(self):
        """An outage, for as long as its block; then what it is measured by is waited for."""
        down = time.monotonic()
        yield
        up = time.monotonic()
        self.times.append((down, up))
        time.sleep(2 * AGAIN + 0.1)
        while time.monotonic() < full_rate(up, self._pace) + CALM + 0.1:
            time.sleep(0.1)

    def wrong(self, rows, slowest=SLOWEST):
        """After the end of the load, with the ids in the table."""
        return (judge_requests(self.seen, self.times, slowest, self._pace) +
                judge_rates(self.seen, self.times, self._pace) + load.judge_rows(self.seen, rows) +
                (["a client hangs"] if self._hangs else []))


def score(seen, wrong, outages, demanded):
    """A row of the table."""
    count = {status: sum(1 for one in seen if one.status == status) for status in (200, 201, 404, 503)}
    slowest = max((one.seconds for one in seen), default=0)
    text = (f"{len(outages)} outages, {len(seen)} requests, {count[201]} writes acknowledged, {count[503]} times 503, "
            f"slowest {slowest:.2f} s")
    different = list(dict.fromkeys(wrong))
    if wrong:
        text += f"; {len(wrong)} wrong: " + "; ".join(different[:5])
    # Without them nothing was tried.
    is_enough = not wrong and count[201] > 20 * max(1, len(outages)) and (count[503] > 0 or not outages)
    return text, is_enough, demanded


def restarts(build, rounds=20):
    """The server is killed in mid-load, as by a crash, as by an administrator, and its first process alone."""
    ways = itertools.cycle((signal.SIGQUIT, signal.SIGINT, signal.SIGKILL))
    with peers.postgres() as server, peers.served(build, *PATIENT,
                                                  f"--database.url={server.url()}") as service:
        with Outages(service) as outages:
            for how in itertools.islice(ways, rounds):
                with outages.one():
                    server.end(how)
                    time.sleep(0.3)
                    server.start()
        wrong = outages.wrong(server.rows())
    return score(outages.seen, wrong, outages.times, f"{rounds} outages: 503 with Retry-After during them only, full "
                 f"rate within {AGAIN:.0f} s, nothing lost or twice")


# What toxiproxy does to the connections, and whether what waits is told by time alone: (name, stream, attributes, stalls).
TOXICS = [
    ("reset_peer", "downstream", {"timeout": 0}, False),
    ("reset_peer", "upstream", {"timeout": 20}, False),
    ("limit_data", "downstream", {"bytes": 3000}, False),
    ("limit_data", "upstream", {"bytes": 1777}, False),
    ("slicer", "downstream", {"average_size": 3, "size_variation": 2, "delay": 10}, False),
    ("latency", "downstream", {"latency": 30, "jitter": 20}, False),
    ("timeout", "downstream", {"timeout": 0}, True),
    ("timeout", "upstream", {"timeout": 0}, True),
]
STATEMENT_TIMEOUT = 1.0
CANCEL_GRACE = 5.0  # database.h


def toxics(build, which=TOXICS):
    """Resets, cuts, slices and stalls by toxiproxy between service and server."""
    with peers.postgres() as server, peers.ending(peers.Proxy(server.port)) as proxy, peers.served(
            build, *PATIENT, f"--database.url={server.url(proxy.port)}",
            f"--database.statement_timeout_sec={STATEMENT_TIMEOUT}") as service:
        with Outages(service) as outages:
            for name, stream, attributes, stalls in which:
                with outages.one():
                    proxy.add(name, stream, **attributes)
                    # A server that says nothing is given up after a time.
                    time.sleep(STATEMENT_TIMEOUT + CANCEL_GRACE + 2 if stalls else 1)
                    proxy.remove(name, stream)
            with outages.one():
                proxy.enable(False)
                time.sleep(1)
                proxy.enable(True)
        wrong = outages.wrong(server.rows(), STATEMENT_TIMEOUT + 2 * CANCEL_GRACE + AGAIN)
    return score(outages.seen, wrong, outages.times, f"{len(which) + 1} faults, the same")


def pooled(build, rounds=3):
    """pgbouncer in transaction mode before the server: it is killed, and the server behind it."""
    with peers.postgres() as server, peers.ending(peers.Pooler(server)) as pooler, peers.served(
            build, *PATIENT, f"--database.url={server.url(pooler.port)}",
            "--database.pooler=true") as service:
        with Outages(service) as outages:
            for number in range(rounds):
                with outages.one():
                    one = pooler if number % 2 == 0 else server
                    one.end()
                    time.sleep(0.3)
                    one.start()
        wrong = outages.wrong(server.rows())
    return score(outages.seen, wrong, outages.times, f"{rounds} outages, the same, behind a pooler")


def exhausted(build, seconds=3.0):
    """All connections are taken: whoever finds none is told so within wait_max, and the others have theirs."""
    wait_max = 0.5
    with peers.postgres() as server, peers.served(build, "--database.type=postgres", f"--database.url={server.url()}",
                                                  "--network.workers=1", "--database.connections=2",
                                                  f"--database.wait_max_sec={wait_max}") as service:
        seen = []

        def ask(path):
            connection = load.http.client.HTTPConnection(*service.address, timeout=load.TIMEOUT)
            began = time.monotonic()
            status, _, retry = load.ask(connection, "POST", path)
            seen.append((path, status, retry, time.monotonic() - began))
            connection.close()

        def ask_all(paths):
            threads = [threading.Thread(target=ask, args=(path,)) for path in paths]
            for thread in threads:
                thread.start()
            return threads

        # As many while there are connections: what this takes here, is not the pool's.
        for thread in ask_all(f"/rows/{number}" for number in range(64)):
            thread.join()
        normal = max(one[3] for one in seen)
        there = sum(1 for one in seen if one[1] == 201)
        seen.clear()

        threads = ask_all([f"/slow/{int(1000 * (seconds + normal))}"] * 2)
        time.sleep(0.3 + normal)
        threads += ask_all(f"/rows/{number}" for number in range(64, 128))
        for thread in threads:
            thread.join()
        refused = [one for one in seen if one[1] == 503]
        slow = [one for one in seen if one[0].startswith("/slow")]
        slowest = max(one[3] for one in refused) if refused else 0
        wrong = [] if len(refused) == 64 and all(one[2] for one in refused) else ["not all are told 503 with Retry-After"]
        wrong += [] if slowest <= wait_max + max(0.5, 2 * normal) else ["too late"]
        wrong += [] if all(one[1] == 201 for one in slow) else ["who had a connection has failed"]
        wrong += [] if there == 64 and len(server.rows()) == 64 else ["a statement was run for nobody, or not run"]
    return ("; ".join([f"{len(refused)} of 64 refused, the slowest after {slowest:.2f} s", *wrong]), not wrong,
            f"64 of 64 within {wait_max} s and half a second")


def sqlite_kills(build, rounds=100):
    """kill -9 of the service under mixed writes on SQLite, and what is in its file when it serves again."""
    wrong, acknowledged = [], 0
    with tempfile.TemporaryDirectory(prefix="keel-data-") as folder:
        database = pathlib.Path(folder) / "app.db"
        service = peers.Service(build, folder, "--database.type=sqlite", f"--database.path={database}")
        seen = []
        try:
            for number in range(rounds):
                clients = load.Load(service.address, seed=number, first_id=number * 100_000).start()
                time.sleep(0.1 + 0.3 * (number * 37 % rounds) / rounds)
                service.kill()
                if not clients.stop():
                    wrong.append("a client hangs")
                # What was under way when it was killed has no response, which is not wrong: it may have happened.
                seen += clients.seen
                wrong += [one.wrong for one in clients.seen if one.wrong and one.status != 0]
                service.start()
                with sqlite3.connect(database) as connection:
                    rows = [row[0] for row in connection.execute("select id from rows")]
                wrong += load.judge_rows(seen, rows)
                if wrong:
                    break
        finally:
            service.end()
        acknowledged = sum(1 for one in seen if one.status == 201)
    different = list(dict.fromkeys(wrong))
    return ("; ".join([f"{number + 1} rounds, {acknowledged} writes acknowledged", *different[:5]]),
            not wrong and acknowledged > 10 * rounds, f"{rounds} rounds, nothing acknowledged lost, nothing twice")


def tests(build, names, demanded, **environment):
    """Tests of the program that src/keel/db/postgres has, with more of what they do."""
    done = subprocess.run([build / "src/keel/db/postgres/db_postgres_tests", f"--gtest_filter={names}"], text=True,
                          capture_output=True, env={**os.environ, **environment}, timeout=3600, check=False)
    counts = re.findall(r"^\[ *(PASSED|FAILED|SKIPPED) *\] (\d+) test", done.stdout, re.MULTILINE)
    said = re.findall(r"^\[ *score *\] (.+)$", done.stdout, re.MULTILINE)
    text = "; ".join([", ".join(f"{number} {word.lower()}" for word, number in counts) or done.stdout[-300:], *said])
    if done.returncode != 0:
        text += "; " + done.stdout[-700:]
    return text, done.returncode == 0 and "SKIPPED" not in done.stdout and "PASSED" in done.stdout, demanded


def seeds(build, count=1000):
    """A simulated server whose connections are cut at any byte."""
    return tests(build, "FakeDatabaseCuts.*",
                 f"{count} seeds each: an acknowledged write there once, a COPY whole or not there, each loss told",
                 KEEL_CONFORMANCE_SEEDS=str(count))


def statements(build, count=1_000_000):
    """More different statements than there is memory for."""
    return tests(build, "*ManyStatements.*/uring", f"{count} different statements in bounded memory",
                 KEEL_CONFORMANCE_STATEMENTS=str(count))


def injection(build):
    """SQL in every parameter, identifier and setting, and lengths that do not fit 32 bits."""
    return tests(build, "*Injection*:*Lengths*", "data, never SQL; an error before anything is sent")


def malicious(build):
    """Wrong lengths, endless rows, logins that prove nothing, TLS taken out of the offer."""
    return tests(build, "*FakeFault*:*MaliciousServer*:*Tls*", "an error, in bounded memory")


def fuzz(_, runs=10_000_000):
    """The reader of the protocol, under sanitizers."""
    program = OPTIONS.fuzzer
    if not program.exists():
        raise Failed(f"no {program}: cmake --preset clang && cmake --build build/clang --target db_postgres_reader_fuzz")
    with tempfile.TemporaryDirectory() as corpus:
        done = subprocess.run([program, f"-runs={runs}", "-max_len=4096", "-rss_limit_mb=2048", "-timeout=60",
                               "-print_final_stats=1", "-verbosity=0", corpus], text=True, capture_output=True,
                              timeout=7200, check=False, cwd=corpus)
    found = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    made = int(found[1]) if found else 0
    return (f"{made} inputs" + ("" if done.returncode == 0 else f"; {done.stderr[-500:]}"),
            done.returncode == 0 and made >= runs, f"{runs} inputs, no finding")


OPTIONS = argparse.Namespace(fuzzer=FUZZER)
TOXIPROXY = "toxiproxy 2.12.0: resets, cuts and stalls"
SUITES = [
    ("PostgreSQL killed and started again in mid-load", restarts),
    (TOXIPROXY, toxics),
    ("pgbouncer in transaction mode, killed as well", pooled),
    ("the pool exhausted", exhausted),
    ("connections cut at any byte, in the simulation", seeds),
    ("different statements", statements),
    ("SQL injection, and lengths beyond 32 bits", injection),
    ("a malicious server", malicious),
    ("the protocol's reader, fuzzed", fuzz),
    ("SQLite: kill -9 under mixed writes", sqlite_kills),
]
SAMPLE = [
    ("PostgreSQL killed and started again in mid-load", lambda build: restarts(build, 3)),
    (TOXIPROXY, lambda build: toxics(build, [one for one in TOXICS if not one[-1]][::2])),
    ("pgbouncer in transaction mode, killed as well", lambda build: pooled(build, 2)),
    ("the pool exhausted", lambda build: exhausted(build, 1.5)),
    ("SQLite: kill -9 under mixed writes", lambda build: sqlite_kills(build, 10)),
]


def main():
    """Runs the suites, and prints their table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--fuzzer", type=pathlib.Path, default=FUZZER)
    parser.add_argument("--only", default="", help="suites whose name has this text")
    parser.add_argument("--sample", action="store_true", help="a minute instead of half an hour")
    options = parser.parse_args()
    OPTIONS.fuzzer = options.fuzzer.resolve()
    is_good = True
    for name, suite in SAMPLE if options.sample else SUITES:
        if options.only not in name:
            continue
        if options.sample and name == TOXIPROXY and not peers.has_toxiproxy():
            print(f"--    {name}: left out of the sample, because there is no Go to build it", flush=True)
            continue
        try:
            text, is_enough, demanded = suite(options.build.resolve())
        except (Failed, subprocess.TimeoutExpired) as error:
            text, is_enough, demanded = str(error), False, "a score"
        is_good = is_good and is_enough
        print(f"{'ok  ' if is_enough else 'FAIL'}  {name}: {text} (demanded: {demanded})", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
