"""A load that goes on: does the resident memory, or the CPU of an operation, grow with time?

The slope is Theil and Sen's over the samples of each second, without the first quarter, in which a server warms up.
"""

import dataclasses

from keel_lab import judge, results, statistics
from keel_lab.measure import Half, payload_for, run
from keel_lab.sides import Invalid


def window(experiment, settings):
    return experiment.seconds if settings.profile == "full" else min(experiment.seconds, 10)


def seconds(experiment, settings):
    return len(experiment.measure) * (window(experiment, settings) + 1)


def slope_per_minute(points):
    return statistics.slope(points[len(points) // 4:]) * 60


def publish(name, samples, result):
    first = samples[0].at
    rss = [[round(one.at - first, 2), one.rss_kb] for one in samples]
    used = lambda before, after: (after.user + after.system - before.user - before.system) / (after.at - before.at)
    cpu = [[round(after.at - first, 2), round(used(before, after), 4)] for before, after in zip(samples, samples[1:])]
    for what, title, unit, points in (("rss", "resident memory", "KB", rss), ("cpu", "CPU", "of one core", cpu)):
        result["series"].append({
            "id": f"{name}:{what}",
            "name": f"{name}: {title}",
            "unit": unit,
            "points": results.thinned(points)
        })
    result["values"].append(
        judge.value(f"{name}:rss-slope", f"{name}: growth of the resident memory", "KB per minute",
                    [slope_per_minute(rss)]))
    result["values"].append(judge.value(f"{name}:rss-last", f"{name}: resident memory at the end", "KB", [rss[-1][1]]))


def measure(experiment, settings, result, progress):
    for name in experiment.measure:
        half = Half(experiment.sides[name], experiment.work, settings.build)
        if half.missing:
            result["skipped"].append({"what": name, "why": f"{half.missing}: not found"})
            continue
        span = window(experiment, settings)
        step = progress.steps(f"{name}, {experiment.work.name}, {span:g} s", 1, span + 1)
        try:
            done = run(dataclasses.replace(settings, seconds=span), half, payload_for(half, []))
        except Invalid as problem:
            result["invalid"].append({"what": f"{name}, {experiment.work.name}", "why": str(problem)})
            continue
        publish(name, done["samples"], result)
        step()
