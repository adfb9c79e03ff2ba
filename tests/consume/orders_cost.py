#!/usr/bin/env python3
"""What examples/orders takes to build against an installed Keel: from nothing, and after one handler has changed. Prints the
figures, and fails where one misses its limit. The limits are for two cores with nothing else to do, and for the machine of
tests/yardstick.py: a slower one has as much more. On a busy machine, see the seconds of CPU.

  tests/consume/orders_cost.py --prefix PREFIX [--scratch FOLDER] [--compiler g++] [--type Debug] [--rounds 3]
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

import author

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import yardstick  # pylint: disable=wrong-import-position

COLD_SECONDS_MAX = 15
CHANGED_SECONDS_MAX = 4
# The example is built by its own CMakeLists.txt, in which these are Keel's own for its sources and tests.
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(orders LANGUAGES C CXX)
find_package(keel 0.1 REQUIRED)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_options(-Wall -Wextra -Wshadow)
function(keel_options target)
endfunction()
function(keel_precompile_library target)
endfunction()
function(keel_test)
endfunction()
add_subdirectory(orders)
"""


def run(command):
    """Without the compiler cache, which could know the sources from an earlier run."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          env={**os.environ, "CCACHE_DISABLE": "1"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")


class Orders:
    def __init__(self, options):
        self.folder = pathlib.Path(options.scratch).resolve()
        self.build = self.folder / "build"
        self.compiler = options.compiler
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(ROOT / "examples/orders", self.folder / "orders")
        (self.folder / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
        run(["cmake", "-G", "Ninja", "-S", str(self.folder), "-B", str(self.build),
             f"-DCMAKE_PREFIX_PATH={os.path.abspath(options.prefix)}", f"-DCMAKE_CXX_COMPILER={options.compiler}",
             f"-DCMAKE_BUILD_TYPE={options.type}", "-DCMAKE_CXX_FLAGS_RELEASE=-O2"])

    def clean(self):
        run(["cmake", "--build", str(self.build), "--target", "clean"])

    def change_a_handler(self):
        source = self.folder / "orders/orders.cc"
        text = source.read_text(encoding="utf-8")
        assert text.count('"/orders/" +') == 1
        source.write_text(text.replace('"/orders/" +', f'"/orders/" + std::string("{time.monotonic_ns()}") +'), "utf-8")
        return lambda: source.write_text(text, "utf-8")

    def timed_build(self):
        """Wall seconds, those of the machine of the yardstick, and of CPU."""
        before = author.child_cpu(), time.monotonic()
        run(["cmake", "--build", str(self.build), "--target", "orders", "-j2"])
        wall, cpu = time.monotonic() - before[1], author.child_cpu() - before[0]
        begin = time.monotonic()
        yardstick.measure(self.compiler)
        around = time.monotonic() - begin
        return wall / max(1.0, around / yardstick.CLOCK_SECONDS), wall, cpu


def say(what, found, limit):
    """Whether the best of the rounds, in which the machine was least disturbed, is within the limit."""
    scaled, wall, cpu = min(found)
    print(f"{what}: {scaled:.1f} s (at most {limit}); {wall:.1f} s on the clock, {cpu:.1f} s of CPU", flush=True)
    return scaled <= limit


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--scratch", default="build/dev-check/orders")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--type", default="Debug", choices=["Debug", "Release"])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    orders = Orders(options)
    cold, changed = [], []
    for _ in range(options.rounds):
        orders.clean()
        cold.append(orders.timed_build())
        undo = orders.change_a_handler()
        changed.append(orders.timed_build())
        undo()
    good = [say("examples/orders built from nothing", cold, COLD_SECONDS_MAX),
            say("after a change of one handler", changed, CHANGED_SECONDS_MAX)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
