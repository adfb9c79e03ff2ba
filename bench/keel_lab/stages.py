"""Where the time of a request goes: the sums of a service's stage clock (GET /admin/stages) before and after a load.

Each run is a fresh process. Of the route that answered most, a value for each stage: its share of all stages together,
and microseconds on average; and the shares of some together, for what others have measured in other parts.
"""

import json

from keel_lab import judge, results, sides
from keel_lab.kind import OfSides
from keel_lab.measure import payload_for, run
from keel_lab.sides import Invalid

DATABASE = ("database_wait", "database")
# Of parts whose name is an identifier in older results.
TITLES = {"data-base": "the database and the wait for it", "all-but-the-data-base": "everything except the database"}


def read(server):
    """{(method, route): (measured, written, {stage: ns})} as of now."""
    status, _, text = sides.fetch(server.admin_port, "/admin/stages")
    if status != 200:
        raise Invalid(f"GET /admin/stages of the admin listener returned {status}")
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
        "data-base": inside,
        "all-but-the-data-base": 100 - inside,
        "route and handler": found["route"] + found["handler"],
        "route, handler and serialize": found["route"] + found["handler"] + found["serialize"]
    }


def publish(name, runs, result):
    if not runs:
        return
    if len({route for route, _ in runs}) != 1:
        results.refuse(result, f"stages of {name}", "another route answered most in each run")
        return
    route = " ".join(runs[0][0])
    for stage in runs[0][1]:
        result["values"].append(judge.value(f"{name}:{stage}-us", f"{name}, {route}: {stage}", "us",
                                            [mean[stage] / 1000 for _, mean in runs]))
    each = [shares(mean) for _, mean in runs]
    for part in each[0]:
        value = part.replace(",", "").replace(" ", "-")
        title = f"{name}, {route}: share of {TITLES.get(part, part)}"
        result["values"].append(judge.value(f"{name}:{value}", title, "%", [one[part] for one in each]))


class Stages(OfSides):
    name = "stages"

    def seconds(self, one, settings):
        return len(one.measure) * settings.pairs * (settings.seconds + settings.warmup + settings.cool_down + 0.4)

    def of_side(self, one, settings, half, result, progress):
        step = progress.steps(f"stages of {half.name}, {one.work.name}", settings.pairs, self.seconds(one, settings))
        runs = []
        try:
            for _ in range(settings.pairs):
                runs.append(means(*run(settings, half, payload_for(half, []), look=read)["looks"]))
                step()
        finally:
            publish(half.name, runs, result)
