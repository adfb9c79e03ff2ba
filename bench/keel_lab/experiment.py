"""What is asked and how it is measured: bench/experiments/ID.yaml.

docs/lab.md has every key. All mistakes of a file are reported at once, each with file, line and key.
"""

import dataclasses
import difflib
import itertools
import pathlib
import re

from keel_lab import judge, side_file
from keel_lab.side_file import PROFILES, ROOT, read_sides
from keel_lab.work import Work, parse_work
from keel_lab.yaml_file import File, Mistakes

FOLDER = ROOT / "bench/experiments"
NAMES_SHOWN = 20  # In a message, of what there is.
COUNTED = ("lockstep", "bytes")  # The clients that read a tracepoint.
COUNTS_OF_AN_OPERATION = ("system_calls", "allocations", "allocated_bytes", "instructions", "switches",
                          "bytes_per_connection")
COUNTS = (*COUNTS_OF_AN_OPERATION, "idle_rss_kb")

COMPARISON_KEYS = {
    "a": (str, list),
    "b": (str, list),
    "of": (str, list),
    "target": str,
    "work": (dict, list),
    "a_work": dict,
    "b_work": dict,
    "profile": set(PROFILES)
}
LATENCIES = ("p50", "p90", "p99", "p99.9", "max")
CLIENTS = ("keel-uring", "keel-epoll", "wrk", "h2load")
OF_CLIENTS = ("rate", "client_us")
OF_LOAD = ("mean", "p50", "p99")  # Of pairs: what only keel load knows.
BOUND_KEYS = {"a": str, "b": str, "of": str, "target": str}
CASE_KEYS = {
    "program": str,
    "benchmark": str,
    "counter": str,
    "unit": str,
    "threads": int,
    "target": str,
    "needs": str
}
OF_A_VALUE = ("at most", "at least")  # The targets that are no ratios.
LONG = "long"  # The profile of an experiment that only its name runs.
COMMON_KEYS = {"id": str, "question": str, "claims": list, "profile": {*PROFILES, LONG}, "kind": str, "sides": dict}


def of_profile(experiments, profile):
    """Those that `--profile` runs."""
    return [one for one in experiments if one.profile in ("quick", profile)]


KIND_KEYS = {
    "pairs": {
        "work": dict,
        "comparisons": list,
        "counts": list,
        "bounds": list
    },
    "counts": {
        "work": dict,
        "counts": list,
        "of": list,
        "bounds": list
    },
    "micro": {
        "program": str,
        "cases": dict,
        "comparisons": list
    },
    "start": {},
    "clients": {
        "work": dict,
        "measure": list,
        "comparisons": list,
        "rounds": int
    },
    "stages": {
        "work": dict,
        "measure": list
    },
    "sustained": {
        "work": dict,
        "measure": list,
        "seconds": (int, float)
    },
    "open-loop": {
        "work": dict,
        "measure": list,
        "seconds": (int, float),
        "rates": list,
        "closed": bool,
        "wrk": list,
        "bounds": list
    },
    "capacity": {
        "work": dict,
        "measure": list,
        "seconds": (int, float),
        "percent": list,
        "windows": int,
        "capacity_p99_ms": (int, float)
    },
}
REQUIRED = {
    "pairs": ("work", "comparisons"),
    "counts": ("work", "counts"),
    "micro": ("program", "cases"),
    "start": (),
    "clients": ("work", "measure", "comparisons"),
    "stages": ("work", "measure"),
    "sustained": ("work", "measure"),
    "open-loop": ("work", "measure", "rates"),
    "capacity": ("work", "measure", "percent"),
}


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

    @property
    def id(self):
        return f"{self.a}:{self.b}:{self.of}" + (f":{self.suffix}" if self.suffix else "")

    @property
    def pair(self):
        """What is measured together: one run gives all the quantities. System calls, which a tracepoint counts, are
        not counted while anything else is measured."""
        return self.a, self.a_work, self.b, self.b_work, self.of == "system_calls"


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


@dataclasses.dataclass
class Experiment:
    id: str
    question: str
    kind: str
    file: str
    claims: list
    profile: str
    work: Work | None
    comparisons: list
    counts: list  # (side, work),
    counted: tuple  # and which of COUNTS.
    bounds: list  # (a, b, of, target)
    cases: dict
    measure: list
    seconds: float
    sides: dict  # Of this file, and those of sides.yaml.
    rounds: int  # Of kind clients: for each of the pairs.
    rates: list  # Of kind open-loop: requests per second.
    closed: bool  # And in a closed loop as well.
    wrk: list  # Of `measure`: those that wrk loads as well.
    percent: list  # Of kind capacity: shares of it,
    windows: int  # and how often each is measured;
    capacity_p99_ms: float  # what 99 % of an open loop at the capacity are answered in; 0: it is the closed loop's.


