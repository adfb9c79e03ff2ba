"""Runs the lab's own tests: every *_test.py beside it."""

import argparse
import pathlib
import signal
import sys
import unittest

SUMMARY = "does the lab notice what it must notice? Its own tests"
BUILD = pathlib.Path()  # Where bench_client was built; set before the tests run.


def main(arguments):
    global BUILD
    parser = argparse.ArgumentParser(prog="bench/lab self-test", description=SUMMARY)
    folder = pathlib.Path(__file__).resolve().parent
    parser.add_argument("--build", type=pathlib.Path, default=folder.parents[1] / "build/release",
                        help="where the clients were built")
    parser.add_argument("--only", metavar="TEXT", help="only tests whose name contains TEXT")
    options = parser.parse_args(arguments)
    BUILD = options.build.resolve()
    if not (BUILD / "bench/bench_client").exists():
        parser.error(f"no bench/bench_client under {BUILD}: configure with -DKEEL_BENCH=ON and build, or give --build")
    # Who runs this in the background may have it ignored, and the tests interrupt themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    loader = unittest.TestLoader()
    if options.only:
        loader.testNamePatterns = [f"*{options.only}*"]
    suite = loader.discover(str(folder), pattern="*_test.py", top_level_dir=str(folder.parent))
    result = unittest.TextTestRunner(verbosity=1, stream=sys.stdout).run(suite)
    if result.testsRun == 0:
        print("no test was run")
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1
