"""The declarative files: bench/experiments/ID.yaml says what is asked and how it is measured, bench/sides.yaml who answers.

docs/lab.md has every key. All mistakes of a file are reported at once, each with file, line and key.
"""

import dataclasses
import itertools
import pathlib
import re

from keel_lab import judge
from keel_lab.yaml_file import File, Mistakes

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench/experiments"
SIDES = ROOT / "bench/sides.yaml"
PROFILES = ("quick", "full")
PLACEHOLDERS = ("port", "admin_port", "folder", "build", "root", "engine", "payload")
ENGINES = ("uring", "epoll")
COUNTS = ("system_calls", "allocations", "allocated_bytes", "instructions", "switches", "bytes_per_connection")

SIDE_KEYS = {"title": str, "needs": (str, list), "serve": list, "files": dict, "ready": str, "environment": dict,
             "profile": set(PROFILES), "engines": list, "under_test": bool, "log": str}
WORK_KEYS = {
    "lockstep": {
        "method": str,
        "path": str,
        "body": str,
        "connections": int,
        "depth": int,
        "range": int,
        "expect": dict,
        "prepare": dict,
        "waits_for": str,
        "log_lines": bool},
        "bytes": {
            "payload": int,
            "connections": int,
            "churn": bool},
            "itself": {
                "arguments": list},
                 }
EXPECT_KEYS = {"status": int, "type": str, "body": str}
PREPARE_KEYS = {"method": str, "path": str, "body": str, "times": int, "status": int}
COMPARISON_KEYS = {
    "a": (
        str, list), "b": (
            str, list), "of": (
                str, list), "target": str, "work": (
                    dict, list), "a_work": dict, "b_work": dict, "profile": set(PROFILES)}
BOUND_KEYS = {"a": str, "b": str, "of": set(COUNTS), "target": str}
CASE_KEYS = {"program": str, "benchmark": str, "counter": str, "unit": str}
COMMON_KEYS = {"id": str, "question": str, "claims": list, "profile": set(PROFILES), "kind": str, "sides": dict}
KIND_KEYS = {
    "pairs": {"work": dict, "comparisons": list, "counts": list, "bounds": list},
    "counts": {"work": dict, "counts": list, "bounds": list},
    "micro": {"program": str, "cases": dict, "comparisons": list, "cores": {"one", "all"}},
    "start": {},
    "sustained": {"work": dict, "measure": list, "seconds": (int, float)},
}
REQUIRED = {"pairs": ("work", "comparisons"), "counts": ("work", "counts"), "micro": ("program", "cases"), "start": (),
            "sustained": ("work", "measure")}


@dataclasses.dataclass(frozen=True)
class Side:
    name: str
    title: str
    serve: tuple
    needs: tuple = ()
    files: tuple = ()
    ready: str = ""
    environment: tuple = ()
    profile: str = "quick"
    engine: str = ""
    under_test: bool = False    # Ours: `compare` runs it from both revisions.
    log: str = ""


@dataclasses.dataclass(frozen=True)
class Work:
    """What the client does. {n} in path or body stands for a number; see client/lockstep.c."""
    client: str
    name: str
    path: str = "/"
    method: str = ""
    body: str = ""
    status: int = 200
    type: str = ""
    answer: str | None = None   # The body of the answer to `path`, compared before and after each run.
    connections: int = 64
    depth: int = 1
    range: int = 0
    prepare: tuple = ()
    waits_for: str = ""
    log_lines: bool = False     # Each request must leave a line in the side's log.
    payload: int = 0
    churn: bool = False
    arguments: tuple = ()


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
        """What is measured together: one run gives all the quantities."""
        return self.a, self.a_work, self.b, self.b_work


