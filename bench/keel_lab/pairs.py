"""Pairs of runs: A B, B A, ... each with a fresh server, so that drift hits both sides alike."""

import dataclasses

from keel_lab import counters, counts, judge, results
from keel_lab.kind import program_of
from keel_lab.measure import REPEATS, Half, payload_for, quiet_run

KEPT = ("cpu_us", "user_us", "system_us", "rate", "ns", "server_utilisation", "client_utilisation", "switches",
        "system_calls", "rss_kb", "start_ms", "mean", "p50", "p99", "disk_kb")
ITSELF_SECONDS = 0.55
RUN_OVERHEAD = 0.06  # Seconds around the window of a run: start, checks, end.


def one_run(settings, work=None):
    """Seconds."""
    if work is not None and work.client == "itself":
        return ITSELF_SECONDS
    return settings.warmup + settings.seconds + settings.cool_down + RUN_OVERHEAD


def alternate(settings, halves, payloads, found, step=lambda: None, **client_options):
    """Appends to `found` pair after pair of the two halves; what it has is good when it is interrupted."""
    repeats = settings.repeats
    for number in range(settings.pairs):
        pair, repeated, disturbed = {}, 0, False
        for key in ("ab" if number % 2 == 0 else "ba"):
            result, again = quiet_run(settings, halves[key], payloads[key], min(REPEATS, repeats), **client_options)
            repeats -= again
            repeated += again
            disturbed = disturbed or result["disturbed"]
            pair[key] = result
            step()
        found.append(pair | {"repeated": repeated, "disturbed": disturbed})


def published(pair):
    kept = lambda result: {key: result[key] for key in KEPT if result.get(key) is not None}
    return {"a": kept(pair["a"]), "b": kept(pair["b"]), "repeated": pair["repeated"], "disturbed": pair["disturbed"]}


class Series:
    """CPU and resident memory of each side over the whole experiment, a sample each second."""
    def __init__(self):
        self.points = {}

    def add(self, name, samples):
        for before, after in zip(samples, samples[1:]):
            used = (after.user + after.system - before.user - before.system) / max(after.at - before.at, 1e-9)
            switches = (after.switches - before.switches) / max(after.at - before.at, 1e-9)
            for what, title, unit, value in (("cpu", "CPU of the server", "of one core", round(used, 4)),
                                             ("rss", "resident memory", "KB", after.rss_kb),
                                             ("switches", "context switches", "per second", round(switches))):
                self.points.setdefault((name, what, title, unit), []).append((after.at, value))

    def into(self, result):
        if not self.points:
            return
        first = min(at for points in self.points.values() for at, _ in points)
        for (name, what, title, unit), points in self.points.items():
            shifted = [[round(at - first, 2), value] for at, value in sorted(points)]
            results.add_series(result, f"{name}:{what}", f"{name}: {title}", unit, shifted)


def wanted(experiment, settings):
    """The comparisons of this run, by what is measured together."""
    groups = {}
    for one in experiment.comparisons:
        full = "full" in (one.profile, experiment.sides[one.a].profile, experiment.sides[one.b].profile)
        if settings.wants(one.id) and (settings.profile == "full" or not full):
            groups.setdefault(one.pair, []).append(one)
    return list(groups.values())


def bounded(group, measured):
    """The values of A by itself where a comparison gives it a target of its own."""
    for one in group:
        values = [pair["a"][one.of] for pair in measured if pair["a"].get(one.of) is not None]
        if one.a_target and values:
            yield judge.value(one.own_id, f"{one.a}: {one.of}", judge.QUANTITIES[one.of][1], values, one.a_target)


def publish(group, measured, result):
    """The rows of one group from its pairs."""
    pairs = [published(pair) for pair in measured]
    for one in group:
        if not pairs or any(one.of not in pair[key] for pair in pairs for key in "ab"):
            continue
        work = one.a_work.name if one.a_work.name == one.b_work.name else f"{one.a_work.name} : {one.b_work.name}"
        # A side against itself needs no noise: it is the noise.
        noise = judge.noise(pairs, one.of) if (one.a, one.a_work) != (one.b, one.b_work) else None
        row = judge.compare(pairs, one.of, one.target, noise, bool(one.a_work.waits_for), one.a_work.client == "itself")
        results.add_comparison(result, one.id, one.a, one.b, work, row)
    result["values"] += bounded(group, measured)


