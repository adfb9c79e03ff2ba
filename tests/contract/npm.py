"""Documents of others, which npm fetches once, in the version that is named."""

import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import fuzzing

TOOLS = fuzzing.ROOT / "build/contract-tools"


def place_of(package, file):
    """Where the document of a package, such as @octokit/openapi@23.0.2, is kept."""
    return TOOLS / re.sub(r"[/@]", "_", package).lstrip("_") / pathlib.PurePath(file).name


def fetched(package, file):
    """The document, which npm fetches when it is missing."""
    path = place_of(package, file)
    if path.exists():
        return path
    if shutil.which("npm") is None:
        raise fuzzing.Failed("needs npm")
    with tempfile.TemporaryDirectory() as name:
        done = subprocess.run(["npm", "pack", "--silent", package], cwd=name, text=True, capture_output=True, timeout=600,
                              check=False)
        if done.returncode != 0:
            raise fuzzing.Failed(f"npm pack {package}: {done.stderr.strip()[-300:]}")
        with tarfile.open(next(pathlib.Path(name).glob("*.tgz"))) as archive:
            text = archive.extractfile(f"package/{file}").read()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")  # Whole or not at all: a run that is interrupted leaves no half of it.
    part.write_bytes(text)
    part.rename(path)
    return path
