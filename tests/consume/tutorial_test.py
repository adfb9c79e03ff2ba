"""docs/tutorial.md, followed word by word against an installed Keel: its commands, its SQL and its C++, in the order of the
page, and the responses that the page describes.

The service is the one that new_test.py has built; where there is none, it is built first. `keel dev` is not part of it
(new_test.py saves files under it): the files are all changed, then built by the page's command. With --release, so is the
release of the page's last section."""

import argparse
import os
import re
import signal
import subprocess
import sys
import unittest

import author

OPTIONS = None


def read_page(path):
    """[(the number of the section, the text before the block, its language, the block)]"""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    blocks = []
    for section in re.split(r"^## ", page, flags=re.M)[1:]:
        number = re.match(r"(\d+)\. ", section)
        end = 0
        for block in re.finditer(r"^```(\w+)\n(.*?)^```$", section, flags=re.M | re.S):
            assert number, f"a block in a section without a number: {section[:40]}"
            blocks.append((int(number[1]), section[end:block.start()], block[1], block[2]))
            end = block.end()
    return blocks


def definition(source, head):
    """The definition in `source` that begins with the line `head`: to the end of its block at the margin."""
    begin = source.index("\n" + head) + 1
    end = re.compile(r"^\}[;]?\n", re.M).search(source, begin)
    return source[begin:end.end()]


def member(source, head):
    """The same of one that is indented: its one line."""
    return re.search(r"^ *" + re.escape(head) + r".*\n", source, re.M)[0]


