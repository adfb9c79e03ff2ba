#!/usr/bin/env python3
"""What keel dev promises on two cores: from keel new to the first 200 within 60 s, an edit served within 5 s, and not one
failed request in 20 rebuilds under load. Prints the figures; fails when one is missed.

  tests/consume/dev_check.py --prefix PREFIX [--scratch FOLDER] [--compiler g++] [--rebuilds 20] [--rate 500]
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time

import author

FIRST_SECONDS_MAX = 60
EDIT_SECONDS_MAX = 5


def find_counts(report):
    """What was answered and what failed. The requests that Ctrl-C found under way are neither."""
    if isinstance(report, list):
        report = {str(number): part for number, part in enumerate(report)}
    if not isinstance(report, dict):
        return None
    if isinstance(report.get("errors"), dict):
        errors = {kind: count for kind, count in report["errors"].items() if count and kind != "unanswered"}
        return {"requests": report["requests"], "errors": sum(errors.values()), "kinds": errors}
    return next(filter(None, map(find_counts, report.values())), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--scratch", default="build/dev-check")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--rebuilds", type=int, default=20)
    parser.add_argument("--rate", type=int, default=500)
    options = parser.parse_args()
    failures = []

    began = time.monotonic()
    project = author.Project(os.path.abspath(options.prefix), os.path.abspath(options.scratch), options.compiler)
    dev, port = project.dev()
    status, _ = author.ask(port, "GET", "/notes")
    first = time.monotonic() - began
    print(f"from keel new to the first {status}: {first:.1f} s (at most {FIRST_SECONDS_MAX})", flush=True)
    if status != 200 or first > FIRST_SECONDS_MAX:
        failures.append("the first 200")

    author.add_note(port, "buy tea")
    report = os.path.join(os.path.abspath(options.scratch), "load.json")
    load = subprocess.Popen([project.keel, "load", f"http://127.0.0.1:{port}/notes/1", "--rate", str(options.rate),
                             "--connections", "16", "--duration", "600s", "--warmup", "0s", "--timeout", "10s", "--expect-status", "200",
                             "--json", report], stdout=subprocess.DEVNULL)
    source = project.read("src/notes.cc")
    took = []
    try:
        for number in range(1, options.rebuilds + 1):
            saved = time.monotonic()
            word = f"no note has this number ({number})"
            project.write("src/notes.cc", source.replace("no note has this number", word))
            author.wait_for(lambda: word in author.ask(port, "GET", "/notes/999")[1], f"edit {number}", 120)
            took.append(time.monotonic() - saved)
    finally:
        load.send_signal(signal.SIGINT)
        load.wait(60)
    print(f"{len(took)} edits were served after {min(took):.1f} to {max(took):.1f} s, median "
          f"{statistics.median(took):.1f} s (at most {EDIT_SECONDS_MAX})")
    if max(took) > EDIT_SECONDS_MAX:
        failures.append("an edit")

    with open(report, encoding="utf-8") as file:
        measured = json.load(file)
    counts = find_counts(measured)
    print(f"requests meanwhile: {counts['requests']} answered, {counts['errors']} failed {counts['kinds'] or ''}")
    if counts["requests"] < 100 or counts["errors"] != 0:
        failures.append("a request")

    code = dev.end(signal.SIGINT)
    print(f"Ctrl-C: keel dev ended with {code}")
    if code != 0:
        failures.append("the end")
    for failure in failures:
        print("MISSED:", failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
