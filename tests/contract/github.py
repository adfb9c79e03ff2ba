"""GitHub's contract: what its 1,200 operations take to compile, and whether its client speaks with its service."""

import pathlib
import re
import subprocess
import tempfile

import compile_cost
import fuzzing
import npm

PACKAGE = "@octokit/openapi@23.0.2"
FILE = "generated/api.github.com.json"  # tests/contract/CMakeLists.txt looks for it where npm.py keeps it.
OPERATION_LIMIT = 60.0  # Milliseconds of CPU, on the machine of tests/yardstick.py.
SECONDS_LIMIT = 5.0  # To generate all of it,
BYTES_LIMIT = 500_000_000  # in that much memory.


def document():
    """The document, which npm fetches when it is missing."""
    return npm.fetched(PACKAGE, FILE)


def cost(build):
    """What the code of all operations takes to be generated and compiled."""
    with tempfile.TemporaryDirectory() as name:
        made = compile_cost.generate(build / "tools/keel/gen/keel_gen_alone", document(), name, ["--parts", "24"])
        compiled = compile_cost.compile_parts(pathlib.Path(name))
    score = (f"{made.operations} operations, {len(made.refused)} refused, generated in {made.seconds:.1f} s and "
             f"{made.bytes / 1e6:.0f} MB; {compiled:.1f} ms of CPU to compile each")
    return (score, compiled <= OPERATION_LIMIT and made.seconds <= SECONDS_LIMIT and made.bytes <= BYTES_LIMIT,
            f"at most {SECONDS_LIMIT:.0f} s, {BYTES_LIMIT / 1e6:.0f} MB, {OPERATION_LIMIT:.0f} ms")


def client(build):
    """The client of some operations with the service of the same document, over sockets."""
    document()
    for command in (["cmake", build], ["cmake", "--build", build, "--target", "contract_github_test"],
                    [build / "tests/contract/contract_github_test"]):
        done = subprocess.run(command, text=True, capture_output=True, timeout=1200, check=False)
        if done.returncode != 0:
            raise fuzzing.Failed((done.stdout + done.stderr).strip()[-500:])
    passed = re.search(r"\[  PASSED  \] (\d+) tests", done.stdout)
    count = int(passed[1]) if passed else 0
    return f"{count} tests pass", count != 0, "all of them"
