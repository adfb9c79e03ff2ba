#!/usr/bin/env python3
"""compile_cost.py DOCUMENT: what the code of a whole document takes to compile, by the operation.

  tests/contract/compile_cost.py api.github.com.json
  tests/contract/compile_cost.py api.github.com.json --generate client --sample 8

The document is JSON. Operations that `keel gen api` refuses are left out, and counted. CPU seconds are those of the machine
of tests/yardstick.py: what is measured is divided by how long its source takes before and after.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import yardstick  # pylint: disable=wrong-import-position

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
WARNINGS = "-O2 -Wall -Wextra -Wshadow -Werror"
GCC = "--param=ggc-min-heapsize=524288"  # What keel_api() gives GCC.
OPERATION = r"^(?:constexpr keel::contract::Route routes::\w+ =|keel::Task<.*> \w+Client::\w+\()"  # In a part.


def operations_of(document):
    """Each with the pointer to it."""
    return {f"/paths/{path.replace('~', '~0').replace('/', '~1')}/{method}": operation
            for path, item in document["paths"].items() for method, operation in item.items() if method in METHODS}


def references_of(node):
    """The pointers that it has in it."""
    found, left = set(), [node]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if isinstance(one.get("$ref"), str):
                found.add(one["$ref"].removeprefix("#"))
            left += one.values()
        elif isinstance(one, list):
            left += one
    return found


def reached_by(document, node):
    """All that it refers to, directly or not."""
    found, left = set(), references_of(node)
    while left:
        one = left.pop()
        if one in found:
            continue
        found.add(one)
        at = document
        for step in one.split("/")[1:]:
            at = at[step.replace("~1", "/").replace("~0", "~")]
        left |= references_of(at)
    return found


@dataclasses.dataclass
class Generated:
    """What `keel gen api` has made, how long its last run took on a clock, and the most memory that a run took."""

    operations: int
    refused: set
    seconds: float
    bytes: int


def generate(program, path, out, options):
    """Makes the code of all operations that are not refused."""
    document = json.loads(path.read_text(encoding="utf-8-sig"))
    operations = operations_of(document)
    reached = {pointer: reached_by(document, operation) for pointer, operation in operations.items()}
    refused = set()
    while True:
        ids = [one["operationId"] for pointer, one in operations.items() if pointer not in refused]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        done = subprocess.run([program, "api", path, "--out", out, "--operations", ",".join(ids), *options], text=True,
                              capture_output=True, check=False)
        wall = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode == 0:
            return Generated(len(ids), refused, wall, max(before.ru_maxrss, after.ru_maxrss) * 1024)
        more = set()
        for line in done.stderr.splitlines():
            # The place of the error is named last; what it refers to may stand before it.
            places = re.findall(r"\(#(/[^)]*)\)", line) if ": error:" in line else []
            if not places:
                continue
            more |= {pointer for pointer, found in reached.items()
                     if any((places[-1] + "/").startswith(one + "/") for one in {pointer, *found})}
            more |= {pointer for pointer in operations if pointer.startswith(places[-1] + "/")}
        if not more - refused:
            sys.exit(f"keel gen api refuses it:\n{done.stderr[-2000:]}")
        refused |= more


def compile_parts(folder, compiler="g++", options=f"{WARNINGS} {GCC}", sample=1):
    """Milliseconds of CPU for an operation. Prints a line for each part."""
    command = [compiler, "-std=c++23", *options.split(), f"-I{ROOT / 'src'}", f"-I{folder}", "-c", "-o", os.devnull]
    cost, compiled = 0.0, 0
    for part in sorted(folder.glob("api/part_*.cc"))[::sample]:
        mine = len(re.findall(OPERATION, part.read_text(), re.MULTILINE))
        before = yardstick.measure(compiler)
        taken = sum(yardstick.cpu_seconds([*command, part]))
        around = (before + yardstick.measure(compiler)) / 2
        scaled = taken * yardstick.SECONDS / around
        print(f"{part.name}: {mine} operations, {taken:.2f} s, {scaled:.2f} s scaled", flush=True)
        cost, compiled = cost + scaled, compiled + mine
    return 1000 * cost / max(compiled, 1)


def main():
    """Prints a line for each part, and the score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("document", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/tools/keel/gen/keel_gen_alone")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--options", help="of the compiler")
    parser.add_argument("--parts", type=int, default=24)
    parser.add_argument("--generate", default="server", choices=["server", "client"])
    parser.add_argument("--sample", type=int, default=1, help="compile one part of this many")
    parser.add_argument("--keep", type=pathlib.Path, help="the folder for the code, which is kept there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or pathlib.Path(name)
        made = generate(options.program, options.document, folder,
                        ["--parts", str(options.parts), "--generate", options.generate])
        print(f"{made.operations} operations, {len(made.refused)} refused, generated in {made.seconds:.2f} s and "
              f"{made.bytes / 1e6:.0f} MB", flush=True)
        is_gcc = "clang" not in options.compiler
        cost = compile_parts(folder, options.compiler, options.options or f"{WARNINGS} {GCC if is_gcc else ''}",
                             options.sample)
        print(f"{cost:.1f} ms of CPU for an operation")
    return 0


if __name__ == "__main__":
    sys.exit(main())