@dataclasses.dataclass(frozen=True)
class Case:
    """One benchmark of a Google Benchmark program."""
    name: str
    program: str
    benchmark: str
    counter: str = ""
    unit: str = "ns"


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
    counts: list        # (side, work)
    bounds: list        # (a, b, of, target)
    cases: dict
    measure: list
    seconds: float
    sides: dict         # Of this file, and those of sides.yaml.
    all_cores: bool = False     # Of kind micro: its programs have threads of their own.


def target_of(text):
    """{"kind", "value"} of a text such as "at most 0.80", or None when it is not one."""
    kind, _, value = text.rpartition(" ")
    try:
        return {"kind": kind, "value": float(value)} if kind in judge.TARGETS else None
    except ValueError:
        return None


# --- Sides ---

def _filled(text, engine):
    return text.replace("{engine}", engine) if engine else text


def _beside(file, program):
    """./program is beside the file that says so; any other path is under the build."""
    return str(pathlib.Path(file.name).resolve().parent / program) if program.startswith("./") else program


def _side(file, name, spec, where):
    """The sides that an entry stands for: one, or one for each engine."""
    if not file.mapping(spec, where, SIDE_KEYS, ("serve",)):
        return []
    if not spec["serve"]:
        file.wrong((*where, "serve"), "a program is needed")
        return []
    engines = spec.get("engines", [""])
    for number, engine in enumerate(engines):
        if engine and engine not in ENGINES:
            file.wrong((*where, "engines", number), f"{engine!r} is none of: {', '.join(ENGINES)}")
    texts = [(("serve", number), text) for number, text in enumerate(spec["serve"])]
    texts += [((key, at), text) for key in ("environment", "files") for at, text in spec.get(key, {}).items()]
    for at, text in texts:
        for found in re.findall(r"\{(\w+)\}", str(text)) if at[0] != "files" else ():
            if found not in PLACEHOLDERS:
                file.wrong((*where, *at), f"{{{found}}} is no placeholder (allowed: {', '.join(PLACEHOLDERS)})")
    needs = spec.get("needs", [])
    needs = [needs] if isinstance(needs, str) else needs
    sides = []
    for engine in engines:
        fill = lambda text: _filled(str(text), engine)
        sides.append(Side(
            name=f"{name}-{engine}" if engine else name, title=fill(spec.get("title", f"{name} {engine}".strip())),
            serve=(_beside(file, fill(spec["serve"][0])), *map(fill, spec["serve"][1:])), needs=tuple(map(fill, needs)),
            files=tuple((fill(at), fill(text)) for at, text in spec.get("files", {}).items()), ready=spec.get("ready", ""),
            environment=tuple((at, fill(text)) for at, text in spec.get("environment", {}).items()),
            profile=spec.get("profile", "quick"), engine=engine, under_test=spec.get("under_test", False), log=spec.get("log", "")))
    return sides


def _sides(file, specs, where):
    found = {}
    for name, spec in specs.items():
        for side in _side(file, name, spec, (*where, name)):
            if side.name in found:
                file.wrong((*where, name), f"a second side {side.name}")
            found[side.name] = side
    return found


def read_sides(path=SIDES):
    file = File(path, pathlib.Path(path).read_text())
    found = _sides(
    file,
    file.value,
    ()) if isinstance(
        file.value,
        dict) else file.wrong((),
         "a mapping of sides is needed")
    file.finish()
    return found


# --- Work ---

def _work_name(spec, client):
    if "name" in spec:
        return spec["name"]
    if client == "bytes":
        connections = spec.get("connections", 64)
        return f"churn {connections}" if spec.get("churn") else f"{spec.get('payload')} B x {connections}"
    if client == "itself":
        return " ".join(str(argument) for argument in spec.get("arguments", []))
    depth = spec.get("depth", 1)
    method = spec.get("method", "POST" if spec.get("body") else "GET")
    return (f"{method} " if method != "GET" else "") + \
            spec.get("path", "/") + (f", {depth} at once" if depth != 1 else "")


