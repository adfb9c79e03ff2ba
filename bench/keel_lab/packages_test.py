import ast
import contextlib
import importlib.metadata
import io
import pathlib
import sys
import tempfile
import tomllib
import unittest
from unittest import mock

from keel_lab import packages


class Packages(unittest.TestCase):
    def test_the_requirements_are_pinned_and_are_what_is_imported(self):
        wanted = packages.wanted(packages.REQUIREMENTS.read_text())
        for version in wanted.values():
            self.assertRegex(version, r"^\d+(\.\d+)+$")
        imported = set()
        for file in pathlib.Path(packages.__file__).parent.glob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Import):
                    imported |= {name.name.partition(".")[0] for name in node.names}
                elif isinstance(node, ast.ImportFrom):
                    imported.add(node.module.partition(".")[0])
        of_others = imported - set(sys.stdlib_module_names) - {"keel_lab"}
        distributions = importlib.metadata.packages_distributions()
        self.assertEqual({name for module in of_others for name in distributions[module]}, set(wanted))

    def test_what_is_not_there_in_the_pinned_version_is_missing(self):
        def version(name):
            if name == "Jinja2":
                raise importlib.metadata.PackageNotFoundError
            return "1.2"

        wanted = {"PyYAML": "1.2", "Jinja2": "1.2", "MarkupSafe": "1.20"}
        self.assertEqual(packages.missing(wanted, version), ["Jinja2", "MarkupSafe"])

    def test_another_version_than_the_pinned_one_is_not_used(self):
        with tempfile.TemporaryDirectory() as folder:
            requirements = pathlib.Path(folder, "requirements.txt")
            requirements.write_text("PyYAML==0.1\n")
            with mock.patch.multiple(packages, REQUIREMENTS=requirements, FOLDER=pathlib.Path(folder, "venv")), \
                    mock.patch.object(packages, "install", side_effect=packages.Missing("planted")) as install:
                with self.assertRaisesRegex(packages.Missing, "planted"):
                    packages.enter()
        self.assertEqual(install.call_args.args[2], {"PyYAML": "0.1"})

    def test_an_older_python_is_told_what_is_needed(self):
        with mock.patch.object(sys, "version_info", (3, 10, 14)):
            with self.assertRaisesRegex(packages.Missing, r"Python 3\.11 or later is needed; .* is 3\.10"):
                packages.enter()

    def test_an_interpreter_without_venv_is_told_with_the_package_that_has_it(self):
        with tempfile.TemporaryDirectory() as folder:
            python = pathlib.Path(folder, "python")
            python.write_text(
                "#!/bin/sh\necho 'The virtual environment was not created: ensurepip is not available.' >&2\nexit 1\n")
            python.chmod(0o755)
            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaisesRegex(
                    packages.Missing, "(?s)ensurepip is not available.*python3-venv"):
                packages.install(pathlib.Path(folder, "venv"), packages.REQUIREMENTS, {"PyYAML": "1"}, str(python))
        self.assertIn("installing PyYAML 1 into", said.getvalue())

    def test_a_registry_that_cannot_be_reached_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            venv = pathlib.Path(folder, "venv")
            (venv / "bin").mkdir(parents=True)
            inner = venv / "bin/python"
            inner.write_text("#!/bin/sh\necho 'ERROR: No matching distribution found for PyYAML' >&2\nexit 1\n")
            inner.chmod(0o755)
            with contextlib.redirect_stderr(io.StringIO()), self.assertRaisesRegex(
                    packages.Missing, "(?s)No matching distribution.*registry"):
                packages.install(venv, packages.REQUIREMENTS, {"PyYAML": "1"}, "/bin/true")


class Peers(unittest.TestCase):
    """What the peers are made of is resolved from exact direct dependencies."""
    FOLDER = packages.ROOT / "bench/peers"

    def test_each_crate_is_pinned_to_one_version(self):
        files = sorted(self.FOLDER.glob("rust/*/Cargo.toml"))
        self.assertGreaterEqual(len(files), 4)
        for file in files:
            made_of = tomllib.loads(file.read_text()).get("dependencies", {})
            self.assertTrue(made_of, file)
            for name, spec in made_of.items():
                version = spec if isinstance(spec, str) else spec.get("version", "")
                self.assertRegex(version, r"^=\d+\.\d+\.\d+$", f"{file}: {name}")

    def test_each_module_of_go_is_pinned_to_one_version(self):
        files = sorted(self.FOLDER.glob("go/*/go.mod"))
        self.assertGreaterEqual(len(files), 2)
        for file in files:
            for line in file.read_text().splitlines():
                words = line.split("//")[0].split()
                if words[:1] in ([], ["module"], ["go"], ["toolchain"], [")"]) or words == ["require", "("]:
                    continue
                # A module that has never had a version is named by the time and the hash of one commit.
                self.assertRegex(words[-1], r"^v\d+\.\d+\.\d+(-\d{14}-[0-9a-f]{12})?$", f"{file}: {line}")
                self.assertNotIn("replace", words, file)
