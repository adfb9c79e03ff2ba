"""Latency under `keel load`: at rates decided beforehand (open-loop), and at shares of the capacity (capacity).

A request is due at its time whatever the server does, and its latency begins then; docs/load.md. With `closed: true`
the same side is loaded in a closed loop as well, which is what hides a server that stalls.
"""

import tempfile

from keel_lab import judge, load_client, results, sides
from keel_lab.measure import Half, payload_for
from keel_lab.sides import Invalid

WARMUP = 0.5
QUICK_SECONDS_MAX = 3


def span(experiment, settings):
    return experiment.seconds if settings.profile == "full" else min(experiment.seconds, QUICK_SECONDS_MAX)


def runs(experiment):
    return len(experiment.rates) + experiment.closed + (len(experiment.percent) + 1 if experiment.percent else 0)


def seconds(experiment, settings):
    return len(experiment.measure) * runs(experiment) * (span(experiment, settings) + WARMUP + 0.5)


def accepted(work):
    """The statuses of which each is an answer or a refusal; none where a refusal is a mistake."""
    return (work.status, work.refusal) if work.refusal else ()


def run(keel, half, duration, parts, *more):
    """The JSON of one `keel load` against a fresh server. Invalid when an answer was wrong or did not come."""
    payload = payload_for(half, [])
    with sides.running(half.side, half.work, half.build, payload) as server, tempfile.TemporaryDirectory() as folder:
        sides.check(server.port, half.work)
        sides.prepare(server.port, half.work)
        arguments = load_client.command(keel, server, half.work, folder, duration, WARMUP, *more)
        with load_client.started(arguments) as process:
            report = load_client.report(process, folder, parts * (duration + WARMUP))
        for one in report.get("steps", [report]):
            # At the end of an overload some are still waiting for their turn.
            load_client.check(one, late_is_wrong=False, expected=accepted(half.work))
        sides.check(server.port, half.work)
        return report


def distribution(name, side, work, one):
    latency = one["latency"]
    row = {
        "id": name,
        "side": side,
        "work": work,
        "offered": one["offered"],
        "achieved": one["achieved"],
        "unit": latency["unit"],
        "count": latency["count"],
        "errors": one["errors"],
        "percentiles": latency["percentiles"],
        "cdf": latency["cdf"],
        "from": latency["from"]
    }
    for key in ("server_utilisation", "client_utilisation", "server_cpu_us_per_request"):
        row[key] = one.get(key)
    return row


def goodput(one):
    """Of what was answered, in a second, what was not refused."""
    return one["achieved"] * (1 - one["errors"].get("status", 0) / one["requests"])


def publish(name, side, work, one, result):
    result["distributions"].append(distribution(name, side, work, one))
    points = [[second["second"], second["latency_max_us"]] for second in one["series"]]
    result["series"].append({
        "id": f"{name}:longest",
        "name": f"{name}: longest latency of each second",
        "unit": "us",
        "points": results.thinned(points)
    })


def of_side(experiment, settings, half, keel, result, step):
    duration, name, work = span(experiment, settings), half.name, half.work.name
    for rate in experiment.rates:
        report = run(keel, half, duration, 1, f"--rate={rate}")
        publish(f"{name}:{rate} per second", name, f"{work}, {rate:,} per second", report, result)
        step()
    if experiment.closed:
        publish(f"{name}:closed loop", name, f"{work}, closed loop", run(keel, half, duration, 1), result)
        step()
    if experiment.percent:
        steps = ",".join(str(percent) for percent in experiment.percent)
        report = run(keel, half, duration, len(experiment.percent) + 1, f"--steps={steps}")
        result["values"].append(judge.value(f"{name}:capacity", f"{name}: capacity", "per second",
                                            [report["capacity"]]))
        for one in report["steps"]:
            if one.get("step") is not None:
                percent = round(one["step"] * 100)
                publish(f"{name}:{percent} %", name, f"{work}, {percent} % of capacity", one, result)
                if half.work.refusal:
                    title = f"{name}: answered as wanted at {percent} %"
                    result["values"].append(judge.value(f"{name}:{percent} %:goodput", title, "of the capacity",
                                                        [goodput(one) / report["capacity"]]))
        step()


def bounds(experiment, result):
    by_id = {row["id"]: row["percentiles"] for row in result["distributions"]}
    for a, b, of, target in experiment.bounds:
        if a in by_id and b in by_id and by_id[b][of.removeprefix("p")]:
            values = [by_id[one][of.removeprefix("p")] for one in (a, b)]
            yield {"id": f"{a}:{b}:{of}", "a": a, "b": b, **judge.bound(of, *values, target)}


def measure(experiment, settings, result, progress):
    try:
        keel = load_client.program(settings.build)
    except Invalid as problem:
        result["skipped"].append({"what": experiment.id, "why": str(problem)})
        return
    for name in experiment.measure:
        half = Half(experiment.sides[name], experiment.work, settings.build)
        if half.missing:
            result["skipped"].append({"what": name, "why": f"{half.missing}: not found"})
            continue
        parts = len(experiment.rates) + experiment.closed + bool(experiment.percent)
        step = progress.steps(f"{name}, {experiment.work.name}", parts,
                              seconds(experiment, settings) / len(experiment.measure))
        try:
            of_side(experiment, settings, half, keel, result, step)
        except Invalid as problem:
            result["invalid"].append({"what": f"{name}, {experiment.work.name}", "why": str(problem)})
    result["bounds"] += bounds(experiment, result)
