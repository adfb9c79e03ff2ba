"""A handler of examples/products is changed: how long until the service that has the change answers."""

import os
import resource
import subprocess
import time
import urllib.error
import urllib.request

import compile_cost
import fuzzing
import yardstick

SOURCE = compile_cost.ROOT / "examples/products/products.cc"
BEFORE = b"there is no product with this id"
LIMIT = 4.0  # Seconds, on the machine of tests/yardstick.py.


def cpu_seconds():
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(what):
    """On a clock, and of CPU."""
    begin, before = time.monotonic(), cpu_seconds()
    what()
    return time.monotonic() - begin, cpu_seconds() - before


def build_products(build):
    """Without the compiler cache, which could know the change from an earlier run."""
    done = subprocess.run(["cmake", "--build", build, "--target", "products"], text=True, capture_output=True,
                          check=False, timeout=1200, env={**os.environ, "CCACHE_DISABLE": "1"})
    if done.returncode != 0:
        raise fuzzing.Failed(done.stdout[-500:])


def changed(build):
    """The score: from the change to its answer, in which the text stands that was changed."""
    build_products(build)
    original = SOURCE.read_bytes()
    around = timed(yardstick.measure)[0]
    begin = time.monotonic()
    after = b"there is none with this id"
    try:
        SOURCE.write_bytes(original.replace(BEFORE, after))
        compiled, cpu = timed(lambda: build_products(build))
        with fuzzing.served(build, "products") as url:
            try:
                urllib.request.urlopen(url + "/products/4711", timeout=10)
                raise fuzzing.Failed("there is a product in an empty database")
            except urllib.error.HTTPError as error:
                is_new = after in error.read()
            wall = time.monotonic() - begin
    finally:
        SOURCE.write_bytes(original)
        build_products(build)
    around = (around + timed(yardstick.measure)[0]) / 2
    scaled = wall * yardstick.CLOCK_SECONDS / around
    score = (f"{wall:.2f} s ({compiled:.2f} s to build, {cpu:.2f} s of CPU), {scaled:.2f} s where the yardstick takes "
             f"{yardstick.CLOCK_SECONDS:.2f} s instead of {around:.2f} s")
    if not is_new:
        score += "; the change is not there"
    return score, is_new and scaled <= LIMIT, f"at most {LIMIT:.0f} s"