def target_of(text):
    """{"kind", "value"} of a text such as "at most 0.80", or None when it is not one."""
    kind, _, value = text.rpartition(" ")
    try:
        return {"kind": kind, "value": float(value)} if kind in judge.TARGETS else None
    except ValueError:
        return None


def _listed(value):
    return value if isinstance(value, list) else [value]


def _target(file, spec, where):
    if "target" not in spec:
        return None
    found = target_of(spec["target"])
    if found is None:
        file.wrong((*where, "target"),
                   f"{spec['target']!r} is no target (for example: at most 0.80; allowed: {', '.join(judge.TARGETS)})")
    return found


def _case(file, name, spec, program):
    unit, threads, target = spec.get("unit", "ns"), spec.get("threads", 1), None
    if threads < 1:
        file.wrong(("cases", name, "threads"), "at least 1 is needed")
    if "target" in spec:
        number = spec["target"].removesuffix(f" {unit}")
        target = target_of(number) if number != spec["target"] else None
        if target is None or target["kind"] not in OF_A_VALUE:
            file.wrong(("cases", name, "target"), f"{spec['target']!r} is no target of {unit} (for example: at most 5 "
                       f"{unit}; allowed: {', '.join(OF_A_VALUE)})")
    return Case(name, spec.get("program", program), spec["benchmark"], spec.get("counter", ""), unit, threads, target,
                spec.get("needs", ""))


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


def _comparisons(file, content, names, work):
    micro = content["kind"] == "micro"
    of_clients = content["kind"] == "clients"
    of_servers = tuple(of for of in judge.UNITS if of != "client_us")
    quantities = ("ns",) if micro else OF_CLIENTS if of_clients else of_servers
    right = isinstance(work, dict) and parse_work(file, work, ("work",), partial=True) is not None
    for number, spec in enumerate(content.get("comparisons", [])):
        where = ("comparisons", number)
        keys = ("a", "b", "of", "target") if micro or of_clients else COMPARISON_KEYS
        keys = {key: COMPARISON_KEYS[key] for key in keys}
        if not file.mapping(spec, where, keys, ("a", "b") if micro else ("a", "b", "of")):
            continue
        target = _target(file, spec, where)
        ofs = _listed(spec.get("of", "ns"))
        ofs = [of for of in ofs if _known(file, of, quantities, (*where, "of"), "quantity")]
        for key in ("a", "b"):
            for name in _listed(spec[key]):
                _known(file, name, names, (*where, key), "case" if micro else "client" if of_clients else "side")
        works = [None] if micro or of_clients or not right else _listed(spec.get("work", {}))
        if not all(own is None or isinstance(own, dict) for own in works):
            file.wrong((*where, "work"), "a mapping is needed, or a list of them")
            continue
        for at, own in enumerate(works):
            place = where if own is None or not isinstance(spec.get("work"), list) else (*where, "work", at)
            a_work = b_work = None
            if own is not None:
                merged = work | own
                a_work = parse_work(file, merged | spec.get("a_work", {}),
                                    (*place, *(("a_work",) if "a_work" in spec else ())))
                b_work = parse_work(file, merged | spec.get("b_work", {}),
                                    (*place, *(("b_work",) if "b_work" in spec else ())))
                if "system_calls" in ofs and any(half and half.client not in COUNTED for half in (a_work, b_work)):
                    file.wrong((*place, "of"), f"system calls are counted of the clients {' and '.join(COUNTED)}")
                for of in set(ofs) & set(OF_LOAD):
                    if any(half and half.client != "load" for half in (a_work, b_work)):
                        file.wrong((*place, "of"), f"only the client load knows {of}: client: load")
            suffix = a_work.name if own and a_work else ""
            for a, b, of in itertools.product(_listed(spec["a"]), _listed(spec["b"]), ofs):
                yield where, Comparison(a, b, of, target, spec.get("profile", "quick"), a_work, b_work, suffix)


def _counts(file, content, names, work):
    for number, spec in enumerate(content.get("counts", [])):
        where = ("counts", number)
        if isinstance(spec, dict):
            if not file.mapping(spec, where, {"side": str, "work": dict}, ("side",)):
                continue
            name, own = spec["side"], parse_work(file, work | spec.get("work", {}), where)
        else:
            name, own = spec, parse_work(file, work, ("work",))
        if own is not None and own.client == "load":
            file.wrong(where, "operations are counted of the light clients only, not of client: load")
        elif _known(file, name, names, where, "side") and own is not None:
            yield name, own


