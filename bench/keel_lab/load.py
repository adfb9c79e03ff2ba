"""Latency under `keel load`: at rates decided beforehand (open-loop), and at shares of the capacity (capacity), each in
several windows by turns, of which the one with the median 99th percentile is published.

A request is due at its time whatever the server does, and its latency begins then; docs/load.md. With `closed: true`
the same side is loaded in a closed loop as well, which is what hides a server that stalls; `wrk` loads its sides too.
"""

import dataclasses
import statistics
import tempfile

from keel_lab import judge, load_client, results, sides, wrk
from keel_lab.kind import OfSides, of_distributions
from keel_lab.measure import payload_for
from keel_lab.sides import Invalid

WARMUP = 0.5
OVERHEAD = 0.1
QUICK_SECONDS_MAX = 3
# Percent of what a closed loop gets, which is what an open loop may get at most; how often each is tried, and how long.
SHARES_TRIED = range(50, 105, 5)
TRIES = 3
TRY_SECONDS, TRY_WARMUP = 0.5, 0.2
WHOLE = 0.99
LATENCIES = ("p50", "p90", "p99", "p99.9", "max")


def span(experiment, settings):
    return experiment.seconds if settings.profile == "full" else min(experiment.seconds, QUICK_SECONDS_MAX)


def accepted(work):
    """The statuses of which each is an answer or a refusal; none where a refusal is a mistake."""
    return (work.status, work.refusal) if work.refusal else ()


def run(keel, half, duration, parts, *more, warmup=WARMUP):
    """The JSON of one `keel load` against a fresh server. Invalid when an answer was wrong or did not come."""
    payload = payload_for(half, [])
    with sides.running(half.side, half.work, half.build, payload) as server, tempfile.TemporaryDirectory() as folder:
        sides.check(server.port, half.work)
        sides.prepare(server.port, half.work)
        arguments = load_client.command(keel, server, half.work, folder, duration, warmup, *more)
        with load_client.started(arguments) as process:
            report = load_client.report(process, folder, parts * (duration + warmup))
        for one in report.get("steps", [report]):
            # At the end of an overload some are still waiting for their turn.
            load_client.check(one, late_is_wrong=False, expected=accepted(half.work))
        sides.check(server.port, half.work)
        return report


def distribution(name, side, work, one):
    whole = {key: one[key] for key in ("offered", "achieved", "errors")}
    of_latency = {key: one["latency"][key] for key in ("unit", "count", "percentiles", "cdf", "from")}
    used = {key: one.get(key) for key in ("server_utilisation", "client_utilisation", "server_cpu_us_per_request")}
    return {"id": name, "side": side, "work": work, **whole, **of_latency, **used}


def goodput(one):
    """Of what was answered, in a second, what was not refused."""
    return one["achieved"] * (1 - one["errors"].get("status", 0) / one["requests"])


def publish(name, side, work, one, result):
    result["distributions"].append(distribution(name, side, work, one))
    points = [[second["second"], second["latency_max_us"]] for second in one["series"]]
    results.add_series(result, f"{name}:longest", f"{name}: longest latency of each second", "us", points)


def of_wrk(half, duration, result):
    """What wrk says of the side, as another distribution."""
    name, work = f"{half.name}:wrk", half.work
    if wrk.missing():
        return results.skip(result, name, f"{wrk.missing()}: not found")
    with sides.running(half.side, work, half.build, payload_for(half, [])) as server:
        sides.check(server.port, work)
        command = wrk.command(f"http://127.0.0.1:{server.port}{work.path}", work.connections, duration)
        said, spent = load_client.run_other(command, server, duration)
        sides.check(server.port, work)
    found = wrk.read(said)
    used = {"server_utilisation": spent.cpu / spent.wall, "client_utilisation": spent.children / spent.wall,
            "server_cpu_us_per_request": spent.cpu / found["requests"] * 1e6}
    result["distributions"].append(
        distribution(name, half.name, f"{work.name}, wrk", found | used | {"offered": None, "errors": {}}))


def capacity_of(half, keel, duration):
    """What the side answers as wanted in a second, by a closed loop over the work's own connections for it."""
    connections = half.work.capacity_connections or half.work.connections
    work = dataclasses.replace(half.work, connections=connections)
    return goodput(run(keel, dataclasses.replace(half, work=work), duration, 1))


def is_kept(windows, p99_ms):
    """Whether the median of a share's windows was answered whole, and the median 99th percentile was in time."""
    return (statistics.median(goodput(one) / one["offered"] for one in windows) >= WHOLE
            and statistics.median(one["latency"]["percentiles"]["99"] for one in windows) <= 1000 * p99_ms)


def open_capacity_of(half, keel, closed, p99_ms):
    """The share of what a closed loop gets up to which an open loop gets every share as well: whole, and 99 % of it in
    time. One fortunate window of a greater share does not make it the capacity."""
    steps = f"--steps={','.join(str(percent) for percent in [*SHARES_TRIED] * TRIES)}"
    report = run(keel, half, TRY_SECONDS, len(SHARES_TRIED) * TRIES, steps, f"--capacity={closed:.0f}",
                 warmup=TRY_WARMUP)
    windows = {}
    for one in report["steps"]:
        if one.get("step"):
            windows.setdefault(one["step"], []).append(one)
    kept = 0
    for share in sorted(windows):
        if not is_kept(windows[share], p99_ms):
            break
        kept = share
    if not kept:
        least = f"{SHARES_TRIED[0]} % of {closed:.0f} per second"
        raise Invalid(f"an open loop of {least} was not answered within {p99_ms} ms")
    return kept * closed