def measure_pairs(halves, line, found, settings, progress, **client_options):
    """The pairs of two halves, appended to `found`, under `line` of the progress."""
    payloads = {key: payload_for(halves[key], [halves["b" if key == "a" else "a"]]) for key in "ab"}
    step = progress.steps(line, settings.pairs * 2, settings.pairs * 2 * one_run(settings, halves["a"].work))
    alternate(settings, halves, payloads, found, step, **client_options)


def measure_if_there(halves, what, why_not, settings, result, progress, publish, **client_options):
    """Gives `publish` the pairs of two halves, as far as they came; skips them where a side is not there, or for
    another reason, `why_not`."""
    missing = [f"{half.name} needs {half.missing}" for half in halves.values() if half.missing]
    if missing:
        why_not = "; ".join(dict.fromkeys(missing)) + ": not found"
    if why_not:
        progress.forget(settings.pairs * 2 * one_run(settings, halves["a"].work))
        return results.skip(result, what, why_not)
    measured = []
    with results.refusing(result, what):
        try:
            measure_pairs(halves, what, measured, settings, progress, **client_options)
        finally:
            publish(measured)


def subjects(one, settings):
    """What of an experiment two revisions have: {(side, work): quantities}.

    System calls would need runs of their own."""
    found = {}
    for comparison in (each for each in one.comparisons if each.of != "system_calls"):
        for name, work in ((comparison.a, comparison.a_work), (comparison.b, comparison.b_work)):
            if one.sides[name].under_test and settings.wants(name):
                found.setdefault((name, work), {})[comparison.of] = None
    return {key: list(ofs) for key, ofs in found.items()}


class Pairs(counts.Counts):
    """Compares sides, and counts what one operation of a side takes."""
    name = "pairs"
    keys = {"work": dict, "comparisons": list, "counts": list, "bounds": list}
    required = ("work", "comparisons")
    quantities = tuple(of for of in judge.QUANTITIES if of not in ("client_us", "cpu_s"))
    comparison_keys = ("a", "b", "of", "target", "a_target", "work", "a_work", "b_work", "profile")

    def figures(self, one):
        own = {row.own_id for row in one.comparisons if row.a_target}
        return {row.id for row in one.comparisons} | super().figures(one) | own

    def programs(self, one):
        return {program_of(one.sides[name]) for row in one.comparisons for name in (row.a, row.b)
                if one.sides[name].under_test}

    def seconds(self, one, settings):
        runs = sum(one_run(settings, group[0].a_work) for group in wanted(one, settings))
        return settings.pairs * 2 * runs + super().seconds(one, settings)

    def measure(self, one, settings, result, progress):
        series = Series()
        try:
            for group in wanted(one, settings):
                self.of_group(one, group, settings, result, progress, series)
            super().measure(one, settings, result, progress)
        finally:
            series.into(result)

    def of_group(self, one, group, settings, result, progress, series):
        """Measures what is measured together."""
        a, a_work, b, b_work, _ = group[0].pair
        halves = {"a": Half(one.sides[a], a_work, settings.build), "b": Half(one.sides[b], b_work, settings.build)}
        what, why_not, traced = f"{a} : {b}, {a_work.name}", "", {}
        if group[0].of == "system_calls":
            what = f"{what}: system calls"
            traced["tracepoint"], why_not = counters.system_calls(settings.build / "bench")

        def publish_all(measured):
            for pair in measured:
                for key in "ab":
                    series.add(halves[key].name, pair[key]["samples"])
            publish(group, measured, result)

        measure_if_there(halves, what, why_not, settings, result, progress, publish_all, **traced)

    def seconds_of_revisions(self, one, settings):
        return len(subjects(one, settings)) * settings.pairs * 2 * one_run(settings)

    def compare(self, one, builds, settings, result, progress):
        """Each of our sides of two builds, {"head", "base"}: head is A, base is B."""
        for (name, work), ofs in subjects(one, settings).items():
            halves = {
                key: Half(dataclasses.replace(one.sides[name], name=f"{name} of {variant}"), work, builds[variant])
                for key, variant in (("a", "head"), ("b", "base"))
            }

            def publish_all(measured):
                pairs = [published(pair) for pair in measured]
                for of in ofs if pairs else ():
                    row = judge.compare(pairs, of, None, judge.noise(pairs, of), bool(work.waits_for),
                                        work.client == "itself")
                    results.add_comparison(result, f"{name}:{of}:{work.name}", f"{name} of head", f"{name} of base",
                                           work.name, row)

            measure_if_there(halves, f"{name}, {work.name}", "", settings, result, progress, publish_all)
