"""Whether README.md and docs state only figures that a committed result holds.

A measured figure is followed by a comment that names its experiment and value (keel_lab/record.py has the names):

    0.80<!-- lab: plaintext keel-uring:nginx:cpu_us --> of nginx's CPU

It must be what the newest dated result in bench/results says, rounded to the digits written. A figure counts as
measured when its unit is one of clocks and counters (ns, us, requests/s, ...), or when it is a duration, a size, a
share or a factor in a sentence about measuring (it costs, takes, is faster, ...). What only looks so is marked as a
setting:

    waits 250 ms<!-- lab: setting -->

Code is left out, and so is what `make` writes at the end of a page, from its comment "Written by".
"""

import argparse
import pathlib
import re
import sys

from keel_lab import archive, quantity, tuning
from keel_lab.side_file import ROOT
from keel_lab.yaml_file import Mistakes

SUMMARY = "fails when a document states a figure that no committed result holds"
MEASURED = r"ns|us|µs|M/s|K/s|/s|requests/s|operations/s|rows/s|messages/s|instructions|system calls"
EITHER = r"ms|s|KB|MB|GB|KiB|MiB|%|x|times"
FIGURE = re.compile(rf"(?<![\w./-])(?P<number>\d[\d,]*(?:\.\d+)?)(?: ?(?P<unit>{MEASURED}|{EITHER}))?(?![\w/]|-\w)"
                    r"(?P<mark><!-- lab: (?P<said>.*?) -->)?")
WORDS = re.compile(
    r"\b(measur\w+|benchmark\w*|costs?|takes?|took|faster|slower|throughput|latenc\w+|median|overhead"
    r"|as (much|many|fast)|per (request|operation|message|connection|second)|of the CPU|CPU time|cheaper)\b",
    re.IGNORECASE,
)
LEFT_OUT = re.compile(r"```.*?```|<!-- Written by `make .*\Z|`[^`\n]*`|\]\([^)]*\)|https?://\S+", re.DOTALL)
SENTENCE_END = re.compile(r"(?<=[.!?;])\s|\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\. ))")
MARK = re.compile(r"<!-- lab: .*? -->")


def documents():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def without_code(text):
    """The same text with blanks for what is no prose; places stay."""
    return LEFT_OUT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def sentences(text):
    """(place, sentence) of each."""
    begin = 0
    for end in [found.start() for found in SENTENCE_END.finditer(text)] + [len(text)]:
        yield begin, text[begin:end]
        begin = end


def is_measured(figure, sentence):
    unit = figure["unit"]
    return bool(unit) and (re.fullmatch(MEASURED, unit) is not None
                           or WORDS.search(MARK.sub(" ", sentence)) is not None)


def agrees(figure, found):
    """Whether the written figure is the value that was found, rounded. Unreadable when the units do not fit."""
    unit, written = figure["unit"] or "", figure["number"].replace(",", "")
    what, value = quantity.base(found.median, found.unit)
    wanted, factor = quantity.UNITS[unit]
    number = quantity.as_(what, value, wanted) / factor
    digits = len(written.partition(".")[2])
    # 12,000 may stand for 11,960: zeros at the end of a whole number are not digits.
    digits -= 0 if digits else len(written) - len(written.rstrip("0"))
    return abs(round(number, digits) - float(written)) < 10.0**-digits / 1000, number, unit


def check_mark(figure, results):
    """What is wrong with a marked figure, or nothing."""
    said = figure["said"].strip()
    if said == "setting":
        return ""
    name, _, value = said.partition(" ")
    if not value:
        return f"the mark {said!r} is neither an experiment with a value nor `setting`"
    if name not in results:
        return f"no committed result of {name}: bench/results has {', '.join(sorted(results)) or 'none'}"
    found = results[name].find(value)
    if found is None:
        return f"the result of {name} has no {value}"
    if not results[name].complete:
        return f"the result of {name} was interrupted"
    try:
        right, number, unit = agrees(figure, found)
    except quantity.Unreadable as problem:
        return f"{name} {value}: {problem}"
    stated = f"{quantity.short(number)} {unit}".strip()
    return "" if right else f"{name} {value} of {results[name].day} is {stated}"


def check(path, text, results):
    """The mistakes of a document, a line each."""
    wrong = []
    # What is made is checked by making it again.
    prose = without_code(tuning.without_table(text) if pathlib.Path(path).name == tuning.DOCUMENT.name else text)
    for begin, sentence in sentences(prose):
        for figure in FIGURE.finditer(sentence):
            line = prose.count("\n", 0, begin + figure.start()) + 1
            stated = figure[0].partition("<!--")[0].strip()
            if figure["mark"]:
                problem = check_mark(figure, results)
            else:
                problem = is_measured(figure, sentence) and (
                    f"names no result: write {stated}<!-- lab: EXPERIMENT VALUE -->, or leave the figure out")
            if problem:
                wrong.append(f"{path}:{line}: {stated}: {problem}")
    marked = sum(bool(figure["mark"]) for _, sentence in sentences(prose) for figure in FIGURE.finditer(sentence))
    if marked != len(MARK.findall(prose)):
        wrong.append(f"{path}: a mark follows no figure: the number and its unit come right before <!-- lab: ... -->")
    return wrong


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/lab check-documents", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="README.md and docs/*.md")
    parser.add_argument("--write", action="store_true", help="first renew what is made: the table of docs/tuning.md")
    options = parser.parse_args(arguments)
    results, wrong = archive.committed()
    try:
        wrong += tuning.check(results, write=options.write)
    except Mistakes as mistakes:
        wrong += mistakes.lines
    files = options.files or documents()
    for path in files:
        try:
            wrong += check(archive.shown(path), path.read_text(encoding="utf-8"), results)
        except OSError as problem:
            wrong.append(f"{path}: {problem.strerror}")
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(files)} documents, {len(wrong)} mistakes")
    return 1 if wrong else 0
