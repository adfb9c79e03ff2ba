"""keel_api(): a change of a file that the document refers to generates the code again, wherever the file is; a change of
another file does not. With Ninja and with Make, where they are installed."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

GENERATOR, MODULE = None, None

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(shop LANGUAGES CXX)
add_executable(keel_gen_alone IMPORTED)
set_target_properties(keel_gen_alone PROPERTIES IMPORTED_LOCATION "{generator}")
add_library(contract INTERFACE)
add_library(keel::contract ALIAS contract)
include("{module}")
add_library(shop STATIC EXCLUDE_FROM_ALL shop.cc)
keel_api(shop "api of shop/api.yaml" PARTS 1)
"""
API = """openapi: 3.1.0
info: {title: Shop, version: '1'}
paths: {}
components: {schemas: {Pet: {$ref: '../schemas/pet.yaml'}}}
"""
PET = "{type: object, properties: {NAME: {type: string}}}\n"


class Regenerate(unittest.TestCase):
    def check(self, program, build_system):
        if shutil.which(program) is None:
            self.skipTest(f"there is no {program}")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for one in ("api of shop", "schemas"):
                (folder / one).mkdir()
            (folder / "CMakeLists.txt").write_text(PROJECT.format(generator=GENERATOR, module=MODULE))
            (folder / "shop.cc").write_text("")
            (folder / "api of shop/api.yaml").write_text(API)
            (folder / "schemas/pet.yaml").write_text(PET.replace("NAME", "old_name"))
            (folder / "schemas/other.yaml").write_text(PET)
            run = lambda *command: subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
            run("cmake", "-G", build_system, "-B", "build")
            types, stamp = folder / "build/shop_api/api/types.h", folder / "build/shop_api/generated"

            def build():
                time.sleep(0.02)  # Make compares times; these are of one clock.
                run("cmake", "--build", "build", "--target", "shop_api")
                return types.read_text(), stamp.stat().st_mtime_ns

            build()  # After the first time CMake names the headers that there are now, and Ninja makes them once more.
            text, first = build()
            self.assertIn("old_name", text)
            self.assertEqual(build()[1], first, "nothing has changed")
            time.sleep(1.1)  # Some versions of Make compare seconds.
            (folder / "schemas/other.yaml").write_text("changed")
            self.assertEqual(build()[1], first, "the document does not refer to that file")
            (folder / "schemas/pet.yaml").write_text(PET.replace("NAME", "new_name"))
            text, second = build()
            self.assertIn("new_name", text)
            self.assertNotEqual(second, first)
            self.assertEqual(build()[1], second)

    def test_with_ninja(self):
        self.check("ninja", "Ninja")

    def test_with_make(self):
        self.check("make", "Unix Makefiles")


if __name__ == "__main__":
    MODULE, GENERATOR = sys.argv.pop(), sys.argv.pop()
    unittest.main()
