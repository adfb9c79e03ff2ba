"""Pairs of runs: A B, B A, ... each with a fresh server, so that drift hits both sides alike."""

from keel_lab import counters, counts, judge, results
from keel_lab.measure import REPEATS, Half, payload_for, quiet_run
from keel_lab.sides import Invalid

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
            self.points.setdefault((name, "cpu", "CPU of the server", "of one core"), []).append(
                (after.at, round(used, 4)))
            self.points.setdefault((name, "rss", "resident memory", "KB"), []).append((after.at, after.rss_kb))
            switches = (after.switches - before.switches) / max(after.at - before.at, 1e-9)
            self.points.setdefault((name, "switches", "context switches", "per second"), []).append(
                (after.at, round(switches)))

    def into(self, result):
        if not self.points:
            return
        first = min(at for points in self.points.values() for at, _ in points)
        for (name, what, title, unit), points in self.points.items():
            shifted = [[round(at - first, 2), value] for at, value in sorted(points)]
            result["series"].append({
                "id": f"{name}:{what}",
                "name": f"{name}: {title}",
                "unit": unit,
                "points": results.thinned(shifted)
            })


def halves_of(one, experiment, settings):
    return {
        "a": Half(experiment.sides[one.a], one.a_work, settings.build),
        "b": Half(experiment.sides[one.b], one.b_work, settings.build)
    }


def wanted(experiment, settings):
    """The comparisons of this run, by what is measured together."""
    groups = {}
    for one in experiment.comparisons:
        full = "full" in (one.profile, experiment.sides[one.a].profile, experiment.sides[one.b].profile)
        if settings.wants(one.id) and (settings.profile == "full" or not full):
            groups.setdefault(one.pair, []).append(one)
    return list(groups.values())


def is_of_two(group):
    """Not a side against itself, which needs no noise: it is the noise."""
    return (group[0].a, group[0].a_work) != (group[0].b, group[0].b_work)


def seconds(experiment, settings):
    runs = sum(one_run(settings, group[0].a_work) for group in wanted(experiment, settings))
    return settings.pairs * 2 * runs + counts.seconds(experiment, settings)


def compared(group, measured):
    """The rows of one group from its pairs."""
    pairs = [published(pair) for pair in measured]
    for one in group:
        if not pairs or any(one.of not in pair[key] for pair in pairs for key in "ab"):
            continue
        work = one.a_work.name if one.a_work.name == one.b_work.name else f"{one.a_work.name} : {one.b_work.name}"
        noise = judge.noise(pairs, one.of) if is_of_two(group) else None
        row = judge.compare(pairs, one.of, one.target, noise, bool(one.a_work.waits_for), one.a_work.client == "itself")
        if row:
            yield {"id": one.id, "a": one.a, "b": one.b, "work": work, **row}


def measure_pairs(halves, line, found, settings, progress, **client_options):
    """The pairs of two halves, appended to `found`, under `line` of the progress."""
    payloads = {key: payload_for(halves[key], [halves["b" if key == "a" else "a"]]) for key in "ab"}
    step = progress.steps(line, settings.pairs * 2, settings.pairs * 2 * one_run(settings, halves["a"].work))
    alternate(settings, halves, payloads, found, step, **client_options)


def lacking(halves):
    """What is not there of both sides, as a sentence; empty when all is."""
    missing = [f"{half.name} needs {half.missing}" for half in halves.values() if half.missing]
    return "; ".join(dict.fromkeys(missing)) + ": not found" if missing else ""


def measure(experiment, settings, result, progress):
    series = Series()
    try:
        for group in wanted(experiment, settings):
            halves = halves_of(group[0], experiment, settings)
            line = f"{group[0].a} : {group[0].b}, {group[0].a_work.name}"
            if lacking(halves):
                result["skipped"].append({"what": line, "why": lacking(halves)})
                progress.forget(settings.pairs * 2 * one_run(settings, halves["a"].work))
                continue
            measured, traced = [], {}
            if group[0].of == "system_calls":
                tracepoint, why = counters.system_calls(settings.build / "bench")
                if not tracepoint:
                    result["skipped"].append({"what": f"{line}: system calls", "why": why})
                    progress.forget(settings.pairs * 2 * one_run(settings, halves["a"].work))
                    continue
                line, traced = f"{line}, system calls", {"tracepoint": tracepoint}
            try:
                measure_pairs(halves, line, measured, settings, progress, **traced)
            except Invalid as problem:
                result["invalid"].append({"what": line, "why": str(problem)})
                continue
            finally:
                for pair in measured:
                    for key in "ab":
                        series.add(halves[key].name, pair[key]["samples"])
                result["comparisons"] += compared(group, measured)
        counts.take(experiment, settings, result, progress)
    finally:
        series.into(result)
