"""What is asked and how it is measured: bench/experiments/ID.yaml.

docs/lab.md has every key. All mistakes of a file are reported together, each with file, line and key.
"""

import dataclasses
import difflib
import itertools
import pathlib

from keel_lab import counts, judge, record, side_file
from keel_lab.kinds import KINDS
from keel_lab.side_file import PROFILES, ROOT, read_sides
from keel_lab.work import Work, parse_work
from keel_lab.yaml_file import File, Mistakes

FOLDER = ROOT / "bench/experiments"
NAMES_SHOWN = 20  # In a message, of what there is.
COUNTED = ("lockstep", "bytes")  # The clients that read a tracepoint.
OF_LOAD = ("mean", "p50", "p99")  # What only keel load knows.
COMPARISON_KEYS = {"a": (str, list), "b": (str, list), "of": (str, list), "target": str, "a_target": str,
                   "added_target": str, "work": (dict, list), "a_work": dict, "b_work": dict, "profile": set(PROFILES)}
BOUND_KEYS = {"a": str, "b": str, "of": str, "target": str}
LONG = "long"  # The profile of an experiment that only its name runs.
COMMON_KEYS = {"id": str, "question": str, "claims": list, "profile": {*PROFILES, LONG}, "kind": str, "sides": dict}


def of_profile(experiments, profile):
    """Those that `--profile` runs."""
    return [one for one in experiments if one.profile in ("quick", profile)]


@dataclasses.dataclass(frozen=True)
class Comparison:
    a: str
    b: str
    of: str
    target: dict | None = dataclasses.field(hash=False)
    profile: str
    a_work: Work | None = None
    b_work: Work | None = None
    suffix: str = ""
    a_target: dict | None = dataclasses.field(default=None, hash=False)  # Of what A has by itself, in its unit,
    added_target: dict | None = dataclasses.field(default=None, hash=False)  # and of what it has beyond B.

    @property
    def id(self):
        return f"{self.a}:{self.b}:{self.of}" + (f":{self.suffix}" if self.suffix else "")

    @property
    def own_id(self):
        """Of what A has by itself."""
        return f"{self.a}:{self.of}" + (f":{self.suffix}" if self.suffix else "")

    @property
    def pair(self):
        """What is measured together: one run gives all the quantities. System calls, which a tracepoint counts, are
        not counted while anything else is measured."""
        return self.a, self.a_work, self.b, self.b_work, self.of == "system_calls"


@dataclasses.dataclass
class Experiment:
    id: str
    question: str
    kind: str
    file: str
    sides: dict  # Of this file, and those of sides.yaml.
    work: Work | None
    comparisons: list
    counts: list  # (side, work),
    counted: tuple  # and which of the counts.
    bounds: list  # (a, b, of, target)
    cases: dict
    claims: list = dataclasses.field(default_factory=list)
    profile: str = "full"
    measure: list = dataclasses.field(default_factory=list)
    seconds: float = 60.0
    like: str = ""  # Of kind compile: the file with whose flags a text is compiled.
    rounds: int = 1  # Of kind clients: for each of the pairs.
    rates: list = dataclasses.field(default_factory=list)  # Of kind open-loop: requests per second.
    closed: bool = False  # And in a closed loop as well.
    wrk: list = dataclasses.field(default_factory=list)  # Of `measure`: those that wrk loads as well.
    percent: list = dataclasses.field(default_factory=list)  # Of kind capacity: shares of it,
    windows: int = 1  # and how often each is measured;
    capacity_p99_ms: float = 0  # what 99 % of an open loop at the capacity are answered in; 0: it is the closed loop's.


AS_THEY_ARE = [field.name for field in dataclasses.fields(Experiment)
               if field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING]


def _listed(value):
    return value if isinstance(value, list) else [value]


def _target(file, spec, where):
    if "target" not in spec:
        return None
    found = judge.target_of(spec["target"])
    if found is None:
        file.wrong((*where, "target"),
                   f"{spec['target']!r} is no target (for example: at most 0.80; allowed: {', '.join(judge.TARGETS)})")
    return found


def _known(file, name, names, where, what):
    if not isinstance(name, str):
        file.wrong(where, f"the name of a {what} is needed, not {name!r}")
        return False
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        listed = ", ".join(sorted(names)) or "none"
        known = f"there are: {listed}" if len(names) <= NAMES_SHOWN else "bench/lab list --sides has them all"
        file.wrong(where, f"no {what} {name}" + (f"; did you mean {near[0]}?" if near else "") + f" ({known})")
    return name in names


