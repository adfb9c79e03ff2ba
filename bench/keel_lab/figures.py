"""A program that measures itself and prints its figures: {"name": number, ...}, the last line that it says.

For what takes a while to build up, such as 10,000 sessions: one process has all figures of a round. The program proves
its own work, and ends with another code than 0 where something was not as it has to be. All cores are its own.
"""

import dataclasses
import json

from keel_lab import judge, results, sides
from keel_lab.kind import Kind
from keel_lab.micro import path_of
from keel_lab.sides import Invalid

PATIENCE = 60  # Seconds beyond its time.


@dataclasses.dataclass(frozen=True)
class Case:
    """One of the figures."""
    name: str
    program: str
    figure: str
    unit: str
    target: dict | None = dataclasses.field(default=None, hash=False)  # In its unit.


def run_round(path, seconds):
    """{figure: number}. Invalid when the program says that its work was not done."""
    said = sides.output([path], seconds + PATIENCE).strip()
    try:
        found = json.loads(said.rpartition("\n")[2])
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise Invalid(f"{path}: its last line is no JSON object: {said[-300:]!r}")
    return found


def values_of(cases, rounds):
    """{case: its values}. Invalid when a figure is missing, or is no number."""
    found = {}
    for name, case in cases.items():
        found[name] = [one.get(case.figure) for one in rounds]
        if not all(isinstance(value, (int, float)) for value in found[name]):
            raise Invalid(f"case {name}: {case.program} has no figure {case.figure}: it has {', '.join(rounds[0])}")
    return found


class Figures(Kind):
    name = "figures"
    keys = {"program": str, "cases": dict, "rounds": int, "seconds": (int, float)}
    required = ("program", "cases", "seconds")
    case_keys = {"figure": str, "unit": str, "target": str}

    def case(self, file, name, spec, content):
        where = ("cases", name)
        lacking = [key for key in ("figure", "unit") if key not in spec]
        if lacking:
            file.wrong(where, f"{' and '.join(lacking)}: needed")
        target = self.target_in(file, where, spec, spec.get("unit", ""))
        return Case(name, content["program"], spec.get("figure", ""), spec.get("unit", ""), target)

    def figures(self, one):
        return set(one.cases)

    def programs(self, one):
        return {case.program for case in one.cases.values()}

    def seconds(self, one, settings):
        return one.rounds * one.seconds

    def measure(self, one, settings, result, progress):
        program, = self.programs(one)
        path = path_of(program, settings.build)
        if path is None:
            return results.skip(result, one.id, f"no program {program} under {settings.build}")
        step, rounds = progress.steps(program, one.rounds, self.seconds(one, settings)), []
        with results.refusing(result, one.id):
            try:
                for _ in range(one.rounds):
                    rounds.append(run_round(path, one.seconds))
                    step()
            finally:
                for name, values in values_of(one.cases, rounds).items() if rounds else ():
                    case = one.cases[name]
                    if settings.wants(name):
                        result["values"].append(judge.value(name, f"{program}: {case.figure}", case.unit, values,
                                                            case.target))
