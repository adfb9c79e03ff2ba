#!/usr/bin/env python3
"""make reference: the pages that are written from the sources.

docs/api/ has the public headers with each symbol, and docs/metrics.md the metrics; both are written here. docs/errors.md
is written by hand, and has to explain each log line of warning and above. With --check nothing is written: what is missing
or differs is printed, a line for each with the file, its line and what to do, and the exit code is 1.
docs/configuration.md is written by the program that knows the keys (src/keel/app/settings_page_test.cc).
"""

import argparse
import re
import sys

import config_rules
import cpp_text
import headers
import log_lines
import metrics

ROOT = cpp_text.ROOT
API = "docs/api"
# What stands above this line is written by hand, what stands below it is not.
MARK = "<!-- Written by `make reference`, from here to the end. -->\n"

# Where metrics are registered, and how the page calls that; the first that a path begins with.
SUBJECTS = [
    ("src/keel/http/server/", "The HTTP server"),
    ("src/keel/http/client/", "HTTP clients"),
    ("src/keel/db/sqlite/", "The database: SQLite"),
    ("src/keel/db/", "The database: PostgreSQL"),
    ("src/keel/app/pools.cc", "Pools"),
    ("src/keel/app/background_work.cc", "Background work"),
    ("src/keel/app/health.cc", "Health checks"),
    ("src/keel/app/internal/certificates.cc", "Certificates"),
    ("src/keel/app/stall.cc", "Workers"),
    ("src/keel/app/", "The application"),
    ("src/keel/events/", "Events"),
    ("src/keel/task/", "Retries, circuit breakers and bulkheads of your own"),
    ("src/keel/telemetry/log_writer.cc", "The log"),
    ("src/keel/telemetry/", "The process"),
    ("src/keel/net/messages/", "Messages between processes"),
    ("src/keel/net/", "Programs without HTTP"),
]


def subject_of(path):
    return next((subject for prefix, subject in SUBJECTS if path.startswith(prefix)), path.split("/")[2])


def in_a_cell(text):
    """A sentence as Markdown in a cell of a table: nothing in it is markup but code between two quotes."""
    if text.count("`") % 2:
        text = text.replace("`", "&#96;")
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part.replace("|", r"\|") if part.startswith("`") else re.sub(r"([\\|*\[\]<>_])", r"\\\1", part)
                   for part in parts)


def module_of(path):
    """http/server of src/keel/http/server/router.h; keel of src/keel/http.h."""
    return "/".join(path.split("/")[2:-1]) or "keel"


def page_of(module):
    return module.replace("/", "_") + ".md"


def read_headers():
    return [headers.parse(path.removeprefix("src/"), (ROOT / path).read_text()) for path in cpp_text.public_headers()]


def header_section(header):
    rows = [f"\n## `{header.path}`\n\n{in_a_cell(header.purpose[:1].upper() + header.purpose[1:])} "
            f"[Read the header](../../src/{header.path}).\n"]
    if header.symbols:
        rows.append("\n| symbol | what it is | members |\n|---|---|---|\n")
    for symbol in header.symbols:
        members = " ".join(f"`{name}`" for name in symbol.members)
        rows.append(f"| `{symbol.name}` | {in_a_cell(symbol.text)} | {members} |\n")
    return "".join(rows)


def api_pages(all_headers):
    """{page: text} of docs/api."""
    modules = {}
    for header in all_headers:
        modules.setdefault(module_of(f"src/{header.path}"), []).append(header)
    pages = {}
    index = ["# Look up a symbol\n\nEach page below has the public headers of one module, and each symbol in them with the first "
             "sentence of its comment. The header\nitself says the rest: errors, ownership, threads, cancellation, cost. "
             "Names are without `keel::`.\n\n`make reference` writes these pages.\n\n"
             "| module | headers | symbols |\n|---|---|---|\n"]
    for module, own in sorted(modules.items()):
        name = "keel" if module == "keel" else f"keel/{module}"
        index.append(f"| [{name}]({page_of(module)}) | {len(own)} | {sum(len(header.symbols) for header in own)} |\n")
        pages[page_of(module)] = f"# {name}\n" + "".join(header_section(header) for header in own)
    pages["README.md"] = "".join(index)
    return {f"{API}/{name}": text for name, text in pages.items()}


def undescribed(all_headers):
    """A line for each header and symbol that nothing is written about."""
    found = []
    for header in all_headers:
        if not header.purpose:
            found.append(f"src/{header.path}:1: begin with \"// {header.path} — what it is for\"")
        for symbol in header.symbols:
            if not symbol.text:
                found.append(f"src/{header.path}:{symbol.line}: write a sentence above {symbol.kind} {symbol.name}: what it "
                             "is for, or what comes back")
    return found


def metric_tables(found):
    by_subject = {}
    for metric in found:
        by_subject.setdefault(subject_of(metric.place), []).append(metric)
    text = []
    for subject in dict.fromkeys(subject for _, subject in SUBJECTS if subject in by_subject):
        text.append(f"\n### {subject}\n\n| metric | kind | unit | meaning |\n|---|---|---|---|\n")
        for metric in sorted(by_subject[subject], key=lambda one: one.name):
            text.append(f"| `{metric.name}` | {metric.kind} | {metric.unit} | {in_a_cell(metric.help)} |\n")
    return "".join(text)


def written_by_hand(page, text):
    if MARK not in text:
        sys.exit(f"{page} has no line {MARK}")
    return text[:text.index(MARK) + len(MARK)]


def pages():
    """({page: text} as they should be, mistakes in the sources)."""
    all_headers = read_headers()
    found, mistakes = metrics.of_library()
    made = api_pages(all_headers)
    page = "docs/metrics.md"
    made[page] = written_by_hand(page, (ROOT / page).read_text()) + metric_tables(found)
    return made, undescribed(all_headers) + mistakes


def stale(made):
    """A line for each page that is not as it should be; what a page lacks is named."""
    found = []
    for page, text in made.items():
        path = ROOT / page
        there = path.read_text() if path.exists() else ""
        if there == text:
            continue
        lines = set(there.split("\n"))
        lacks = [line for line in text.split("\n") if line not in lines]
        found.append(f"{page}: run make reference" + (f"; it lacks: {lacks[0]}" if lacks else "; it has too many lines"))
    for path in (ROOT / API).glob("*.md"):
        if path.relative_to(ROOT).as_posix() not in made:
            found.append(f"{path.relative_to(ROOT)}: its module has no public header: remove the page")
    return found


def unexplained():
    """A line for each log line of warning and above that docs/errors.md does not explain."""
    written, mistakes = log_lines.of_library()
    known = log_lines.explained((ROOT / "docs/errors.md").read_text())
    return mistakes + [f"{line.place}: add a row to docs/errors.md, with the cause and the cure of `{line.message}`"
                       for line in written.values() if line.message not in known]


def unlisted_rules():
    """A line for each rule of the configuration that docs/errors.md does not list."""
    known = log_lines.explained((ROOT / "docs/errors.md").read_text())
    return [f"{line.place}: add a row to docs/errors.md, with the cause and the cure of `{line.message}`"
            for line in config_rules.of_library() if not any(line.message in message for message in known)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, print what is missing or differs")
    options = parser.parse_args()
    made, problems = pages()
    if not options.check:
        (ROOT / API).mkdir(exist_ok=True)
        for page, text in made.items():
            (ROOT / page).write_text(text)
    problems += stale(made) + unexplained() + unlisted_rules()
    if problems:
        print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
