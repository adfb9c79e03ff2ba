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
  http::Response dump(http::Request&);
  http::Response dump_some(http::Request&);
  Task<> write_all(http::BodyWriter&);
  Task<> write_some(http::BodyWriter&, std::string);
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
    "streaming.md": ACCOUNTS + "app::TestAppOptions with_accounts();",
    "slow_route.md": ACCOUNTS + """
app::TestAppOptions with_accounts();
std::uint64_t slow_digest(std::int64_t);
""",
    "rotate_secret.md": '#define VERSION "1.0.0"',
    "idempotency.md": "",
}


def compile_page(name):
    """What the compiler says of the definitions of a page; statements that stand alone are left out."""
    with open(os.path.join(OPTIONS.source, "docs", name), encoding="utf-8") as file:
        page = file.read()
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
        command = [OPTIONS.compiler, "-std=c++23", "-fsyntax-only", "-I", os.path.join(OPTIONS.prefix, "include")]
        done = subprocess.run([*command, file.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False)
    return "" if done.returncode == 0 else done.stdout[:4000]


class TheHowToPages(unittest.TestCase):
    maxDiff = None

    def test_name_the_headers_that_their_blocks_need(self):
        for name in PAGES:
            with self.subTest(page=name):
                self.assertEqual(compile_page(name), "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--compiler", default="c++")
    OPTIONS, others = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + others)