def _works(file, spec, where, ofs, work):
    """(A's work, B's, what tells them apart) of each of a comparison's works; Nones where its kind has none."""
    if work is None:
        yield None, None, ""
        return
    works = _listed(spec.get("work", {}))
    if not all(isinstance(own, dict) for own in works):
        file.wrong((*where, "work"), "a mapping is needed, or a list of them")
        return
    for at, own in enumerate(works):
        place = (*where, "work", at) if isinstance(spec.get("work"), list) else where
        a_work, b_work = (parse_work(file, work | own | spec.get(key, {}), (*place, *((key,) if key in spec else ())))
                          for key in ("a_work", "b_work"))
        clients = {half.client for half in (a_work, b_work) if half}
        if "system_calls" in ofs and not clients <= set(COUNTED):
            file.wrong((*place, "of"), f"system calls are counted of the clients {' and '.join(COUNTED)}")
        for of in set(ofs) & set(OF_LOAD) if clients - {"load"} else ():
            file.wrong((*place, "of"), f"only the client load knows {of}: client: load")
        yield a_work, b_work, a_work.name if own and a_work else ""


def _comparisons(file, content, kind, names):
    work = content.get("work") if "work" in kind.comparison_keys else None
    if not isinstance(work, dict) or parse_work(file, work, ("work",), partial=True) is None:
        work = None
    only = kind.quantities[0] if len(kind.quantities) == 1 else None
    for number, spec in enumerate(content.get("comparisons", [])):
        where = ("comparisons", number)
        keys = {key: COMPARISON_KEYS[key] for key in kind.comparison_keys}
        if not file.mapping(spec, where, keys, ("a", "b") if only else ("a", "b", "of")):
            continue
        target = _target(file, spec, where)
        ofs = [of for of in _listed(spec.get("of", only))
               if _known(file, of, kind.quantities, (*where, "of"), "quantity")]
        of_values = {key: kind.target_in(file, where, spec, judge.QUANTITIES[ofs[0]][1], key)
                     for key in ("a_target", "added_target") if key in spec and ofs}
        for key in ("a", "b"):
            for name in _listed(spec[key]):
                _known(file, name, names, (*where, key), kind.compared)
        for a_work, b_work, suffix in _works(file, spec, where, ofs, work):
            for a, b, of in itertools.product(_listed(spec["a"]), _listed(spec["b"]), ofs):
                yield where, Comparison(a, b, of, target, spec.get("profile", "quick"), a_work, b_work, suffix,
                                        **of_values)


def _counts(file, content, names, work):
    for number, spec in enumerate(content.get("counts", [])):
        where = ("counts", number)
        if isinstance(spec, dict):
            if not file.mapping(spec, where, {"side": str, "work": dict}, ("side",)):
                continue
            name, own = spec["side"], parse_work(file, work | spec.get("work", {}), where)
        else:
            name, own = spec, parse_work(file, work, ("work",))
        of_connections = own is not None and own.https and content.get("of") == ["bytes_per_connection"]
        if own is not None and own.client == "load" and not of_connections:
            file.wrong(where, "operations are counted of the light clients only, not of client: load")
        elif _known(file, name, names, where, "side") and own is not None:
            yield name, own


def _bounds(file, content, kind, counted):
    names, ofs, numbers = kind.bounded(content, counted)
    for number, spec in enumerate(content.get("bounds", [])):
        where = ("bounds", number)
        keys = BOUND_KEYS | {"of": ofs, "b": (str, *numbers)}
        if file.mapping(spec, where, keys, ("a", "b", "of", "target")):
            for key in ("a", "b"):
                if isinstance(spec[key], int):
                    if spec[key] <= 0:
                        file.wrong((*where, key), "more than 0 is needed")
                elif spec[key] not in names:
                    file.wrong((*where, key), f"{spec[key]} is not among what is measured ({', '.join(sorted(names))})")
            yield spec["a"], spec["b"], spec["of"], _target(file, spec, where)


def _cases(file, content, kind):
    for name, spec in content.get("cases", {}).items():
        spec = {"benchmark": spec} if isinstance(spec, str) else spec
        required = ("benchmark",) if "benchmark" in kind.case_keys else ()
        if file.mapping(spec, ("cases", name), kind.case_keys, required):
            yield name, kind.case(file, name, spec, content)


