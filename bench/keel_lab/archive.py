"""Where results are: the last runs in build/lab/results, and dated, chosen ones in bench/results/YYYY-MM-DD."""

import pathlib
import re

from keel_lab import results

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAST = ROOT / "build/lab/results"
DATED = ROOT / "bench/results"


def folder(path):
    """({experiment: result}, [what is wrong with a file]) of a folder; a bad file does not hide the good ones."""
    found, problems = {}, []
    for file in sorted(pathlib.Path(path).glob("*.json")):
        try:
            result = results.load(file)
        except results.Wrong as problem:
            problems += str(problem).splitlines()
            continue
        found[result["experiment"]] = result
    return found, problems


def days(root=DATED):
    """The dated folders that hold results, oldest first."""
    if not root.is_dir():
        return []
    named = [path for path in root.iterdir() if path.is_dir() and re.fullmatch(r"\d{4}-\d\d-\d\d", path.name)]
    return sorted(path for path in named if any(path.glob("*.json")))


def present(last=LAST, dated=DATED):
    """(where, {experiment: result}, problems): the last runs, else of each experiment the newest dated one."""
    found, problems = folder(last)
    if found:
        return last, found, problems
    for path in days(dated):
        newer, more = folder(path)
        found |= newer
        problems += more
    return dated if found else last, found, problems


def committed(dated=DATED):
    """({experiment: its newest dated result}, problems): what documents may cite."""
    found, problems = {}, []
    for path in days(dated):
        one, more = folder(path)
        found |= {name: result | {"day": path.name} for name, result in one.items()}
        problems += more
    return found, problems


def history(dated=DATED):
    """([(day, {experiment: result})] oldest first, problems)."""
    listed, problems = [], []
    for path in days(dated):
        one, more = folder(path)
        listed.append((path.name, one))
        problems += more
    return listed, problems


def rounded(value, digits=5):
    """The same with shorter numbers, for a measurement has no more digits, and without where the repository lies."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, str):
        return value.replace(f"{ROOT}/", "")
    if isinstance(value, dict):
        return {key: rounded(one, digits) for key, one in value.items()}
    return [rounded(one, digits) for one in value] if isinstance(value, list) else value


def keep(names=(), last=LAST, dated=DATED):
    """Copies the last complete results (all, or those named) to the folder of the day they were measured on: without
    series, with shorter numbers and no path of this machine. Returns the files. Raises results.Wrong when one that is
    named is not there."""
    found, problems = folder(last)
    missing = [name for name in names if name not in found or not found[name]["complete"]]
    if missing or problems:
        problems += [f"{name}: no complete result in {shown(last)}" for name in missing]
        raise results.Wrong("\n".join(problems))
    return [
        results.save(rounded(result | {"series": []}), pathlib.Path(dated, result["began"][:10], f"{name}.json"))
        for name, result in found.items()
        if result["complete"] and (not names or name in names)
    ]


def shown(path):
    """A path as a reader of the page knows it, without where the repository lies."""
    path = pathlib.Path(path).resolve()
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