class TheTutorial(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.blocks = read_page(os.path.join(OPTIONS.source, "docs/tutorial.md"))
        first = cls.blocks[0][3].splitlines()
        assert first == ["keel new journal", "cd journal", "keel dev"], first
        cls.project = author.Project(OPTIONS.prefix, OPTIONS.scratch, OPTIONS.compiler, name="journal", keeps=True)
        cls.build("dev")

    @classmethod
    def build(cls, preset, tests=False):
        """The page's command; it says itself what to add where CMake does not find Keel."""
        command = f"cmake --preset {preset} && cmake --build --preset {preset} && ctest --preset {preset}"
        assert any(command in block for _, _, language, block in cls.blocks if language == "sh"), command
        parts = command.split(" && ")
        parts[0] += f" -D CMAKE_PREFIX_PATH={OPTIONS.prefix}"
        return [cls.project.run(part.split()) for part in (parts if tests else parts[:2])][-1]

    def blocks_of(self, section, language):
        return [block for number, _, found, block in self.blocks if (number, found) == (section, language)]

    def follow(self, commands, port, admin):
        """The outputs of the commands, with the ports that the service has here."""
        said = []
        for command in commands.splitlines():
            at = command.replace("127.0.0.1:8080", f"127.0.0.1:{port}").replace("127.0.0.1:9090", f"127.0.0.1:{admin}")
            done = subprocess.run(["sh", "-c", at], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=30, check=False)
            self.assertEqual(done.returncode, 0, f"{at}: {done.stderr}")
            said.append(done.stdout.replace("\r", ""))
        return said

    def serve(self):
        service, port = self.project.serve()
        self.addCleanup(service.kill)
        return service, port, int(service.says(r"^  admin    http://127\.0\.0\.1:(\d+)")[0][1])

    def replace(self, name, old, new):
        text = self.project.read(name)
        self.assertEqual(text.count(old), 1, f"{name} has {old!r} not once")
        self.project.write(name, text.replace(old, new))

    def apply_sections_3_and_4(self):
        [migration] = self.blocks_of(3, "sql")
        self.assertIn("Create `db/migrations/0002_finished.sql`:", next(
            before for number, before, language, _ in self.blocks if (number, language) == (3, "sql")))
        self.project.write("db/migrations/0002_finished.sql", migration)

        steps = [(before, block) for number, before, language, block in self.blocks if (number, language) == (4, "cpp")]
        self.assertEqual(len(steps), 5, "the blocks of section 4: a step was added or removed")
        (notes_h, the_class), (service_h, construction), (notes_cc, mount), (list_words, the_list), (_, added) = steps

        old, new = re.search(r"In `src/notes\.h` replace `(#include .*?)` with `(#include .*?)`, and replace the class", notes_h).groups()
        self.replace("src/notes.h", old, new)
        self.replace("src/notes.h", definition(self.project.read("src/notes.h"), "class Notes {"), the_class)

        self.assertIn("In `src/service.h` pass the `App` to the notes:", service_h)
        self.replace("src/service.h", member(self.project.read("src/service.h"), "explicit Journal("),
                     "  " + construction)

        include = re.search(r"In `src/notes\.cc` add `(#include .*?)`, and replace `Notes::mount`", notes_cc)[1]
        self.replace("src/notes.cc", "#include <keel/data/json_write.h>\n", f"#include <keel/data/json_write.h>\n{include}\n")
        self.replace("src/notes.cc", definition(self.project.read("src/notes.cc"), "void Notes::mount("), mount)
        self.assertIn("Replace `Notes::list`", list_words)
        head = "Task<http::Response> Notes::list("
        self.replace("src/notes.cc", definition(self.project.read("src/notes.cc"), head), the_list)
        self.project.write("src/notes.cc", self.project.read("src/notes.cc") + "\n" + added)

    def test_does_what_the_page_says(self):
        # 1: three requests to what keel new wrote.
        [_, requests] = self.blocks_of(1, "sh")
        service, port, admin = self.serve()
        made, listed, wrong = self.follow(requests, port, admin)
        self.assertRegex(made, r'^HTTP/1\.1 201 [\s\S]*"text":"buy tea"\}$')
        self.assertRegex(listed, r'^HTTP/1\.1 200 [\s\S]*\[\{"id":1,"text":"buy tea"\}\]$')
        self.assertRegex(wrong, r"^HTTP/1\.1 422 [\s\S]*/text")
        self.assertEqual(service.end(signal.SIGTERM), 0, service.text())

        # 3, 4 and 6: a migration, a route, background work and tests; built, and tested.
        self.apply_sections_3_and_4()
        [tests] = self.blocks_of(6, "cpp")
        self.replace("tests/notes_test.cc", "\n}  // namespace\n", "\n" + tests + "\n}  // namespace\n")
        clock = author.Clock()
        self.assertIn("100% tests passed", self.build("dev", tests=True))
        print("the tutorial, built and tested in", clock)

        # 5: what was stored is still there, gets the migration, and can be finished.
        [requests] = self.blocks_of(5, "sh")
        service, port, admin = self.serve()
        finished, listed, counted, work = self.follow(requests, port, admin)
        self.assertRegex(finished, r"^HTTP/1\.1 204 ")
        self.assertRegex(listed, r"^HTTP/1\.1 200 [\s\S]*\n\[\]$")
        self.assertIn("notes_finished_total 1", counted)
        self.assertIn("forget", work)
        self.assertEqual(service.end(signal.SIGTERM), 0, service.text())

    def test_has_a_release_that_serves(self):
        if not OPTIONS.release:
            self.skipTest("--release builds it")
        [commands] = self.blocks_of(7, "sh")
        self.assertIn("build/release/journal --config service.yaml --check-config", commands)
        self.assertIn("100% tests passed", self.build("release", tests=True))
        said = self.project.run(["build/release/journal", "--config", "service.yaml", "--check-config"])
        self.assertIn("the configuration is valid", said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("source", "prefix", "scratch", "compiler"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--release", action="store_true")
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.prefix, OPTIONS.scratch = os.path.abspath(OPTIONS.prefix), os.path.abspath(OPTIONS.scratch)
    everything = author.Clock()
    program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    print("all of it took", everything)
    sys.exit(not program.result.wasSuccessful())
