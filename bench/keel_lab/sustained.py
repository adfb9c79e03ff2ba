"""A sustained load: does the resident memory, or the CPU, grow with time, and what of the machine is used?

The slope is Theil and Sen's over the samples of each second, without the first quarter, in which a server warms up.
"""

import dataclasses

from keel_lab import judge, statistics
from keel_lab.kind import OfSides
from keel_lab.measure import payload_for, run
from keel_lab.pairs import Series


def window(experiment, settings):
    """Seconds. What is long is never made short: it would be no test of stability."""
    whole = settings.profile == "full" or experiment.profile == "long"
    return experiment.seconds if whole else min(experiment.seconds, 10)


def share(samples, used):
    """How much of it there was in a second."""
    return (used(samples[-1]) - used(samples[0])) / max(samples[-1].at - samples[0].at, 1e-9)


def publish(name, done, span, result):
    samples, series = done["samples"], Series()
    series.add(name, samples)
    series.into(result)
    warm = samples[len(samples) // 4:]
    growth = statistics.slope([(one.at, one.rss_kb) for one in warm]) * 60
    values = [("rss-slope", "growth of the resident memory", "KB per minute", growth),
              ("rss-last", "resident memory at the end", "KB", samples[-1].rss_kb),
              ("cpu-used", "CPU", "of one core", share(samples, lambda one: one.user + one.system)),
              ("disk", "written to disk", "KB/s", share(samples, lambda one: one.written / 1024)),
              ("descriptors", "open descriptors, at most", "", max(one.descriptors for one in samples))]
    if "bytes" in done:
        values.append(("network", "received and sent", "KB/s", done["bytes"] / 1024 / span))
    for what, title, unit, value in values:
        result["values"].append(judge.value(f"{name}:{what}", f"{name}: {title}", unit, [value]))


class Sustained(OfSides):
    name = "sustained"
    keys = OfSides.keys | {"seconds": (int, float)}

    def seconds(self, one, settings):
        return len(one.measure) * (window(one, settings) + 1)

    def of_side(self, one, settings, half, result, progress):
        span, samples = window(one, settings), []
        step = progress.steps(f"{half.name}, {one.work.name}, {span:g} s", 1, span + 1)
        try:
            done = run(dataclasses.replace(settings, seconds=span), half, payload_for(half, []), samples=samples)
        except KeyboardInterrupt:
            if len(samples) >= 2:
                publish(half.name, {"samples": samples}, span, result)
            raise
        publish(half.name, done, span, result)
        step()
