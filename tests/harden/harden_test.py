"""harden_test.py --compiler C++ --library ARCHIVE PROGRAM...: the programs have what KEEL_HARDEN promises, and the objects of
the library too; and a program that is made without it is found to lack all of it. What readelf says is read."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

options = argparse.Namespace()

# What the linker puts in by itself, such as crt1.o, was compiled by the system: a program has the property when that has it.
SHADOW_STACK = "shadow stack"


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def lacks(program):
    """What of it the program has not, by name."""
    header, dynamic, segments = readelf("-h", program), readelf("-d", program), readelf("-l", program)
    symbols = readelf("--dyn-syms", program)
    has = {
        "position independence": re.search(r"Type: +DYN", header) and re.search(r"FLAGS_1.*\bPIE\b", dynamic),
        "relocations read-only": "GNU_RELRO" in segments,
        "binding at the start": re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b", dynamic),
        "a stack without code": re.search(r"GNU_STACK .* RW +0x", segments),
        "stack protector": "__stack_chk_fail" in symbols,
        "fortified calls": re.search(r" __(?!stack)\w+_chk(@| |$)", symbols, re.MULTILINE),
        "assertions of the standard library": "glibcxx_assert_fail" in symbols,
    }
    return {name for name, there in has.items() if not there}


def has_shadow_stack(path):
    """Of an archive: each of its objects that has code."""
    properties = readelf("-n", path)
    objects = properties.count("\nFile: ") or 1
    return properties.count("SHSTK") >= objects


class Harden(unittest.TestCase):
    def made(self, *flags):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "made.cc").write_text(
            '#include <cstdio>\n#include <cstring>\n#include <vector>\nint main(int count, char** words) {\n'
            '  char text[64];\n  std::strcpy(text, words[count - 1]);\n  std::vector<int> numbers(9);\n'
            '  return numbers[count] + std::puts(text);\n}\n')
        subprocess.run([options.compiler, "-O2", *flags, folder / "made.cc", "-o", folder / "made"], check=True,
                       stderr=subprocess.DEVNULL)
        return folder / "made"

    def test_each_program_has_all_of_it(self):
        for program in options.programs:
            with self.subTest(program):
                self.assertEqual(lacks(program), set())

    def test_the_library_is_compiled_for_shadow_stacks(self):
        self.assertTrue(has_shadow_stack(options.library))

    def test_a_program_made_without_it_lacks_all_of_it(self):
        bare = self.made("-no-pie", "-fno-pie", "-U_FORTIFY_SOURCE", "-fno-stack-protector", "-U_GLIBCXX_ASSERTIONS",
                         "-Wl,-z,norelro,-z,lazy,-z,execstack", "-fcf-protection=none")
        self.assertEqual(lacks(bare), {
            "position independence", "relocations read-only", "binding at the start", "a stack without code",
            "stack protector", "fortified calls", "assertions of the standard library"})
        self.assertFalse(has_shadow_stack(bare))

    def test_one_thing_that_is_missing_is_noticed_alone(self):
        whole = ["-pie", "-fPIE", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", "-fstack-protector-strong",
                 "-D_GLIBCXX_ASSERTIONS", "-Wl,-z,relro,-z,now,-z,noexecstack"]
        self.assertEqual(lacks(self.made(*whole)), set())
        for name, flags in {
                "stack protector": ["-fno-stack-protector"],
                "fortified calls": ["-U_FORTIFY_SOURCE"],
                "assertions of the standard library": ["-U_GLIBCXX_ASSERTIONS"],
                "a stack without code": ["-Wl,-z,execstack"],
                "binding at the start": ["-Wl,-z,lazy"],
        }.items():
            with self.subTest(name):
                self.assertEqual(lacks(self.made(*whole, *flags)), {name})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("programs", nargs="+")
    parser.parse_args(namespace=options)
    unittest.main(argv=sys.argv[:1])