def _work(file, spec, where, partial=False):
    """The Work of `spec`; a `partial` one is completed by each comparison."""
    client = spec.get("client", "lockstep")
    if client not in WORK_KEYS:
        file.wrong((*where, "client"), f"{client!r} is none of: {', '.join(WORK_KEYS)}")
        return None
    required = () if partial else {"lockstep": ("path",), "bytes": ("payload",), "itself": ()}[client]
    if not file.mapping(spec, where, {"client": str, "name": str, **WORK_KEYS[client]}, required):
        return None
    expect, prepare = spec.get("expect", {}), spec.get("prepare")
    right = True
    for key in ("connections", "depth"):
        if spec.get(key, 1) < 1:
            right = file.wrong((*where, key), "at least 1 is needed")
    right = right is True and file.mapping(expect, (*where, "expect"), EXPECT_KEYS)
    if prepare is not None:
        right = file.mapping(prepare, (*where, "prepare"), PREPARE_KEYS, ("path",)) and right
    if not right:
        return None
    return Work(
    client=client, name=_work_name(
        spec, client), path=spec.get(
            "path", "/"), body=spec.get(
                "body", ""), method=spec.get(
                    "method", "POST" if spec.get("body") else "GET"), status=expect.get(
                        "status", 200), type=expect.get(
                            "type", ""), answer=expect.get("body"), connections=spec.get(
                                "connections", 64), depth=spec.get(
                                    "depth", 1), range=spec.get(
                                        "range", 0), prepare=tuple(
                                            sorted(
                                                (prepare or {}).items())), waits_for=spec.get(
                                                    "waits_for", ""), log_lines=spec.get(
                                                        "log_lines", False), payload=spec.get(
                                                            "payload", 0), churn=spec.get(
                                                                "churn", False), arguments=tuple(
                                                                    str(one) for one in spec.get(
                                                                        "arguments", [])))


# --- Experiments ---

def _listed(value):
    return value if isinstance(value, list) else [value]


def _target(file, spec, where):
    if "target" not in spec:
        return None
    found = target_of(spec["target"])
    if found is None:
        file.wrong(
    (*
    where,
    "target"),
     f"{spec['target']!r} is no target (for example: at most 0.80; allowed: {', '.join(judge.TARGETS)})")
    return found


def _known(file, name, names, where, what):
    if name not in names:
        file.wrong(where, f"no {what} {name} (there are: {', '.join(sorted(names)) or 'none'})")
    return name in names


def _comparisons(file, content, names, work):
    micro = content["kind"] == "micro"
    quantities = ("ns",) if micro else tuple(judge.UNITS)
    right = isinstance(work, dict) and _work(file, work, ("work",), partial=True) is not None
    for number, spec in enumerate(content.get("comparisons", [])):
        where = ("comparisons", number)
        keys = {key: COMPARISON_KEYS[key] for key in (("a", "b", "of", "target") if micro else COMPARISON_KEYS)}
        if not file.mapping(spec, where, keys, ("a", "b") if micro else ("a", "b", "of")):
            continue
        target = _target(file, spec, where)
        ofs = _listed(spec.get("of", "ns"))
        for of in ofs:
            _known(file, of, quantities, (*where, "of"), "quantity")
        for key in ("a", "b"):
            for name in _listed(spec[key]):
                _known(file, name, names, (*where, key), "case" if micro else "side")
        works = [None] if micro or not right else _listed(spec.get("work", {}))
        for at, own in enumerate(works):
            place = where if own is None or not isinstance(spec.get("work"), list) else (*where, "work", at)
            a_work = b_work = None
            if own is not None:
                merged = work | own
                a_work = _work(file, merged | spec.get("a_work", {}),
                               (*place, *(("a_work",) if "a_work" in spec else ())))
                b_work = _work(file, merged | spec.get("b_work", {}),
                               (*place, *(("b_work",) if "b_work" in spec else ())))
            suffix = a_work.name if own and a_work else ""
            for a, b, of in itertools.product(_listed(spec["a"]), _listed(spec["b"]), ofs):
                yield where, Comparison(a, b, of, target, spec.get("profile", "quick"), a_work, b_work, suffix)


