"""sbom_test.py FILE: the SPDX document of the package is one, names what the programs are linked with, and no more."""

import copy
import json
import pathlib
import re
import sys
import unittest

PATH = pathlib.Path(sys.argv.pop(1))
SOURCES = pathlib.Path(__file__).resolve().parents[2]
# The SPDX licence list, as far as it is needed here.
LICENCES = {"Apache-2.0", "MIT", "blessing", "Zlib", "BSD-3-Clause", "GPL-2.0-only", "LGPL-2.1-or-later"}


def mistakes(document):
    """What SPDX 2.3 (clauses 6, 7 and 11) does not permit, and what would make the list useless."""
    if (document.get("spdxVersion"), document.get("dataLicense"), document.get("SPDXID")) != (
            "SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"):
        yield "no document of SPDX 2.3"
    if not document.get("name") or not re.fullmatch(r"[a-z]+:[^#\s]+", document.get("documentNamespace", "")):
        yield "no name, or no URI as its namespace"
    created = document.get("creationInfo", {})
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created.get("created", "")) or not all(
            re.match(r"(Tool|Person|Organization): \S", who) for who in created.get("creators", [""])):
        yield "not said when and by what it was made"
    identifiers = ["SPDXRef-DOCUMENT"]
    for package in document.get("packages", []):
        identifiers.append(package.get("SPDXID", ""))
        if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identifiers[-1]):
            yield f"{package}: no identifier"
        if not package.get("name") or not re.fullmatch(r"\d+(\.\d+)+\S*", package.get("versionInfo", "")):
            yield f"{package}: no name or version"
        if not re.fullmatch(r"https://\S+|NOASSERTION", package.get("downloadLocation", "")):
            yield f"{package}: not said where it is from"
        if package.get("filesAnalyzed") is not False:
            yield f"{package}: files that were analyzed would have to be listed"
        if not set(re.split(r" (?:OR|AND) ", package.get("licenseDeclared", ""))) <= LICENCES:
            yield f"{package}: a licence that SPDX does not list"
    if len(set(identifiers)) != len(identifiers):
        yield "an identifier twice"
    ends = set()
    for relation in document.get("relationships", []):
        pair = {relation.get("spdxElementId"), relation.get("relatedSpdxElement")}
        if not pair <= set(identifiers) or not relation.get("relationshipType"):
            yield f"{relation}: of what is not there"
        ends |= pair
    if ends != set(identifiers):
        yield f"nothing is said of {set(identifiers) - ends}"


class Sbom(unittest.TestCase):
    document = json.loads(PATH.read_text())

    def test_it_is_a_document_of_spdx(self):
        self.assertEqual(list(mistakes(self.document)), [])

    def test_it_has_each_library_that_is_looked_for(self):
        found = {package["name"].lower() for package in self.document["packages"]}
        wanted = {"fmt", "re2", "yaml-cpp", "sqlite", "zlib", "openssl", "libbacktrace"}
        self.assertLessEqual(wanted, found)
        self.assertEqual(found - wanted - {"keel", "brotli", "zstd", "liburing"}, set())
        looked_for = re.findall(r"find_package\((\S+)", (SOURCES / "cmake/KeelDependencies.cmake").read_text())
        self.assertEqual({name.lower().rstrip("3") for name in looked_for} - found,
                         {"threads", "pkgconfig", "gtest", "benchmark"})

    def test_each_mistake_is_noticed(self):
        def broken(change):
            document = copy.deepcopy(self.document)
            change(document)
            return list(mistakes(document))

        for change in (
                lambda d: d.update(spdxVersion="SPDX-9.9"),
                lambda d: d.pop("documentNamespace"),
                lambda d: d["creationInfo"].update(created="today"),
                lambda d: d["packages"][1].update(versionInfo=""),
                lambda d: d["packages"][1].update(licenseDeclared="free"),
                lambda d: d["packages"][1].update(SPDXID=d["packages"][2]["SPDXID"]),
                lambda d: d["packages"].pop(),
                lambda d: d["relationships"].pop(),
        ):
            self.assertTrue(broken(change))


if __name__ == "__main__":
    unittest.main()