def _bounds(file, content, kind, counts):
    if kind == "open-loop":
        rates = [f"{rate} per second"
                 for rate in content.get("rates", [])] + ["closed loop"] * content.get("closed", False)
        names, ofs = {f"{side}:{rate}" for side in content["measure"] for rate in rates}, set(LATENCIES)
        names |= {f"{side}:wrk" for side in content.get("wrk", [])}
    else:
        names, ofs = {side for side, _ in counts}, set(content.get("of", COUNTS_OF_AN_OPERATION))
    for number, spec in enumerate(content.get("bounds", [])):
        where = ("bounds", number)
        keys = BOUND_KEYS | {"of": ofs} | ({"b": (str, int)} if kind != "open-loop" else {})
        if file.mapping(spec, where, keys, ("a", "b", "of", "target")):
            for key in ("a", "b"):
                if isinstance(spec[key], int):
                    if spec[key] <= 0:
                        file.wrong((*where, key), "more than 0 is needed")
                elif spec[key] not in names:
                    file.wrong((*where, key), f"{spec[key]} is not among what is measured ({', '.join(sorted(names))})")
            yield spec["a"], spec["b"], spec["of"], _target(file, spec, where)


def parse(name, text, sides):
    """The experiment in `text`. Mistakes when it has any."""
    file = File(name, text)
    content = file.value
    if not isinstance(content, dict):
        file.wrong((), "an experiment is a mapping: id, question, kind, work, comparisons")
        file.finish()
    content.setdefault("kind", "pairs")
    kind = content["kind"]
    if not isinstance(kind, str) or kind not in KIND_KEYS:
        file.wrong(("kind",), f"{kind!r} is none of: {', '.join(KIND_KEYS)}")
        file.finish()
    file.mapping(content, (), COMMON_KEYS | KIND_KEYS[kind], ("id", "question", *REQUIRED[kind]))
    if content.get("id") != pathlib.Path(name).stem:
        file.wrong(("id",), f"is {content.get('id')!r}, and the file is called {pathlib.Path(name).stem!r}")
    file.finish()  # From here on the types are right.
    sides = sides | side_file.parse(file, content.get("sides", {}), ("sides",))
    work = content.get("work")
    cases = {}
    for case, spec in content.get("cases", {}).items():
        spec = {"benchmark": spec} if isinstance(spec, str) else spec
        if file.mapping(spec, ("cases", case), CASE_KEYS, ("benchmark",)):
            cases[case] = _case(file, case, spec, content["program"])
            try:
                re.compile(spec["benchmark"])
            except re.error as problem:
                file.wrong(("cases", case), f"{spec['benchmark']!r} is no regular expression: {problem}")
    profile = content.get("profile", "full")
    names = cases if kind == "micro" else CLIENTS if kind == "clients" else sides
    comparisons, seen = [], set()
    for where, one in _comparisons(file, content, names, work):
        if one.id in seen:
            file.wrong(where, f"a second comparison {one.id}; a work with another name tells them apart")
        seen.add(one.id)
        comparisons.append(one)
    counts = list(_counts(file, content, sides, work)) if work is not None else []
    for number, one in enumerate(content.get("of", [])):
        _known(file, one, COUNTS, ("of", number), "count")
    for key in ("rates", "percent"):
        for number, one in enumerate(content.get(key, [])):
            if not isinstance(one, int) or isinstance(one, bool) or one <= 0:
                file.wrong((key, number), f"a whole number above 0 is needed, not {one!r}")
    for key in ("windows", "rounds"):
        if content.get(key, 1) < 1:
            file.wrong((key,), "at least 1 is needed")
    if content.get("capacity_p99_ms", 1) <= 0:
        file.wrong(("capacity_p99_ms",), "milliseconds, more than 0, are needed")
    bounds = list(_bounds(file, content, kind, counts))
    for number, one in enumerate(content.get("measure", [])):
        _known(file, one, sides, ("measure", number), "side")
    for number, one in enumerate(content.get("wrk", [])):
        _known(file, one, content["measure"], ("wrk", number), "side in measure")
    own = parse_work(file, work, ("work",)) if work is not None and (kind == "clients" or not comparisons) else None
    if kind == "pairs" and not file.mistakes:
        own = comparisons[0].a_work if comparisons else file.wrong(("comparisons",), "at least one is needed")
    if own is not None and own.beside and kind in ("open-loop", "capacity"):
        file.wrong(("work", "beside"), f"kind {kind} loads a side alone; kind pairs can have another load beside")
    file.mistakes = list(dict.fromkeys(file.mistakes))
    file.finish()
    return Experiment(content["id"], content["question"], kind, str(name), content.get("claims", []), profile,
                      own, comparisons, counts, tuple(content.get("of", COUNTS_OF_AN_OPERATION)), bounds, cases,
                      content.get("measure", []), float(content.get("seconds", 60)), sides, content.get("rounds", 1),
                      content.get("rates", []), content.get("closed", False),
                      content.get("wrk", []), content.get("percent", []), content.get("windows", 1),
                      content.get("capacity_p99_ms", 0))


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


def read_all(folder=FOLDER):
    """{id: experiment} of all files; the mistakes of all of them at once."""
    sides, found, wrong = read_sides(), {}, []
    for path in sorted(pathlib.Path(folder).glob("*.yaml")):
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
