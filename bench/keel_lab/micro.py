"""Google Benchmark programs of the release build: rounds of one short repetition each, interleaved over the programs.

A case is one benchmark; its value in a round is nanoseconds of CPU for one iteration (of the clock where the benchmark
asks for it, as those with threads of their own do), or one of its counters.
Comparisons take the ratio inside each round. A case with several threads runs on all cores, any other on one.
"""

import dataclasses
import json
import os
import re

from keel_lab import judge, peers, results, sides
from keel_lab.kind import Kind
from keel_lab.sides import SERVER_CORE, Invalid

# Many short rounds: the sides of a ratio are near each other in time, and the interval leaves out nine of 36 disturbed
# rounds on each side, where it would leave out one of 12.
SECONDS_EACH = 0.02  # Of one benchmark in one round.
ROUNDS_PER_PAIR = 3
NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


@dataclasses.dataclass(frozen=True)
class Case:
    """One benchmark of a Google Benchmark program."""
    name: str
    program: str
    benchmark: str
    counter: str = ""
    unit: str = "ns"
    threads: int = 1  # That work at the same time.
    target: dict | None = dataclasses.field(default=None, hash=False)  # In its unit.
    needs: str = ""  # A package, or what a processor has: the case is skipped where the program lacks the benchmark.


def path_of(program, build):
    """Where CMake put a benchmark: beside its library."""
    if "/" in program and (found := sides.program(program, build)):
        return found
    # Unlike a glob, it does not mind that folders of another run come and go.
    paths = (os.path.join(folder, program) for folder, _, files in os.walk(build) if program in files)
    return min((path for path in paths if os.access(path, os.X_OK)), default=None)


def listed(path):
    return sides.output([path, "--benchmark_list_tests=true"], 60).split("\n")


def chosen(case, names):
    """The one benchmark that the case means."""
    found = [name for name in names if re.search(case.benchmark, name)]
    exact = [name for name in found if re.fullmatch(case.benchmark, name)]
    if len(exact) == 1:
        return exact[0]
    if len(found) != 1:
        raise Invalid(f"case {case.name}: {case.benchmark!r} is " + ("none" if not found else f"{len(found)}") +
                      f" of the benchmarks of {case.program}: {', '.join(found or names)[:400]}")
    return found[0]


def value_of(case, row):
    if row.get("error_occurred"):
        raise Invalid(f"case {case.name}: {row.get('error_message', 'it failed')}")
    if case.counter:
        if case.counter not in row:
            raise Invalid(f"case {case.name}: the benchmark has no counter {case.counter}")
        return row[case.counter]
    return row["real_time" if row["name"].endswith("_time") else "cpu_time"] * NS[row["time_unit"]]


def run_round(path, benchmarks, cores):
    """{benchmark: its row} of one repetition of each."""
    wanted = "|".join(f"^{re.escape(name)}$" for name in benchmarks)
    options = (f"--benchmark_filter={wanted}", f"--benchmark_min_time={SECONDS_EACH}", "--benchmark_format=json")
    said = sides.output([path, *options], 300, cores)
    return {row["name"]: row for row in json.loads(said)["benchmarks"]}


def rounds_of(settings):
    return settings.pairs * ROUNDS_PER_PAIR


class Rounds:
    """The values of all cases, round by round; `builds` are the variants of each program that take turns."""
    def __init__(self, experiment, builds, wants=lambda name: True):
        self.values = {}  # (variant, case): values
        self.lacking = {}  # Case: why, when it may be missing, or there are several variants and one does not have it.
        self._plan = {}  # (variant, program, whether on all cores): (path, {case: benchmark})
        self._turns = 0
        for case in experiment.cases.values():
            if not wants(case.name):
                continue
            try:
                found = {variant: self._find(case, build) for variant, build in builds.items()}
            except Invalid as problem:
                if len(builds) == 1 and not case.needs:
                    raise
                why = f"{case.needs}: not here, or not when it was configured" if case.needs else str(problem)
                self.lacking[case.name] = why
                continue
            for variant, (path, benchmark) in found.items():
                _, cases = self._plan.setdefault((variant, case.program, case.threads > 1), (path, {}))
                cases[case] = benchmark

    @staticmethod
    def _find(case, build):
        path = path_of(case.program, build)
        if path is None:
            raise Invalid(f"no program {case.program} under {build}: cmake --build {build} builds it")
        return path, chosen(case, listed(path))

    def run(self):
        order = list(self._plan.items())
        for (variant, _, all_cores), (path, cases) in order if self._turns % 2 == 0 else reversed(order):
            rows = run_round(path, cases.values(), set(sides.CORES) if all_cores else {SERVER_CORE})
            for case, benchmark in cases.items():
                # An aggregate program may name a benchmark with its options appended (real_time, threads).
                row = rows.get(benchmark) or next(row for name, row in rows.items() if name.startswith(benchmark))
                self.values.setdefault((variant, case.name), []).append(value_of(case, row))
        self._turns += 1


