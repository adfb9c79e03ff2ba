#!/usr/bin/env python3
"""What the programs of others say of contracts: a table of scores.

  make contract-conformance                        builds what is needed, and runs this
  tests/contract/suites.py [--build build/release] [--only TEXT] [--sample]

--sample is what .ci/run has a minute for. Code 1 when a score is below what is demanded.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import documents
import fuzzing
import generated
import github
import handler_cost
import mutations
import published

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = ROOT / "build/contract-tools"
DIFF = pathlib.Path(__file__).with_name("diff")

OASDIFF = "github.com/oasdiff/oasdiff@v1.36.0"  # A Go module; some minutes to build, once.
OPTIONS = ["--flatten-allof", "--flatten-params", "--fail-on", "ERR"]


def oasdiff():
    """The program, which is built when it is missing or of another version."""
    folder = TOOLS / OASDIFF.replace("/", "_")
    program = folder / "oasdiff"
    if not program.exists():
        if shutil.which("go") is None:
            raise fuzzing.Failed("needs Go (1.21 or later, which fetches the version that oasdiff wants)")
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["go", "install", OASDIFF], env={**os.environ, "GOBIN": str(folder)}, text=True,
                              capture_output=True, timeout=1800, check=False)
        if done.returncode != 0:
            raise fuzzing.Failed(f"go install: {done.stderr.strip()[-300:]}")
    return program


def verdicts(_build):
    """Whether oasdiff still says of each change of diff/mutations.txt what stands there."""
    program = oasdiff()
    before = (DIFF / "shop.yaml").read_text()
    all_of_them = mutations.read((DIFF / "mutations.txt").read_text(), before)
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        old, new = pathlib.Path(name) / "old.yaml", pathlib.Path(name) / "new.yaml"
        old.write_text(before)
        for mutation in all_of_them:
            new.write_text(mutation.document)
            for way, files in (("forward", (old, new)), ("back", (new, old))):
                done = subprocess.run([program, "breaking", *OPTIONS, *files], text=True, capture_output=True,
                                      timeout=60, check=False)
                if done.returncode not in (0, 1):
                    raise fuzzing.Failed(f"{mutation.name}, {way}: {done.stderr.strip()[-300:]}")
                verdict = "breaking" if done.returncode == 1 else "compatible"
                if verdict != mutation.verdicts[way]:
                    wrong.append(f"{mutation.name}: {way} {verdict}")
    count = 2 * len(all_of_them)
    return "; ".join([f"{count - len(wrong)} of {count}", *wrong]), not wrong, f"{count} of {count}"


def own_verdicts(build):
    """Whether `keel api diff` agrees, unless a reason is given there."""
    done = subprocess.run([build / "tests/contract/contract_diff_test"], text=True, capture_output=True, timeout=120,
                          check=False)
    score = next((line for line in done.stdout.splitlines() if line.endswith("verdicts are equal")), done.stdout[-300:])
    return score, done.returncode == 0, "95 %, the others with a reason"


def first_contract(build):
    """What `keel api init` writes of a service whose tests have recorded what they ask: `keel api lint` finds nothing."""
    with tempfile.TemporaryDirectory() as name:
        records, document = pathlib.Path(name) / "records", pathlib.Path(name) / "api.yaml"
        done = subprocess.run([build / "tests/contract/contract_record_new", "--gtest_brief=1"], text=True,
                              env={**os.environ, "KEEL_RECORD_CONTRACT": str(records)}, capture_output=True,
                              timeout=300, check=False)
        if done.returncode != 0:
            raise fuzzing.Failed(f"its tests: {done.stdout[-300:]}")
        keel = build / "tools/keel/keel"
        for command in (["init", "--records", records, "--out", document, "--title", "notes"], ["lint", document]):
            done = subprocess.run([keel, "api", *command], text=True, capture_output=True, timeout=60, check=False)
            if done.returncode != 0:
                raise fuzzing.Failed((done.stderr or done.stdout)[-300:])
        text = document.read_text()
        untested = text.count("No test has called this operation")
        score = f"{text.count('operationId:')} operations, {untested} of them untested, {done.stdout.strip()}"
        return score, "0 errors, 0 warnings" in done.stdout, "0 errors, 0 warnings"


# What each bug of planted.cc is: how schemathesis calls the failure.
PLANTED = {
    "status": "Undocumented status code",
    "type": "Response violates schema",
    "edge": "Server error",
}
PHASES = {"Examples", "Coverage", "Fuzzing", "Stateful"}


def fuzz(serve, headers=(), seeds=range(1, 6), examples=200):
    """Runs of schemathesis, each against a service of its own, whose URL `serve()` gives."""
    fuzzing.install()
    count, found, left_out = 0, set(), set()
    for seed in seeds:
        with serve() as url:
            failures, phases, requests = fuzzing.run(url, seed, examples, headers)
        count += requests
        found |= {f"seed {seed}: {one}" for one in failures}
        left_out |= PHASES - phases
    score = "; ".join([f"{len(found)} failures in {count} requests", *sorted(found)])
    if left_out:
        score += f"; not run: {', '.join(sorted(left_out))}"
    return score, not found and not left_out, (f"0 failures, {len(seeds)} {'seeds' if len(seeds) > 1 else 'seed'}, "
                                               f"{examples} examples an operation, all phases")


def products(build, seeds=range(1, 6), examples=200):
    """The smallest example from its contract: whatever is sent, it answers as the contract says."""
    return fuzz(lambda: fuzzing.served(build, "products"), seeds=seeds, examples=examples)


def fullstack(build):
    """The example that `make run` serves."""
    return fuzz(lambda: fuzzing.served(build, "fullstack"))


def orders(build):
    """The example with an administrator, uploads and another server, which declines every third payment."""
    return fuzz(lambda: fuzzing.shop(build), [f"Authorization: Bearer {fuzzing.ADMIN_TOKEN}"])


def planted(build, bugs=("", *PLANTED), examples=50):
    """The same with a bug in it: schemathesis finds that, and without it nothing."""
    fuzzing.install()
    wrong = []
    for bug in bugs:
        with fuzzing.served(build, "products", program="tests/contract/contract_planted", PLANTED_BUG=bug) as url:
            failures, _, _ = fuzzing.run(url, 1, examples)
        if PLANTED[bug] not in failures if bug else failures:
            wrong.append(f"{bug or 'none'}: {', '.join(failures) or 'nothing is found'}")
    return ("; ".join([f"{len(bugs) - len(wrong)} of {len(bugs)}", *wrong]), not wrong,
            "each that is put in is found, and nothing without one")


def real_documents(build):
    """Contracts of others: their code is made, and the compiler has nothing to say of it."""
    return documents.compile_all(build, ROOT)


def published_documents(build):
    """Contracts of services that others run: what is not supported is refused by name, the rest compiles."""
    return published.compile_all(build, ROOT)


def at_random(build):
    """Generated code under sanitizers, for schemas and values at random."""
    return generated.at_random(build, ROOT)


def products_sample(build):
    """One seed of it."""
    return products(build, range(1, 2), 10)


def planted_sample(build):
    """The bug at an edge."""
    return planted(build, ("edge",), 10)


SUITES = [
    ("oasdiff 1.36.0: the verdicts that are kept", verdicts),
    ("keel api diff: the verdicts of oasdiff", own_verdicts),
    ("keel api init: what keel new writes", first_contract),
    ("schemathesis 4.32.5: examples/products", products),
    ("schemathesis 4.32.5: examples/fullstack", fullstack),
    ("schemathesis 4.32.5: examples/orders", orders),
    ("schemathesis 4.32.5: bugs that are put in", planted),
    ("keel gen api: documents of others", real_documents),
    ("keel gen api: contracts of services, published", published_documents),
    ("keel gen api: GitHub's contract, compiled", github.cost),
    ("keel gen api: GitHub's client asks its service", github.client),
    ("a handler of examples/products, changed: until it answers", handler_cost.changed),
    ("JSON-Schema-Test-Suite: structs that are generated", generated.suite),
    ("schemas at random: structs that are generated", at_random),
]
SAMPLE = [
    ("keel api diff: the verdicts of oasdiff", own_verdicts),
    ("schemathesis 4.32.5: examples/products", products_sample),
    ("schemathesis 4.32.5: a bug that is put in", planted_sample),
]


def main():
    """Runs the suites, and prints their table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--only", default="", help="suites whose name has this text")
    parser.add_argument("--sample", action="store_true", help="a minute instead of a quarter of an hour")
    options = parser.parse_args()
    is_good = True
    for name, suite in SAMPLE if options.sample else SUITES:
        if options.only not in name:
            continue
        try:
            score, is_enough, demanded = suite(options.build.resolve())
        except (fuzzing.Failed, subprocess.TimeoutExpired) as error:
            score, is_enough, demanded = str(error), False, "a score"
        is_good = is_good and is_enough
        print(f"{'ok  ' if is_enough else 'FAIL'}  {name}: {score} (demanded: {demanded})", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