def of_shares(experiment, settings, half, keel, result):
    duration = span(experiment, settings)
    percents = experiment.percent * experiment.windows
    options = [f"--steps={','.join(str(percent) for percent in percents)}"]
    if half.work.capacity_connections or experiment.capacity_p99_ms:
        found = closed = capacity_of(half, keel, duration)
        if experiment.capacity_p99_ms:
            title = f"{half.name}: in a closed loop"
            result["values"].append(judge.value(f"{half.name}:closed loop", title, "per second", [closed]))
            found = open_capacity_of(half, keel, closed, experiment.capacity_p99_ms)
        options.append(f"--capacity={found:.0f}")
    try:
        report = run(keel, half, duration, len(percents) + 1, *options)
    except load_client.Interrupted as stopped:
        whole = [one for one in stopped.report["steps"] if one["complete"]]
        if "capacity" in stopped.report:
            publish_shares(experiment, half, stopped.report | {"steps": whole}, result)
        raise
    publish_shares(experiment, half, report, result)


def publish_shares(experiment, half, report, result):
    """Of each percent the windows that are in the report."""
    name, capacity = half.name, report["capacity"]
    result["values"].append(judge.value(f"{name}:capacity", f"{name}: capacity", "per second", [capacity]))
    for percent in experiment.percent:
        windows = [one for one in report["steps"] if one.get("step") and round(one["step"] * 100) == percent]
        if not windows:  # It was interrupted before.
            continue
        publish_share(f"{name}:{percent} %", half, f"{half.work.name}, {percent} % of capacity", windows, result)
        if half.work.refusal:
            title = f"{name}: answered as wanted at {percent} %"
            result["values"].append(judge.value(f"{name}:{percent} %:goodput", title, "of the capacity",
                                                [goodput(one) / capacity for one in windows]))


def publish_share(name, half, work, windows, result):
    """The window with the median 99th percentile, with the errors of all, and each one's 99th percentile."""
    p99 = lambda one: one["latency"]["percentiles"]["99"]
    typical = sorted(windows, key=p99)[len(windows) // 2]
    errors = {kind: sum(one["errors"].get(kind, 0) for one in windows) for kind in typical["errors"]}
    publish(name, half.name, work, typical | {"errors": errors}, result)
    if len(windows) > 1:
        result["values"].append(judge.value(f"{name}:p99", f"{work}: 99th percentile of each window",
                                            typical["latency"]["unit"], [p99(one) for one in windows]))
    refused = [one["latency_of_other_statuses"] for one in windows if "latency_of_other_statuses" in one]
    if refused:
        result["values"].append(judge.value(f"{name}:refused:p99", f"{work}: 99th percentile of refusals",
                                            refused[0]["unit"], [p99({"latency": one}) for one in refused]))


class OfLoad(OfSides):
    """What both kinds have: `keel load` as their client."""
    keys = OfSides.keys | {"seconds": (int, float)}
    loads_beside = False

    def figures(self, one):
        return of_distributions(one)

    def measure(self, one, settings, result, progress):
        try:
            sides.keel(settings.build)
        except Invalid as problem:
            return results.skip(result, one.id, str(problem))
        super().measure(one, settings, result, progress)


class OpenLoop(OfLoad):
    name = "open-loop"
    keys = OfLoad.keys | {"rates": list, "closed": bool, "wrk": list, "bounds": list}
    required = ("work", "measure", "rates")

    def bounded(self, content, counts):
        rates = [f"{rate} per second" for rate in content.get("rates", [])]
        rates += ["closed loop"] * content.get("closed", False)
        names = {f"{side}:{rate}" for side in content["measure"] for rate in rates}
        return names | {f"{side}:wrk" for side in content.get("wrk", [])}, set(LATENCIES), ()

    def seconds(self, one, settings):
        runs = len(one.measure) * (len(one.rates) + one.closed) + len(one.wrk)
        return runs * (span(one, settings) + WARMUP + OVERHEAD)

    def of_side(self, one, settings, half, result, progress):
        keel, duration = sides.keel(settings.build), span(one, settings)
        name, work, by_wrk = half.name, half.work.name, half.name in one.wrk
        step = progress.steps(f"{name}, {work}", len(one.rates) + one.closed + by_wrk,
                              self.seconds(one, settings) / len(one.measure))
        for rate in one.rates:
            report = run(keel, half, duration, 1, f"--rate={rate}")
            publish(f"{name}:{rate} per second", name, f"{work}, {rate:,} per second", report, result)
            step()
        if one.closed:
            publish(f"{name}:closed loop", name, f"{work}, closed loop", run(keel, half, duration, 1), result)
            step()
        if by_wrk:
            of_wrk(half, duration, result)
            step()

    def measure(self, one, settings, result, progress):
        super().measure(one, settings, result, progress)
        by_id = {row["id"]: row["percentiles"] for row in result["distributions"]}
        result["bounds"] += judge.bounds(one.bounds, lambda name, of: by_id.get(name, {}).get(of.removeprefix("p")))


class Capacity(OfLoad):
    name = "capacity"
    keys = OfLoad.keys | {"percent": list, "windows": int, "capacity_p99_ms": (int, float)}
    required = ("work", "measure", "percent")

    def seconds(self, one, settings):
        tries = len(SHARES_TRIED) * TRIES * (TRY_SECONDS + TRY_WARMUP) if one.capacity_p99_ms else 0
        windows = len(one.percent) * one.windows + 1
        return len(one.measure) * (windows * (span(one, settings) + WARMUP + OVERHEAD) + tries)

    def of_side(self, one, settings, half, result, progress):
        step = progress.steps(f"{half.name}, {half.work.name}", 1, self.seconds(one, settings) / len(one.measure))
        of_shares(one, settings, half, sides.keel(settings.build), result)
        step()
