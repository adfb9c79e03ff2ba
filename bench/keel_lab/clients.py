"""Clients against each other, on the same server: do they count the same, and what does a request cost each of them?

In a round every client loads a server of its own, started anew, the order turned each time; the ratio is taken inside
the round. The count is the one that the client prints. CPU is that of its whole process as the system counts it, with
its start, but without the time that keel load says it polled without a result.
"""

import json
import pathlib
import re
import shutil
import tempfile

from keel_lab import judge, load_client, peers, results, sides, wrk
from keel_lab.kind import OfSides
from keel_lab.measure import DISTURBED, payload_for
from keel_lab.sides import CLIENT_CORE, Invalid

NAMES = ("keel-uring", "keel-epoll", "wrk", "h2load")
SECONDS = 1  # Of a run: wrk and h2load know whole seconds only.
OVERHEAD = 0.1


def missing(client, build):
    """What has to be installed or built, or nothing."""
    if client.startswith("keel-"):
        return "" if sides.program(sides.KEEL, build) else f"{build / sides.KEEL}"
    return "" if shutil.which(client) else f"{client} (scripts/setup bench)"


def command(client, build, url, connections, folder):
    if client.startswith("keel-"):
        return [
            sides.keel(build), "load", url, f"--connections={connections}", f"--duration={SECONDS}s",
            "--warmup=0s", f"--cores={CLIENT_CORE}", f"--engine={client.removeprefix('keel-')}",
            f"--json={folder}/report.json"
        ]
    if client == "wrk":
        return wrk.command(url, connections, SECONDS)
    return ["h2load", "--h1", "-t1", f"-c{connections}", "-D", str(SECONDS), url]


def counted(client, said, folder):
    """(responses, per second, seconds polled without a result) of what a client printed. Invalid when it met errors."""
    if client.startswith("keel-"):
        report = json.loads(pathlib.Path(folder, "report.json").read_text())
        load_client.check(report)
        return report["requests"], report["achieved"], report["client_busy_polling"] * SECONDS
    if client == "wrk":
        return *wrk.counted(said), 0
    found = re.search(r"(\d+) succeeded, (\d+) failed", said)
    if found is None or int(found.group(2)):
        raise Invalid(f"h2load met errors, or said something else: {said.strip()[-300:]}")
    return int(found.group(1)), int(found.group(1)) / SECONDS, 0


def run(client, half, payload):
    """{rate, client_us, server_utilisation, client_utilisation, others_used} of one client on a fresh server."""
    work = half.work
    with sides.running(half.side, work, half.build, payload) as server, tempfile.TemporaryDirectory() as folder:
        sides.check(server.port, work)
        arguments = command(client, half.build, f"http://127.0.0.1:{server.port}{work.path}", work.connections, folder)
        said, spent = load_client.run_other(arguments, server, SECONDS)
        count, rate, polled = counted(client, said, folder)
        sides.check(server.port, work)
    if not count:
        raise Invalid(f"{client}: no answer")
    used = spent.children - polled
    return {
        "rate": rate, "client_us": used / count * 1e6, "server_utilisation": spent.cpu / spent.wall,
        "client_utilisation": used / spent.wall, "others_used": spent.others
    }


def wanted(experiment):
    return [name for name in NAMES if any(name in (one.a, one.b) for one in experiment.comparisons)]


def publish(experiment, rounds, result):
    for one in experiment.comparisons:
        pairs = [{
            "a": round_[one.a], "b": round_[one.b], "repeated": 0,
            "disturbed": any(round_[name]["others_used"] > DISTURBED for name in (one.a, one.b))
        } for round_ in rounds if one.a in round_ and one.b in round_]
        # The clients are what is compared: their being the limit is no fault.
        row = judge.compare(pairs, one.of, one.target, judge.noise(pairs, one.of), itself=True)
        results.add_comparison(result, one.id, one.a, one.b, experiment.work.name, row)


class Clients(OfSides):
    name = "clients"
    keys = OfSides.keys | {"comparisons": list, "rounds": int}
    required = ("work", "measure", "comparisons")
    compared = "client"
    quantities = ("rate", "client_us")

    def comparable(self, sides, cases):
        return NAMES

    def made_of(self, one, build):
        ours = {name: peers.of_side(one.sides[name], build) for name in one.measure}
        return ours | {name: peers.versions(shutil.which(name) or "") for name in wanted(one) if name in peers.CLIENTS}

    def seconds(self, one, settings):
        return len(one.measure) * settings.pairs * one.rounds * len(wanted(one)) * (SECONDS + OVERHEAD)

    def measure(self, one, settings, result, progress):
        for name in wanted(one):
            if lacks := missing(name, settings.build):
                results.skip(result, name, f"{lacks}: not found")
        super().measure(one, settings, result, progress)

    def of_side(self, one, settings, half, result, progress):
        there = [name for name in wanted(one) if not missing(name, settings.build)]
        count, rounds = settings.pairs * one.rounds, []
        step = progress.steps(f"clients of {half.name}", count, self.seconds(one, settings))
        try:
            payload = payload_for(half, [])
            for number in range(count):
                order = there if number % 2 == 0 else there[::-1]
                rounds.append({client: run(client, half, payload) for client in order})
                step()
        finally:
            publish(one, rounds, result)
