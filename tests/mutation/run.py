#!/usr/bin/env python3
"""Bugs, put into a copy of our sources one by one: the tests have to find each.

  make mutation                      all of them: half an hour on two cores
  tests/mutation/run.py [TEXT...]    those whose name or file contains one of the texts
  tests/mutation/run.py --list       their names

The copy and its build stay in build/mutation. First the tests pass without a bug. Code 1 when a bug is not found or
does not compile.
"""

import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

from bugs import BUGS

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COPY = ROOT / "build/mutation"
BUILD = COPY / "build/release"
TEST_SECONDS = 300
# A bug may ask for all there is.
MEMORY_BYTES = 8 << 30


class Failed(Exception):
    """Why nothing can be said."""


def copy_sources():
    """What git knows or would take, with its times: what has not changed is not built again."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True,
                            check=True).stdout.decode().split("\0")
    kept = {name for name in listed if name and (ROOT / name).is_file()}
    for name in kept:
        from_file, to_file = ROOT / name, COPY / name
        if to_file.exists() and to_file.read_bytes() == from_file.read_bytes():
            continue
        to_file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(from_file, to_file)
        shutil.copymode(from_file, to_file)
    for folder, folders, files in os.walk(COPY):
        if pathlib.Path(folder) == COPY:
            folders[:] = [name for name in folders if name != "build"]
        for name in files:
            path = pathlib.Path(folder, name)
            if str(path.relative_to(COPY)) not in kept:
                path.unlink()


def tool(command):
    environment = dict(os.environ, CCACHE_BASEDIR=str(COPY), CCACHE_NOHASHDIR="1")
    done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command[:3])}: {(done.stdout + done.stderr)[-3000:]}")


def build(tests):
    tool(["cmake", "--build", "--preset", "release", f"-j{os.cpu_count()}", "--target", *sorted(tests)])


def failures(test):
    """What fails in a test: the names of its cases, or how it ended; empty when it passes."""
    done = subprocess.run(["ctest", "--test-dir", str(BUILD), "-R", f"^{re.escape(test)}$", "--output-on-failure",
                           "--no-tests=error", "--timeout", str(TEST_SECONDS)],
                          env=dict(os.environ, GTEST_FAIL_FAST="1"), capture_output=True, text=True, errors="replace",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)))
    if done.returncode == 0:
        return []
    cases = re.findall(r"\[  FAILED  \] ([\w/.]+)(?:,| \()", done.stdout)
    return list(dict.fromkeys(cases)) or re.findall(r"\*\*\*(.+?)\s{2,}", done.stdout) or ["no word"]


def find(bug):
    """(found, what the test said) with the bug in place."""
    path = COPY / bug.file
    text = path.read_text()
    path.write_text(mutated(bug, text))
    try:
        build([bug.test])
        said = failures(bug.test)
    finally:
        path.write_text(text)
    return bool(said), ", ".join(said[:2])


def mutated(bug, text):
    if text.count(bug.old) != 1:
        raise Failed(f"{bug.name}: what it changes is {text.count(bug.old)} times in {bug.file}, not once")
    return text.replace(bug.old, bug.new)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", metavar="TEXT")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    chosen = [bug for bug in BUGS
              if not options.texts or any(text in bug.name or text in bug.file for text in options.texts)]
    if options.list:
        print("\n".join(f"{bug.name} ({bug.seen}): {bug.test}" for bug in chosen))
        return 0
    if not chosen:
        parser.error("no bug's name or file contains that")
    began = time.monotonic()
    missed = 0
    try:
        copy_sources()
        # A bug may leave a name unused.
        tool(["cmake", "--preset", "release", "--compile-no-warning-as-error", "-DKEEL_BENCH=OFF",
              "-DKEEL_UNITE_TESTS=OFF", "-DKEEL_UNITE_LIBRARY=OFF"])
        tests = {bug.test for bug in chosen}
        print(f"building {len(tests)} tests", flush=True)
        build(tests)
        for test in sorted(tests):
            if said := failures(test):
                raise Failed(f"{test} fails without a bug: {', '.join(said)}")
        print(f"without a bug {len(tests)} tests pass, {time.monotonic() - began:.0f} s", flush=True)
        for bug in chosen:
            at = time.monotonic()
            try:
                found, said = find(bug)
            except Failed as error:
                found, said = False, str(error)
            missed += not found
            print(f"{'found ' if found else 'MISSED'} {bug.name} ({bug.seen}): {bug.test}{': ' if said else ''}{said} "
                  f"({time.monotonic() - at:.0f} s)", flush=True)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(chosen) - missed} of {len(chosen)} bugs found, {time.monotonic() - began:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
