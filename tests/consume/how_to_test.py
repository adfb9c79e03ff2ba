"""The blocks of the how-to pages, compiled against an installed Keel with the headers that their page names and no others:
a reader who copies them has no more. What they do is tested beside the sources (*_doc_test.cc)."""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None

ACCOUNTS = """
#define TestAccounts app::TestApp<Accounts>
class Accounts {
 public:
  explicit Accounts(app::App& app) : database_(app.database()), digests_(app.pool("digests")) {}
  Task<http::Response> digest(http::Request&);
  db::Session& database_;
  ThreadPool& digests_;
};
"""

# For each page what stands for the author's own parts.
PAGES = {
    "client.md": "",
    "background.md": """
struct Cache { Task<> load(); };
struct Orders { int runs_of_expire = 0; Task<> expire(); Task<> tidy(); };
struct Queue { Task<int> receive(); };
Task<> handle(int);
Task<> consume_one(Queue&);
void note(const Error&);
""",
    "slow_route.md": ACCOUNTS + """
app::TestAppOptions with_accounts();
std::uint64_t slow_digest(std::int64_t);
""",
    "rotate_secret.md": '#define VERSION "1.0.0"',
    "idempotency.md": "",
}


def read_page(name):
    with open(os.path.join(OPTIONS.source, "docs", name), encoding="utf-8") as file:
        return file.read()


def compile_source(path, *options):
    """What the compiler says of the source; nothing if it is right."""
    command = [OPTIONS.compiler, "-std=c++23", "-fsyntax-only", "-I", os.path.join(OPTIONS.prefix, "include"), *options]
    done = subprocess.run([*command, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                          check=False)
    return "" if done.returncode == 0 else done.stdout[:4000]


def compile_page(name):
    """What the compiler says of the definitions of a page; statements that stand alone are left out."""
    page = read_page(name)
    blocks = re.findall(r"^```cpp\n(.*?)^```$", page, flags=re.M | re.S)
    kept = [block for block in blocks
            if re.match(r"(struct|class|Task<|TEST\(|int main|std::string_view client_of|http::Response )", block)]
    assert kept, name
    text = re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S)
    headers = dict.fromkeys(re.findall(r"`(keel/[\w/]+\.h)`", text))
    lines = ["#include <gtest/gtest.h>"] + [f"#include <{header}>" for header in headers]
    lines += [f"#include <{header}>" for header in re.findall(r"`<(\w+)>`", text) if not header.startswith("keel")]
    lines += ["using namespace keel;"]
    types = [block for block in kept if block.startswith("struct")]
    users = [block for block in kept if not block.startswith("struct")]
    source = "\n".join(lines + [PAGES[name]] + types + users)
    with tempfile.NamedTemporaryFile("w", suffix=".cc", encoding="utf-8") as file:
        file.write(source)
        file.flush()
        return compile_source(file.name)


class TheHowToPages(unittest.TestCase):
    maxDiff = None

    def test_name_the_headers_that_their_blocks_need(self):
        for name in PAGES:
            with self.subTest(page=name):
                self.assertEqual(compile_page(name), "")


class TheStreamingPage(unittest.TestCase):
    maxDiff = None

    def test_extends_the_service_that_keel_new_writes(self):
        blocks = re.findall(r"^```cpp\n(.*?)^```$", read_page("streaming.md"), flags=re.M | re.S)
        routes = [block for block in blocks if block.startswith("router.")]
        tests = [block for block in blocks if block.startswith("TEST(")]
        functions = [block for block in blocks[1:] if block not in routes + tests]
        heads = "".join(f"{result} {name}({arguments});\n" for result, name, arguments in
                        re.findall(r"^(\S+) Notes::(\w+)\((.*)\) \{$", "".join(functions), flags=re.M)
                        if f" {name}(" not in blocks[0])
        self.assertEqual((len(routes), len(functions), len(tests)), (3, 6, 1), "a block was added or removed")
        heads = re.sub(r"\b(http::|Task<)", r"keel::\1", heads)

        with tempfile.TemporaryDirectory() as folder:
            shop = os.path.join(folder, "shop")
            subprocess.run([os.path.join(OPTIONS.prefix, "bin/keel"), "new", "shop", "--dir", shop], check=True,
                           stdout=subprocess.DEVNULL)

            def change(name, *replacements):
                with open(os.path.join(shop, name), encoding="utf-8") as file:
                    text = file.read()
                for old, new in replacements:
                    self.assertIn(old, text)
                    text = text.replace(old, new, 1)
                with open(os.path.join(shop, name), "w", encoding="utf-8") as file:
                    file.write(text)

            change("src/notes.h", ("#include <keel/db/session.h>\n", "#include <keel/db/session.h>\n#include <keel/http.h>\n"),
                   ("  keel::db::Session& database_;\n", blocks[0] + heads + "  keel::db::Session& database_;\n"))
            change("src/notes.cc", ("::remove);\n}\n", "::remove);\n" + "".join(routes) + "}\n" + "".join(functions)))
            change("tests/notes_test.cc", ("#include <string>\n", "#include <algorithm>\n#include <string>\n"),
                   ("\n}  // namespace\n", "\n" + tests[0] + "\n}  // namespace\n"))

            for name in ("src/notes.cc", "tests/notes_test.cc"):
                with self.subTest(source=name):
                    self.assertEqual(compile_source(os.path.join(shop, name), "-I", os.path.join(shop, "src"),
                                                    '-DMIGRATIONS="db/migrations"'), "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--compiler", default="c++")
    OPTIONS, others = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + others)
