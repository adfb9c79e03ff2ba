"""Who is compared: bench/sides.yaml, and the sides that an experiment has of its own."""

import dataclasses
import pathlib
import re

from keel_lab.yaml_file import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIDES = ROOT / "bench/sides.yaml"
PROFILES = ("quick", "full")
PLACEHOLDERS = ("port", "admin_port", "https_port", "folder", "build", "root", "engine", "payload")
ENGINES = ("uring", "epoll")
SIDE_KEYS = {"title": str, "needs": (str, list), "serve": list, "files": dict, "ready": str, "environment": dict,
             "profile": set(PROFILES), "engines": list, "under_test": bool, "log": str, "database": str}


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
    under_test: bool = False  # Ours: `compare` runs it from both revisions.
    log: str = ""
    database: str = ""  # Its file, where rows are counted.


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
    as_it_is = {key: spec[key] for key in ("ready", "profile", "under_test", "log", "database") if key in spec}
    sides = []
    for engine in engines:
        fill = lambda text: str(text).replace("{engine}", engine or "{engine}")
        filled_pairs = lambda key: tuple((at, fill(text)) for at, text in spec.get(key, {}).items())
        sides.append(Side(f"{name}-{engine}" if engine else name, fill(spec.get("title", f"{name} {engine}".strip())),
                          (_beside(file, fill(spec["serve"][0])), *map(fill, spec["serve"][1:])),
                          needs=tuple(map(fill, needs)), files=filled_pairs("files"),
                          environment=filled_pairs("environment"), engine=engine, **as_it_is))
    return sides


def parse(file, specs, where):
    """{name: side} of the entries of a file."""
    found = {}
    for name, spec in specs.items():
        for side in _side(file, name, spec, (*where, name)):
            if side.name in found:
                file.wrong((*where, name), f"a second side {side.name}")
            found[side.name] = side
    return found


def read_sides():
    file = File(SIDES, SIDES.read_text())
    found = parse(file, file.value, ()) if isinstance(file.value, dict) else file.wrong(
        (), "a mapping of sides is needed")
    file.finish()
    return found
