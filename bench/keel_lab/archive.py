"""Where results are: the last runs in build/lab/results, as JSON, and a text file for each day that is kept."""

import pathlib
import re

from keel_lab import record, results

ROOT = results.ROOT
LAST = ROOT / "build/lab/results"
DATED = ROOT / "bench/results"


def read(path):
    """({experiment: record}, [what is wrong]) of a folder of JSON, or of a day's file; a bad one hides no other."""
    path, found, problems = pathlib.Path(path), {}, []
    if path.is_file():
        return record.read(path)
    for file in sorted(path.glob("*.json")):
        try:
            result = results.load(file)
            found[result["experiment"]] = record.of(result)
        except results.Wrong as problem:
            problems += str(problem).splitlines()
    return found, problems


def days(root=DATED):
    """The files of the days that are kept, oldest first."""
    return sorted(path for path in pathlib.Path(root).glob("*.tsv") if re.fullmatch(r"\d{4}-\d\d-\d\d", path.stem))


def history(dated=DATED):
    """([(day, {experiment: record})] oldest first, problems)."""
    read_days = [(path.stem, *record.read(path)) for path in days(dated)]
    return [(day, found) for day, found, _ in read_days], [line for *_, problems in read_days for line in problems]


def committed(dated=DATED):
    """({experiment: its newest kept record}, problems): what documents may cite."""
    listed, problems = history(dated)
    return {name: one for _, found in listed for name, one in found.items()}, problems


def present(last=LAST, dated=DATED):
    """(where, {experiment: record}, problems): the last runs, else of each experiment the newest that is kept."""
    found, problems = read(last)
    if found:
        return last, found, problems
    found, more = committed(dated)
    return dated if found else last, found, problems + more


def keep(names=(), last=LAST, dated=DATED):
    """Puts the last complete results (all, or those named) into the file of the day on which they were measured, in the
    place of what it had of them. Returns how many. Raises results.Wrong when one that is named is not there."""
    found, problems = read(last)
    missing = [name for name in names if name not in found or not found[name].complete]
    if missing or problems:
        raise results.Wrong("\n".join(problems + [f"{name}: no complete result in {shown(last)}" for name in missing]))
    kept = [one for name, one in found.items() if one.complete and (not names or name in names)]
    for day in {one.day for one in kept}:
        path = pathlib.Path(dated, f"{day}.tsv")
        before, problems = record.read(path) if path.exists() else ({}, [])
        if problems:
            raise results.Wrong("\n".join(problems))
        of_day = before | {one.experiment: one for one in kept if one.day == day}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(record.text(of_day[name] for name in sorted(of_day)), encoding="utf-8")
    return len(kept)


def shown(path):
    """A path as a reader of the page knows it, without where the repository lies."""
    path = pathlib.Path(path).resolve()
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