def _counts(file, content, names, work):
    for number, spec in enumerate(content.get("counts", [])):
        where = ("counts", number)
        if isinstance(spec, dict):
            if not file.mapping(spec, where, {"side": str, "work": dict}, ("side",)):
                continue
            name, own = spec["side"], _work(file, work | spec.get("work", {}), where)
        else:
            name, own = spec, _work(file, work, ("work",))
        if _known(file, name, names, where, "side") and own is not None:
            yield name, own


def parse(name, text, sides):
    """The experiment in `text`. Mistakes when it has any."""
    file = File(name, text)
    content = file.value
    if not isinstance(content, dict):
        file.wrong((), "an experiment is a mapping: id, question, kind, work, comparisons")
        file.finish()
    content.setdefault("kind", "pairs")
    kind = content["kind"]
    if kind not in KIND_KEYS:
        file.wrong(("kind",), f"{kind!r} is none of: {', '.join(KIND_KEYS)}")
        file.finish()
    file.mapping(content, (), COMMON_KEYS | KIND_KEYS[kind], ("id", "question", *REQUIRED[kind]))
    if content.get("id") != pathlib.Path(name).stem:
        file.wrong(("id",), f"is {content.get('id')!r}, and the file is called {pathlib.Path(name).stem!r}")
    file.finish()    # From here on the types are right.
    sides = sides | _sides(file, content.get("sides", {}), ("sides",))
    work = content.get("work")
    cases = {}
    for case, spec in content.get("cases", {}).items():
        spec = {"benchmark": spec} if isinstance(spec, str) else spec
        if file.mapping(spec, ("cases", case), CASE_KEYS, ("benchmark",)):
            cases[case] = Case(
    case, spec.get(
        "program", content["program"]), spec["benchmark"], spec.get(
            "counter", ""), spec.get(
                "unit", "ns"))
            try:
                re.compile(spec["benchmark"])
            except re.error as problem:
                file.wrong(("cases", case), f"{spec['benchmark']!r} is no regular expression: {problem}")
    profile = content.get("profile", "full")
    names = cases if kind == "micro" else sides
    comparisons, seen = [], set()
    for where, one in _comparisons(file, content, names, work):
        if one.id in seen:
            file.wrong(where, f"a second comparison {one.id}; a work with another name tells them apart")
        seen.add(one.id)
        comparisons.append(one)
    counts = list(_counts(file, content, sides, work)) if work is not None else []
    bounds = []
    counted = {side for side, _ in counts}
    for number, spec in enumerate(content.get("bounds", [])):
        where = ("bounds", number)
        if file.mapping(spec, where, BOUND_KEYS, ("a", "b", "of", "target")):
            for key in ("a", "b"):
                if spec[key] not in counted:
                    file.wrong((*where, key), f"{spec[key]} is not among counts")
            bounds.append((spec["a"], spec["b"], spec["of"], _target(file, spec, where)))
    for number, one in enumerate(content.get("measure", [])):
        _known(file, one, sides, ("measure", number), "side")
    own = _work(file, work, ("work",)) if work is not None and not comparisons else None
    if kind == "pairs" and not file.mistakes:
        own = comparisons[0].a_work if comparisons else file.wrong(("comparisons",), "at least one is needed")
    file.mistakes = list(dict.fromkeys(file.mistakes))
    file.finish()
    return Experiment(
    content["id"], content["question"], kind, str(name), content.get(
        "claims", []), profile, own, comparisons, counts, bounds, cases, content.get(
            "measure", []), float(
                content.get(
                    "seconds", 60)), sides, content.get("cores") == "all")


def read(path, sides=None):
    path = pathlib.Path(path)
    try:
        text = path.read_text()
    except OSError as problem:
        raise Mistakes([f"{path}: {problem.strerror}"]) from None
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
