"""Contracts of services that others run, as npm has them: the code of each is made and compiled without a warning."""

import pathlib
import tempfile

import compile_cost
import documents
import npm

# A package, its document, and how many of its operations use what is not supported. docs/contract.md names that.
DOCUMENTS = [
    ("@digdir/dialogporten-schema@1.118.6", "swagger.verified.json", 10),
    ("@directus/specs@15.2.0", "dist/openapi.json", 4),
    ("@gitbook/api@0.202.0", "spec/openapi.json", 16),
    ("@ideal-postcodes/openapi@4.21.0", "dist/openapi.json", 0),
    ("@scalar/galaxy@0.2.20", "dist/3.1.json", 0),
    ("rclone-openapi@1.75.0", "openapi.json", 9),
]


def compile_all(build, root):
    """The score of the suite: documents, operations, those that are refused, CPU time of an operation to be checked."""
    operations, refused, seconds, wrong = 0, 0, 0.0, []
    for package, file, expected in DOCUMENTS:
        with tempfile.TemporaryDirectory() as name:
            made = compile_cost.generate(build / "tools/keel/gen/keel_gen_alone", npm.fetched(package, file), name,
                                         ["--parts", "4", "--generate", "server,client"])
            operations, refused = operations + made.operations, refused + len(made.refused)
            if len(made.refused) != expected:
                wrong.append(f"{package}: {len(made.refused)} operations are refused, and {expected} were")
            problem, cpu = documents.compile_one(pathlib.Path(name), root)
            seconds += cpu
            if problem:
                wrong.append(f"{package}: {problem}")
    score = (f"{len(DOCUMENTS)} documents, {operations} operations, {refused} more refused by name, "
             f"{seconds / max(operations, 1):.2f} s CPU each to be checked")
    return "; ".join([score, *wrong]), not wrong, "all compile, and no more is refused"
