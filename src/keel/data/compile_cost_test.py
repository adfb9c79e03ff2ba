"""compile_cost_test.py COMPILER SOURCES: what a struct of eight fields adds to compiling a file that writes it as JSON, and
to one that reads it as well. The limits are for a processor that compiles REFERENCE in REFERENCE_SECONDS; on another, and
beside others on this one, they are longer in proportion."""

import resource
import subprocess
import sys
import unittest

COMPILER, SOURCES = sys.argv[1:3]
del sys.argv[1:3]
LIMITS = {"write": 0.040, "read": 0.080}  # Seconds of CPU for one struct.
REFERENCE_SECONDS = 0.50
REFERENCE = """#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
int main() { return static_cast<int>(std::map<std::string, std::vector<int>>{{"a", {1}}}.size()); }
"""
STRUCTS = 8


def program(structs, what):
    """A file with that many structs, each with fields of its own names."""
    text = """#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/data/timestamp.h"
#include <optional>
#include <string>
#include <vector>
"""
    for i in range(structs):
        text += f"""struct S{i} {{
  std::int64_t id{i}; std::string name{i}; keel::Timestamp created_at{i}; std::vector<std::string> tags{i};
  std::optional<std::string> note{i}; double price{i}; bool active{i}; int quantity{i};
}};
void write{i}(keel::Buffer& out, const S{i}& value) {{ keel::json::write(out, value); }}
"""
        if what == "read":
            text += f"keel::Result<S{i}> read{i}(std::string_view text) {{ return keel::json::parse<S{i}>(text); }}\n"
    return text


def seconds(text):
    """Of user CPU, which others on the machine lengthen less than the time on a clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([COMPILER, "-std=c++23", "-O2", f"-I{SOURCES}", "-x", "c++", "-", "-c", "-o", "/dev/null"],
                   input=text.encode(), check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


class CompileCost(unittest.TestCase):
    def check(self, what):
        least = [float("inf")] * 3
        for _ in range(8):  # The least of each; most often the first round is enough, and a noisy machine needs more.
            for i, text in enumerate([REFERENCE, program(1, what), program(1 + STRUCTS, what)]):
                least[i] = min(least[i], seconds(text))
            reference, one, all_of_them = least
            each = (all_of_them - one) / STRUCTS
            limit = LIMITS[what] * max(1, reference / REFERENCE_SECONDS)
            if each <= limit:
                break
        print(f"{what}: {each * 1000:.1f} ms each, at most {limit * 1000:.0f}; a file with one {one:.2f} s, "
              f"the reference {reference:.2f} s", file=sys.stderr)
        self.assertLessEqual(each, limit, f"a struct of eight fields takes longer to compile: {what}")
        self.assertGreater(each, 0.002, "nothing has been compiled for a struct")

    def test_a_struct_that_is_written(self):
        self.check("write")

    def test_a_struct_that_is_written_and_read(self):
        self.check("read")


if __name__ == "__main__":
    unittest.main()
