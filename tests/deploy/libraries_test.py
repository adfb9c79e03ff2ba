"""The run-time libraries that docs/deploy.md lists, and the packages that the Containerfile of keel new installs, are those
that a service links: libraries_test.py PROGRAM REPOSITORY."""

import os
import re
import shutil
import subprocess
import sys
import unittest

PROGRAM = REPOSITORY = ""
# Which the example does without: compression, and patterns.
WHERE_USED = {"libz", "libbrotlienc", "libbrotlidec", "libbrotlicommon", "libzstd", "libre2"}
# What Debian 13's libre2 needs: its package brings them.
SECOND_HAND = "libabsl_"
# The roots by which clients of https verify servers.
ROOTS = {"ca-certificates"}
# The system's own: in every image, and of no package that the Containerfile names.
BASE = {"libstdc++", "libgcc_s", "libc", "libm", "the loader"}


def read(path):
    with open(os.path.join(REPOSITORY, path), encoding="utf-8") as file:
        return file.read()


def table():
    """Rows of the page: names of libraries, and the packages of Debian 12 and 13."""
    rows = []
    section = read("docs/deploy.md").split("## Install the libraries")[1].split("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 4 or cells[0] in ("library", "---"):
            continue
        names = [name.strip("` ") for name in cells[0].split(",")]
        old = re.findall(r"`([^`]+)`", cells[1])
        new = old if cells[2] == "the same" else re.findall(r"`([^`]+)`", cells[2])
        rows.append((names, {"12": old, "13": new}))
    return rows


def linked():
    """The libraries by their names without versions, and where each is."""
    said = subprocess.run(["ldd", PROGRAM], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for name, path in re.findall(r"^\s*(\S+) => (/\S+) \(0x", said, re.M):
        if not name.startswith(SECOND_HAND):
            found[name.split(".so")[0]] = path
    for path in re.findall(r"^\s*(/\S+) \(0x", said, re.M):
        found["the loader"] = path
    return found


def installed():
    """Those, and the ones for compression that this machine has."""
    found = linked()
    said = subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, text=True, check=False).stdout
    for name, path in re.findall(r"^\s*(\S+)\.so\.\d+ \(.*\) => (/\S+)", said, re.M):
        if name in WHERE_USED:
            found.setdefault(name, path)
    return found


class TheRunTimeLibraries(unittest.TestCase):
    def test_are_those_of_the_page(self):
        listed = {name for names, _ in table() for name in names}
        self.assertEqual(listed - WHERE_USED, set(linked()) - WHERE_USED)
        self.assertLessEqual(WHERE_USED, listed)

    def test_are_in_the_packages_that_the_page_names(self):
        with open("/etc/os-release", encoding="utf-8") as file:
            debian = re.search(r'^ID=debian$.*^VERSION_ID="(12|13)"$|^VERSION_ID="(12|13)"$.*^ID=debian$', file.read(),
                               re.M | re.S)
        if not debian or not shutil.which("dpkg"):
            self.skipTest("this is neither Debian 12 nor 13")
        version = debian[1] or debian[2]
        owners = {}
        for name, path in installed().items():
            real = os.path.realpath(path)
            said = ""
            for one in (real, real.removeprefix("/usr"), path):
                said = subprocess.run(["dpkg", "-S", one], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                      check=False).stdout
                if said:
                    break
            owners[name] = said.split(":")[0]
        for names, packages in table():
            for name in names:
                if name not in owners:
                    continue  # Not installed here, and not linked.
                self.assertIn(owners[name].removesuffix("t64"), {one.removesuffix("t64") for one in packages[version]}, name)

    def test_are_installed_by_the_containerfile(self):
        install = re.search(r"--no-install-recommends \\\n(.*?)\n &&", read("tools/keel/new/template/Containerfile"), re.S)
        wanted = {package for names, packages in table() if not set(names) & BASE for package in packages["12"]}
        self.assertEqual(set(install[1].replace("\\", "").split()), wanted | ROOTS)

    def test_are_installed_by_the_command_of_mmdebstrap(self):
        include = re.search(r"mmdebstrap .*--include=(\S+)", read("docs/deploy.md"))
        self.assertEqual(sorted(include[1].split(",")), sorted(one for _, packages in table() for one in packages["12"]))


if __name__ == "__main__":
    PROGRAM, REPOSITORY = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
