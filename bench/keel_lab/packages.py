"""The Python packages of bench/requirements.txt: used where just these versions are there, else installed into
build/lab-venv.

Imports nothing of them itself: it runs before they exist. Also read by a Python that is too old, which it tells.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "bench/requirements.txt"
FOLDER = ROOT / "build/lab-venv"
PYTHON_MIN = (3, 11)


class Missing(Exception):
    """The packages cannot be had; the text says what to do."""


def wanted(text):
    """{package: version} of a requirements file, each pinned, with the hashes of its files on the lines after it."""
    lines = (line.partition("#")[0].strip() for line in text.replace("\\\n", " ").splitlines())
    return dict(line.split()[0].split("==") for line in lines if line)


def missing(packages, version=None):
    """Those of {package: version} that are not there in that version."""
    import importlib.metadata  # Not above: the oldest that are told so have none.
    version = version or importlib.metadata.version

    def there(name):
        try:
            return version(name)
        except importlib.metadata.PackageNotFoundError:
            return None

    return [name for name, pinned in packages.items() if there(name) != pinned]


def reason(done):
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip() and "[notice]" not in line]
    return lines[-1].strip() if lines else f"it ended with {done.returncode}"


def install(folder, requirements, packages, python=sys.executable):
    """Makes `folder` a virtual environment that has them. Missing with the reason when that is not possible."""
    run = lambda *command: subprocess.run(command, capture_output=True, text=True)
    print(f"bench/lab: installing {', '.join(f'{name} {version}' for name, version in packages.items())} into {folder}",
          file=sys.stderr,
          flush=True)
    done = run(python, "-m", "venv", str(folder))
    if done.returncode != 0:
        raise Missing(f"no virtual environment could be made: {reason(done)}\n"
                      "Debian has what it takes in python3-venv: scripts/setup bench installs it.")
    done = run(str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
               "--require-hashes", "--only-binary=:all:", "--requirement", str(requirements))
    if done.returncode != 0:
        raise Missing(
            f"pip could not install {requirements.name}: {reason(done)}\n"
            "Is the package registry to be reached (pip config list)? Or install the packages into the system.")


def enter():
    """Goes on in build/lab-venv when this interpreter lacks a package; returns when all are there. Missing, too, when
    the interpreter is too old."""
    if sys.version_info[:2] < PYTHON_MIN:
        raise Missing("Python {}.{} or later is needed; {} is {}.{}".format(
            *PYTHON_MIN, sys.executable, *sys.version_info[:2]))
    packages = wanted(REQUIREMENTS.read_text())
    if not missing(packages):
        return
    python = FOLDER / "bin/python"
    if pathlib.Path(sys.prefix).resolve() == FOLDER.resolve():
        raise Missing(f"{FOLDER} lacks {', '.join(missing(packages))}: delete it and try again")
    complete = FOLDER / "installed"  # What is in there; another list is another installation.
    if not complete.exists() or complete.read_text() != REQUIREMENTS.read_text():
        install(FOLDER, REQUIREMENTS, packages)
        complete.write_text(REQUIREMENTS.read_text())
    os.execv(python, [str(python), *sys.argv])
