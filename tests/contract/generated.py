"""Generated code with values: those of JSON-Schema-Test-Suite, and documents, schemas and values at random."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import fuzzing

CASES = pathlib.Path(__file__).with_name("cases")
WARNINGS = ["-std=c++23", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
# What tries the structs is no generated code, and with sanitizers GCC takes more for uninitialized than is.
HARNESS = [*WARNINGS, "-Wno-maybe-uninitialized"]
SANITIZERS = ["-O1", "-g1", "-ffunction-sections", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
              "-D_GLIBCXX_ASSERTIONS"]


def last_line(done):
    """What a program has counted, or why it failed."""
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[-1] if lines else f"code {done.returncode}"


def suite(build):
    """All schemas of JSON-Schema-Test-Suite of which the generator makes structs, on all of their values."""
    program = build / "tests/contract/contract_suite_whole"
    if not program.exists():
        return "skipped: there is no JSON-Schema-Test-Suite in the corpora", True, "0 wrong"
    done = subprocess.run([program, build / "tests/contract/suite_whole/values.txt"], text=True, capture_output=True,
                          timeout=300, check=False)
    return last_line(done), done.returncode == 0, "0 wrong"


def library(root, compiler, folder):
    """The library that generated readers call, with the sanitizers: a source for each module; nothing of it serves."""
    contract = [root / "src/keel/contract" / f"{name}.cc" for name in
                ("formats", "regex", "schema", "schema_ahead", "internal/values", "internal/words")]
    objects = []
    for module in ("base", "data", "contract"):
        sources = contract if module == "contract" else sorted(
            path for pattern in ("*.cc", "internal/*.cc") for path in (root / "src/keel" / module).glob(pattern)
            if not re.search(r"_(test|bench|fuzz|must_not_compile)\.cc$|^record", path.name))  # Nothing generated has a Record.
        united = folder / f"{module}.cc"
        united.write_text("".join(f'#include "{path}"\n' for path in sources))
        objects.append(compile_one(compiler, root, folder, united, []))
    return objects


def compile_one(compiler, root, folder, source, options):
    """The object of a source."""
    out = folder / (str(source.relative_to(folder)).replace("/", "_") + ".o")
    done = subprocess.run([*compiler, *SANITIZERS, "-std=c++23", *options, f"-I{root / 'src'}", f"-I{CASES}",
                           f"-I{folder}", "-c", source, "-o", out], text=True, capture_output=True, timeout=1200,
                          check=False)
    if done.returncode != 0:
        raise fuzzing.Failed(f"{source.name}: {done.stderr.strip()[:500]}")
    return out


def at_random(build, root, seeds=range(1, 11), documents=1, schemas=15, values=400):
    """Documents by seed: generated readers, checks and writers against the validator by the book, under ASan and UBSan. Every
    value is a part of a request and of a response: properties that are readOnly and writeOnly are in half of the documents."""
    compiler = [*([shutil.which("ccache")] if shutil.which("ccache") else []), os.environ.get("CXX", "g++")]
    counts, wrong = [0, 0, 0], []
    with tempfile.TemporaryDirectory() as name:
        shared = pathlib.Path(name) / "library"
        shared.mkdir()
        objects = library(root, compiler, shared)
        for seed in seeds:
            folder = pathlib.Path(name) / str(seed)
            folder.mkdir()
            done = subprocess.run([build / "tests/contract/contract_cases_random", str(seed), str(documents), str(schemas),
                                   str(values), folder], text=True, capture_output=True, timeout=300, check=False)
            if done.returncode != 0:
                wrong.append(f"seed {seed}: {last_line(done)}")
                continue
            shutil.copy(CASES / "run.cc", folder)
            parts = sorted(folder.glob("*/part_1.cc"))
            own = [compile_one(compiler, root, folder, part, WARNINGS) for part in parts]
            own += [compile_one(compiler, root, folder, folder / file, HARNESS) for file in ("table.cc", "run.cc")]
            program = folder / "program"
            # mount() is generated as well. Nothing calls it, so the linker drops it, and `objects` need no server.
            linked = subprocess.run([*compiler, *SANITIZERS, "-Wl,--gc-sections", *own, *objects, "-o", program, "-lre2",
                                     "-lfmt", "-lpthread", "-lbacktrace"], text=True, capture_output=True, timeout=300,
                                    check=False)
            if linked.returncode != 0:
                raise fuzzing.Failed(linked.stderr.strip()[-500:])
            ran = subprocess.run([program, folder / "values.txt"], text=True, capture_output=True, timeout=600, check=False)
            found = re.search(r"(\d+) structs, (\d+) values, (\d+) of them valid", ran.stdout)
            if ran.returncode != 0 or found is None:
                wrong.append(f"seed {seed}: {last_line(ran)}: {ran.stdout[:300]}")
            if found is not None:
                counts = [count + int(more) for count, more in zip(counts, found.groups())]
    score = f"{counts[0]} structs, {counts[1]} values, {counts[2]} of them valid: {len(wrong)} seeds with faults"
    return "; ".join([score, *wrong]), not wrong, "0 seeds with faults"
