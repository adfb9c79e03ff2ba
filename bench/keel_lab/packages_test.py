import contextlib
import io
import pathlib
import tempfile
import unittest

from keel_lab import packages


class Packages(unittest.TestCase):
    def test_the_requirements_are_pinned_and_can_be_looked_for(self):
        wanted = packages.wanted(packages.REQUIREMENTS.read_text())
        self.assertEqual(set(wanted), set(packages.IMPORTED_AS))

    def test_what_cannot_be_imported_is_missing(self):
        absent = lambda module: None if module == "jinja2" else module
        self.assertEqual(packages.missing(["PyYAML", "Jinja2"], absent), ["Jinja2"])

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
