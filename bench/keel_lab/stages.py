"""Where the time of a request goes: the sums of a service's stage clock (GET /admin/stages) before and after a load.

Each run is a fresh process. Of the route that answered most, a value for each stage: its share of all stages together,
and microseconds on average; and the shares of some together, for what others have measured in other parts.
"""

import http.client
import json

from keel_lab import judge
from keel_lab.measure import Half, payload_for, run
from keel_lab.sides import Invalid

DATABASE = ("database_wait", "database")


def seconds(experiment, settings):
    return len(experiment.measure) * settings.pairs * (settings.seconds + settings.warmup + settings.cool_down + 0.4)


def read(server):
    """{(method, route): (measured, written, {stage: ns})} as of now."""
    connection = http.client.HTTPConnection("127.0.0.1", server.admin_port, timeout=5)
    try:
        connection.request("GET", "/admin/stages")
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise Invalid(f"GET /admin/stages of the admin listener answered {answer.status}")
    return {(route["method"], route["route"]): (route["measured"], route["written"], route["stages"])
            for route in json.loads(text)["routes"]}


def means(before, after):
    """(route, {stage: ns on average}) of the route that was measured most in between."""
    grown = {route: now[0] - before.get(route, (0, 0, {}))[0] for route, now in after.items()}
    route = max(grown, key=grown.get, default=None)
    if route is None or grown[route] == 0:
        raise Invalid("no request was measured: monitoring.measured_every is 0, or the server is another one")
    measured, written, stages = after[route]
    old_measured, old_written, old_stages = before.get(route, (0, 0, {}))
    counts = {stage: measured - old_measured for stage in stages} | {"write": written - old_written}
    return route, {stage: (ns - old_stages.get(stage, 0)) / counts[stage] if counts[stage] else 0.0
                   for stage, ns in stages.items()}


def shares(mean):
    """{name: percent} of all stages together."""
    total = sum(mean.values())
    found = {stage: 100 * ns / total for stage, ns in mean.items()}
    inside = sum(found[stage] for stage in DATABASE)
    return found | {
        "data base": inside,
        "all but the data base": 100 - inside,
        "route and handler": found["route"] + found["handler"],
        "route, handler and serialize": found["route"] + found["handler"] + found["serialize"]
    }


def publish(name, runs, result):
    if not runs:
        return
    if len({route for route, _ in runs}) != 1:
        result["invalid"].append({"what": f"stages of {name}", "why": "another route answered most in each run"})
        return
    route = " ".join(runs[0][0])
    for stage in runs[0][1]:
        result["values"].append(judge.value(f"{name}:{stage}-us", f"{name}, {route}: {stage}", "us",
                                            [mean[stage] / 1000 for _, mean in runs]))
    each = [shares(mean) for _, mean in runs]
    for part in each[0]:
        value = part.replace(",", "").replace(" ", "-")
        result["values"].append(judge.value(f"{name}:{value}", f"{name}, {route}: share of {part}", "%",
                                            [one[part] for one in each]))


def measure(experiment, settings, result, progress):
    for name in experiment.measure:
        half = Half(experiment.sides[name], experiment.work, settings.build)
        if half.missing:
            result["skipped"].append({"what": name, "why": f"{half.missing}: not found"})
            continue
        step = progress.steps(f"stages of {name}, {experiment.work.name}", settings.pairs,
                              seconds(experiment, settings))
        runs = []
        try:
            for _ in range(settings.pairs):
                done = run(settings, half, payload_for(half, []), look=read)
                runs.append(means(*done["looks"]))
                step()
        except Invalid as problem:
            result["invalid"].append({"what": f"stages of {name}, {experiment.work.name}", "why": str(problem)})
        finally:
            publish(name, runs, result)
