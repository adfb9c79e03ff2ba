"""Documents of others, which lie beside the checkout: `keel gen api` makes C++ of each, which compiles without warnings."""

import os
import pathlib
import re
import subprocess
import tempfile

CORPUS = "../shared/corpora/openapi"
FLAGS = ["-std=c++23", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-fsyntax-only"]


def generate(build, document, folder):
    """What `keel gen api` says: its code, and its errors."""
    done = subprocess.run([build / "tools/keel/gen/keel_gen_alone", "api", document, "--out", folder, "--parts", "2"], text=True,
                          capture_output=True, timeout=60, check=False)
    return done.returncode, done.stderr


def compile_one(folder, root):
    """Compiles each part; what is wrong, and the CPU seconds that it took."""
    before = os.times()
    for part in sorted(folder.glob("api/*.cc")):
        done = subprocess.run(["g++", *FLAGS, "-I", root / "src", "-I", folder, part], text=True, capture_output=True,
                              timeout=600, check=False)
        if done.returncode != 0:
            return f"{part.name}: {done.stderr.strip()[:300]}", 0
    after = os.times()
    return None, after.children_user + after.children_system - before.children_user - before.children_system


def compile_all(build, root):
    """The score of the suite: documents, operations, CPU time of an operation."""
    corpus = root / CORPUS
    if not corpus.is_dir():
        return "skipped: there is no ../shared/corpora/openapi", True, "all compile"
    count, rejected, operations, seconds, wrong = 0, 0, 0, 0.0, []
    for document in sorted(path for path in corpus.rglob("*") if path.suffix in (".yaml", ".json")):
        name = str(document.relative_to(corpus))
        with tempfile.TemporaryDirectory() as folder:
            code, errors = generate(build, document, folder)
            if "3.2-tags-example" in name:
                # What is new in 3.2 is refused, and it says what that is.
                rejected += 1
                if code != 1 or "'kind' is not a field of a tag" not in errors:
                    wrong.append(f"{name}: is not rejected by name")
                continue
            count += 1
            if code != 0:
                wrong.append(f"{name}: {errors.strip()[:300]}")
                continue
            headers = "".join(path.read_text() for path in pathlib.Path(folder).glob("api/*.h"))
            operations += len(re.findall(r"^  virtual keel::Task<\w+Response>", headers, re.MULTILINE))
            problem, cpu = compile_one(pathlib.Path(folder), root)
            seconds += cpu
            if problem:
                wrong.append(f"{name}: {problem}")
    score = (f"{count - len(wrong)} of {count} documents, {operations} operations, "
             f"{seconds / max(operations, 1):.2f} s CPU each to be checked, {rejected} rejected by name")
    return "; ".join([score, *wrong]), not wrong and count != 0, "all compile, two of 3.2 are rejected by name"