def label(*cases):
    """Of a row about these cases: that one has more threads than there are cores, so that they took turns."""
    threads, cores = max(case.threads for case in cases), len(sides.CORES)
    return {"oversubscribed": f"{threads} threads on {cores} cores"} if threads > cores else {}


def publish(experiment, values, result):
    """`values`: {case: values}, of as many rounds as there were."""
    for name, found in values.items():
        case = experiment.cases[name]
        result["values"].append(judge.value(name, case.benchmark, case.unit, found, case.target) | label(case))
    for one in experiment.comparisons:
        if one.a in values and one.b in values:
            a, b = experiment.cases[one.a], experiment.cases[one.b]
            row = judge.compare_rounds(values[one.a], values[one.b], "ns", one.target)
            of_a_counter = {} if a.unit == "ns" else {"unit": a.unit}
            results.add_comparison(result, one.id, one.a, one.b, a.benchmark, row, **of_a_counter, **label(a, b))
            if one.added_target:
                added = [left - right for left, right in zip(values[one.a], values[one.b])]
                result["values"].append(judge.value(f"{one.id}:added", f"{a.benchmark} beyond {b.benchmark}", a.unit,
                                                    added, one.added_target))


class Micro(Kind):
    name = "micro"
    keys = {"program": str, "cases": dict, "comparisons": list}
    required = ("program", "cases")
    compared = "case"
    quantities = ("ns",)
    comparison_keys = ("a", "b", "target", "added_target")
    case_keys = {"program": str, "benchmark": str, "counter": str, "unit": str, "threads": int, "target": str,
                 "needs": str}

    def case(self, file, name, spec, content):
        where, unit = ("cases", name), spec.get("unit", "ns")
        if spec.get("threads", 1) < 1:
            file.wrong((*where, "threads"), "at least 1 is needed")
        try:
            re.compile(spec["benchmark"])
        except re.error as problem:
            file.wrong(where, f"{spec['benchmark']!r} is no regular expression: {problem}")
        target = self.target_in(file, where, spec, unit)
        return Case(name, **{"program": content["program"], **spec, "target": target})

    def figures(self, one):
        added = {f"{row.id}:added" for row in one.comparisons if row.added_target}
        return {row.id for row in one.comparisons} | added | set(one.cases)

    def programs(self, one):
        return {case.program for case in one.cases.values()}

    def made_of(self, one, build):
        return {name: peers.of_library(case.needs) for name, case in one.cases.items() if case.needs in peers.LIBRARIES}

    def seconds(self, one, settings):
        benchmarks = {(case.program, case.benchmark) for case in one.cases.values()}
        return rounds_of(settings) * len(benchmarks) * SECONDS_EACH * 2

    def measured(self, one, builds, settings, result, progress, publish):
        """Runs the rounds; gives `publish` what there is of {(variant, case): values}."""
        with results.refusing(result, one.id):
            rounds = Rounds(one, builds, settings.wants)
            for name, why in rounds.lacking.items():
                results.skip(result, name, why)
            step = progress.steps("benchmarks", rounds_of(settings), len(builds) * self.seconds(one, settings))
            try:
                for _ in range(rounds_of(settings)):
                    rounds.run()
                    step()
            finally:
                publish(rounds.values)

    def measure(self, one, settings, result, progress):
        publish_all = lambda values: publish(one, {case: found for (_, case), found in values.items()}, result)
        self.measured(one, {"": settings.build}, settings, result, progress, publish_all)

    def seconds_of_revisions(self, one, settings):
        return 3 * self.seconds(one, settings)

    def compare(self, one, builds, settings, result, progress):
        """Base runs twice in each round: against itself it is the noise."""
        def publish_all(values):
            for name, case in one.cases.items():
                head, base, again = (values.get((variant, name), []) for variant in ("head", "base", "again"))
                # A counter may be 0: then there is no ratio.
                if ratios := [left / right for left, right in zip(again, base) if right]:
                    spread = judge.spread(ratios)
                    noise = {key: spread[key] for key in ("low", "high")}
                    row = judge.compare_rounds(head, base, "ns", None, noise)
                    results.add_comparison(result, f"{name}:ns", f"{name} of head", f"{name} of base", case.benchmark,
                                           row)

        self.measured(one, builds | {"again": builds["base"]}, settings, result, progress, publish_all)
