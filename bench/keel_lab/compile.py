"""What a user's file costs the compiler: CPU seconds of its whole process tree, with the flags of the build.

A case is a text, a file of the repository, each header that a pattern finds (`headers`), or a rebuild of a target after
a file was touched. The cases take turns, round by round; nothing comes from a compiler cache.
"""

import dataclasses
import json
import os
import pathlib
import shlex
import subprocess
import tempfile

from keel_lab import judge, machine, resources, results, sides
from keel_lab.kind import Kind
from keel_lab.sides import Invalid

ROUNDS_MAX = 6  # The fewest of which an interval is judged.
SECONDS_EACH = 3.0  # A guess, for the plan.
SECONDS_MAX = 600


@dataclasses.dataclass(frozen=True)
class Source:
    name: str
    text: str = ""
    file: str = ""  # Below the repository, as `touch` is.
    headers: str = ""  # A pattern below the folders of -I: a case for each.
    touch: str = ""
    build: str = ""  # The target that is built after it.
    target: dict | None = dataclasses.field(default=None, hash=False)

    @property
    def what(self):
        return self.file or (f"{self.build} after a change of {self.touch}" if self.touch else self.text.strip())


def run(command, folder):
    """CPU seconds of it and of what it starts. Invalid when it fails."""
    with resources.Spent() as spent:
        sides.output(command, SECONDS_MAX, cwd=folder, env=os.environ | {"CCACHE_DISABLE": "1"},
                     stdin=subprocess.DEVNULL)
    return spent.children


class Build:
    """A build folder, and how it compiles."""
    def __init__(self, folder, like):
        self.folder, self.like = folder, like
        self.root = pathlib.Path(machine.build_setting(folder, "CMAKE_HOME_DIRECTORY") or ".")
        try:
            self.entries = json.loads((folder / "compile_commands.json").read_text())
        except OSError as problem:
            raise Invalid(f"{problem.filename}: {problem.strerror}") from None

    def compiler(self, file):
        """The command that compiles `file`, without what follows its flags."""
        found = next((one for one in self.entries if one["file"] == str(self.root / file)), None)
        if found is None:
            raise Invalid(f"{self.folder} does not compile {file}: configure with -DKEEL_BENCH=ON")
        words = shlex.split(found["command"])
        return words[:words.index("-o")]

    def cases(self, source):
        """{name: case} that a case of a file stands for."""
        if not source.headers:
            return {source.name: source}
        folders = [pathlib.Path(word[2:]) for word in self.compiler(self.like) if word.startswith("-I")]
        found = {str(path.relative_to(folder)) for folder in folders for path in folder.glob(source.headers)}
        return {name: Source(name, f'#include "{name}"\n', target=source.target) for name in sorted(found)}

    def seconds(self, case):
        if case.touch:
            rebuild = ["cmake", "--build", str(self.folder), "--target", case.build]
            run(rebuild, self.root)  # What was left to do before is not counted.
            os.utime(self.root / case.touch)
            return run(rebuild, self.root)
        with tempfile.TemporaryDirectory() as folder:
            file = self.root / case.file
            if not case.file:
                file = pathlib.Path(folder, "source.cc")
                file.write_text(case.text)
            return run([*self.compiler(case.file or self.like), "-o", f"{folder}/object", "-c", str(file)], self.folder)


class Compile(Kind):
    name = "compile"
    keys = {"like": str, "cases": dict, "comparisons": list}
    required = ("like", "cases")
    compared = "case"
    quantities = ("cpu_s",)
    comparison_keys = ("a", "b", "target")
    case_keys = {"text": str, "file": str, "headers": str, "touch": str, "build": str, "target": str}

    def case(self, file, name, spec, content):
        if sum(key in spec for key in ("text", "file", "headers", "touch")) != 1 or ("touch" in spec) != (
                "build" in spec):
            file.wrong(("cases", name), "exactly one of: text, file, headers, touch with build")
        return Source(name, **spec | {"target": self.target_in(file, ("cases", name), spec, "s")})

    def programs(self, one):
        return {"bench_service"}

    def seconds(self, one, settings):
        return min(settings.pairs, ROUNDS_MAX) * len(one.cases) * SECONDS_EACH

    def measured(self, one, builds, settings, found, result, progress):
        """Adds to `found`, {(variant, name): (case, seconds of each round)}."""
        count = min(settings.pairs, ROUNDS_MAX)
        step = progress.steps("compiling", count, len(builds) * self.seconds(one, settings))
        with results.refusing(result, one.id):
            made = {variant: Build(folder, one.like) for variant, folder in builds.items()}
            cases = [(variant, name, case) for variant, build in made.items() for source in one.cases.values()
                     for name, case in build.cases(source).items() if settings.wants(name)]
            for number in range(count):
                for variant, name, case in cases if number % 2 == 0 else reversed(cases):
                    took = made[variant].seconds(case)
                    found.setdefault((variant, name), (case, []))[1].append(took)
                step()

    def measure(self, one, settings, result, progress):
        found = {}
        try:
            self.measured(one, {"": settings.build}, settings, found, result, progress)
        finally:
            values = {name: took for (_, name), (_, took) in found.items()}
            for (_, name), (case, took) in found.items():
                result["values"].append(judge.value(name, case.what, "s", took, case.target))
            for row in one.comparisons:
                if row.a in values and row.b in values:
                    whole = judge.compare_rounds(values[row.a], values[row.b], "cpu_s", row.target)
                    results.add_comparison(result, row.id, row.a, row.b, "", whole)

    def seconds_of_revisions(self, one, settings):
        return 2 * self.seconds(one, settings)

    def compare(self, one, builds, settings, result, progress):
        found = {}
        try:
            self.measured(one, builds, settings, found, result, progress)
        finally:
            for name in dict.fromkeys(name for _, name in found):
                if ("head", name) in found and ("base", name) in found:
                    row = judge.compare_rounds(*(found[variant, name][1] for variant in ("head", "base")), "cpu_s")
                    results.add_comparison(result, f"{name}:cpu_s", f"{name} of head", f"{name} of base", "", row)
