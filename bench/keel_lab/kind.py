"""What every kind of experiment has: the keys of its file, how long it takes, how it measures. kinds.py lists them."""

import pathlib

from keel_lab import judge, peers, record, results
from keel_lab.measure import Half

OF_A_VALUE = ("at most", "at least")  # The targets that are no ratios.


class Kind:
    """One instance for each kind. `one` is an experiment of it (experiment.py), `result` what results.new() made."""
    name = ""
    keys = {}  # Of its file, beside those that all have: {key: type or types or set of values}.
    required = ()
    compared = "side"  # What a and b of a comparison name,
    quantities = ()  # and what it may be of.
    comparison_keys = ("a", "b", "of", "target")
    case_keys = {}
    loads_beside = True  # Whether its client can have another load beside it.
    compare = None  # Of two revisions; see Pairs.

    def comparable(self, sides, cases):
        """The names that a and b of a comparison may have."""
        return cases if self.compared == "case" else sides

    def case(self, file, name, spec, content):
        """A case of its file."""
        raise NotImplementedError

    @staticmethod
    def target_in(file, where, spec, unit, key="target"):
        """The target of a value in its own unit, such as "at most 5 ns"."""
        said = spec.get(key, "")
        target = judge.target_of(said.removesuffix(f" {unit}")) if said.endswith(f" {unit}") else None
        if said and (target is None or target["kind"] not in OF_A_VALUE):
            file.wrong((*where, key), f"{said!r} is no target of {unit} (for example: at most 5 {unit}; allowed: "
                       f"{', '.join(OF_A_VALUE)})")
        return target

    def bounded(self, content, counts):
        """(names, quantities, further type of b) of what its file's `bounds` may compare."""
        return (), set(), ()

    def figures(self, one):
        """The names of the figures of its results, as far as the file says; None when only a run can tell."""
        return None

    def programs(self, one):
        """The CMake targets that are ours in it."""
        return set()

    def made_of(self, one, build):
        """{side, case or client: {name: version}} of the libraries and programs of others that it is made of."""
        names = {name for name, _ in one.counts} | set(one.measure)
        names |= {name for row in one.comparisons for name in (row.a, row.b)}
        return {name: peers.of_side(one.sides[name], build) for name in sorted(names) if name in one.sides}

    def seconds(self, one, settings):
        """That it takes when nothing disturbs it."""
        raise NotImplementedError

    def measure(self, one, settings, result, progress):
        """Fills `result`; what it has is good when it is interrupted."""
        raise NotImplementedError


def program_of(side):
    """The CMake target of a side."""
    return pathlib.Path(side.serve[0]).name


class OfSides(Kind):
    """Loads each side in `measure` by itself."""
    keys = {"work": dict, "measure": list}
    required = ("work", "measure")

    def of_side(self, one, settings, half, result, progress):
        """Measures one side. Invalid when an answer was wrong."""
        raise NotImplementedError

    def measure(self, one, settings, result, progress):
        for name in one.measure:
            half = Half(one.sides[name], one.work, settings.build)
            if half.missing:
                results.skip(result, name, f"{half.missing}: not found")
                continue
            with results.refusing(result, f"{name}, {one.work.name}"):
                self.of_side(one, settings, half, result, progress)


def of_distributions(one):
    """The figures of kinds that publish distributions."""
    runs = [f"{rate} per second" for rate in one.rates] + [f"{percent} %" for percent in one.percent]
    runs += ["closed loop"] if one.closed else []
    names = [f"{side}:{run}" for side in one.measure for run in runs] + [f"{side}:wrk" for side in one.wrk]
    return {f"{name}/{field}" for name in names for field in record.OF_DISTRIBUTION}