def _numbers(file, content):
    for key in ("rates", "percent"):
        for number, one in enumerate(content.get(key, [])):
            if not isinstance(one, int) or isinstance(one, bool) or one <= 0:
                file.wrong((key, number), f"a whole number above 0 is needed, not {one!r}")
    for key in ("windows", "rounds"):
        if content.get(key, 1) < 1:
            file.wrong((key,), "at least 1 is needed")
    if content.get("capacity_p99_ms", 1) <= 0:
        file.wrong(("capacity_p99_ms",), "milliseconds, more than 0, are needed")


def parse(name, text, sides):
    """The experiment in `text`. Mistakes when it has any."""
    file = File(name, text)
    content = file.value
    if not isinstance(content, dict):
        file.wrong((), "an experiment is a mapping: id, question, kind, work, comparisons")
        file.finish()
    content.setdefault("kind", "pairs")
    if not isinstance(content["kind"], str) or content["kind"] not in KINDS:
        file.wrong(("kind",), f"{content['kind']!r} is none of: {', '.join(KINDS)}")
        file.finish()
    kind = KINDS[content["kind"]]
    file.mapping(content, (), COMMON_KEYS | kind.keys, ("id", "question", *kind.required))
    if content.get("id") != pathlib.Path(name).stem:
        file.wrong(("id",), f"is {content.get('id')!r}, and the file is called {pathlib.Path(name).stem!r}")
    file.finish()  # From here on the types are right.
    sides = sides | side_file.parse(file, content.get("sides", {}), ("sides",))
    work, cases = content.get("work"), dict(_cases(file, content, kind))
    comparisons, seen = [], set()
    for where, one in _comparisons(file, content, kind, kind.comparable(sides, cases)):
        if one.id in seen:
            file.wrong(where, f"a second comparison {one.id}; a work with another name tells them apart")
        seen.add(one.id)
        comparisons.append(one)
    counted = list(_counts(file, content, sides, work)) if work is not None else []
    for number, one in enumerate(content.get("of", [])):
        _known(file, one, record.COUNTS, ("of", number), "count")
    _numbers(file, content)
    bounds = list(_bounds(file, content, kind, counted))
    for number, one in enumerate(content.get("measure", [])):
        _known(file, one, sides, ("measure", number), "side")
    for number, one in enumerate(content.get("wrk", [])):
        _known(file, one, content["measure"], ("wrk", number), "side in measure")
    own = None
    if "work" in kind.comparison_keys:  # It may be completed by each comparison.
        if not file.mistakes:
            own = comparisons[0].a_work if comparisons else file.wrong(("comparisons",), "at least one is needed")
    elif work is not None:
        own = parse_work(file, work, ("work",))
    if own is not None and own.beside and not kind.loads_beside:
        file.wrong(("work", "beside"), f"kind {kind.name} loads a side alone; kind pairs can have another load beside")
    file.mistakes = list(dict.fromkeys(file.mistakes))
    file.finish()
    return Experiment(file=str(name), sides=sides, work=own, comparisons=comparisons, counts=counted,
                      counted=tuple(content.get("of", counts.OF_AN_OPERATION)), bounds=bounds, cases=cases,
                      **{key: content[key] for key in ("id", "question", "kind", *AS_THEY_ARE) if key in content})


def read(path, sides=None):
    path = pathlib.Path(path)
    try:
        content = path.read_bytes()
        text = content.decode()
    except OSError as problem:
        raise Mistakes([f"{path}: {problem.strerror}"]) from None
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise Mistakes([f"{path}:{line}: not UTF-8"]) from None
    return parse(path, text, read_sides() if sides is None else sides)


def read_all():
    """{id: experiment} of all files; the mistakes of all files are reported together."""
    sides, found, wrong = read_sides(), {}, []
    for path in sorted(FOLDER.glob("*.yaml")):
        try:
            one = read(path, sides)
            found[one.id] = one
        except Mistakes as mistakes:
            wrong += mistakes.lines
    if wrong:
        raise Mistakes(wrong)
    return found


def choose(names):
    """The experiments called so; a name that ends in .yaml is a file of the user's own."""
    found = read_all()
    chosen, wrong = [], []
    for name in names:
        if name.endswith(".yaml"):
            chosen.append(read(name))
        elif name in found:
            chosen.append(found[name])
        else:
            wrong.append(f"no experiment {name}: bench/lab list has them all")
    if wrong:
        raise Mistakes(wrong)
    return chosen
