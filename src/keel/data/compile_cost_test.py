"""compile_cost_test.py COMPILER SOURCES: what a struct of eight fields adds to compiling a file that writes it as JSON, to one
that reads it as well, and to one that reads it from rows of a database, too. The limits are for the machine of
tests/yardstick.py; on another, and beside others on this one, they are longer in proportion."""

import os
import sys
import unittest

COMPILER, SOURCES = sys.argv[1:3]
del sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCES, "../tests"))
import yardstick  # pylint: disable=wrong-import-position

LEAST = 0.004  # Seconds of CPU that a struct takes at least if it is compiled.
LIMITS = {"write": 0.040, "read": 0.080, "row": 0.080}  # Seconds of CPU for one struct.
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
    # A list is no column.
    tags = "std::string" if what == "row" else "std::vector<std::string>"
    if what == "row":
        text += '#include "keel/db/row.h"\n'
    for i in range(structs):
        text += f"""struct S{i} {{
  std::int64_t id{i}; std::string name{i}; keel::Timestamp created_at{i}; {tags} tags{i};
  std::optional<std::string> note{i}; double price{i}; bool active{i}; int quantity{i};
}};
void write{i}(keel::Buffer& out, const S{i}& value) {{ keel::json::write(out, value); }}
"""
        if what != "write":
            text += f"keel::Result<S{i}> read{i}(std::string_view text) {{ return keel::json::parse<S{i}>(text); }}\n"
        if what == "row":
            text += f"S{i} row{i}(const keel::db::Row& row) {{ return keel::db::read_as<S{i}>(row); }}\n"
    return text


def seconds(text):
    """Of user CPU."""
    return yardstick.user_seconds([COMPILER, "-std=c++23", "-O2", f"-I{SOURCES}", "-x", "c++", "-", "-c", "-o", os.devnull],
                                  input=text.encode())


class CompileCost(unittest.TestCase):
    def check(self, what):
        least = [float("inf")] * 3
        for _ in range(8):  # The least of each; most often the first round is enough, and a noisy machine needs more.
            least[1] = min(least[1], seconds(program(1, what)))
            least[0] = min(least[0], yardstick.measure(COMPILER))
            least[2] = min(least[2], seconds(program(1 + STRUCTS, what)))
            each = (least[2] - least[1]) / STRUCTS
            limit = LIMITS[what] * yardstick.slowness(least[0])
            if LEAST <= each <= limit:  # Below it the machine was busy during the small file, and no longer during the other.
                break
        print(f"{what}: {each * 1000:.1f} ms each, at most {limit * 1000:.0f}; a file with one {least[1]:.2f} s, with all "
              f"{least[2]:.2f} s, the yardstick {least[0]:.2f} s", file=sys.stderr)
        self.assertLessEqual(each, limit, f"a struct of eight fields takes longer to compile: {what}")
        self.assertGreaterEqual(each, LEAST, "nothing has been compiled for a struct")

    def test_a_struct_that_is_written(self):
        self.check("write")

    def test_a_struct_that_is_written_and_read(self):
        self.check("read")

    def test_a_struct_that_is_written_and_read_also_from_rows(self):
        self.check("row")


if __name__ == "__main__":
    unittest.main()
