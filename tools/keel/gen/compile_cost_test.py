"""compile_cost_test.py COMPILER GENERATOR SOURCES: what the code of a contract takes to compile: a schema of eight properties,
with its reader, writer and checks; an operation; and the header of the types alone. The limits are for the machine of
tests/yardstick.py; on another, and beside others on this one, they are longer in proportion."""

import os
import subprocess
import sys
import tempfile
import unittest

COMPILER, GENERATOR, SOURCES = sys.argv[1:4]
del sys.argv[1:4]
sys.path.insert(0, os.path.join(SOURCES, "../tests"))
import yardstick  # pylint: disable=wrong-import-position

SCHEMA_LIMIT = 0.030  # Seconds of CPU.
OPERATION_LIMIT = 0.060
HEADER_LIMIT = 0.300
LEAST = 0.004  # What a schema or an operation takes at least if it is compiled.
MANY = 16
ROUNDS = 8  # The least of each; most often the first round is enough, and a noisy machine needs more.


def schema(i):
    return f"""
    Thing{i}:
      type: object
      required: [id, name, created_at, price]
      properties:
        id{i}: {{type: string, format: uuid}}
        name{i}: {{type: string, minLength: 1, maxLength: {100 + i}}}
        created_at{i}: {{type: string, format: date-time}}
        tags{i}: {{type: array, items: {{type: string}}, maxItems: {10 + i}}}
        note{i}: {{type: string, maxLength: {1000 + i}}}
        price{i}: {{type: number, minimum: 0}}
        state{i}: {{type: string, enum: [a{i}, b{i}, c{i}]}}
        quantity{i}: {{type: integer, minimum: 0, maximum: {1000 + i}, default: 1}}""".replace(
            "[id, name, created_at, price]", f"[id{i}, name{i}, created_at{i}, price{i}]")


def operation(i):
    return f"""
  /things/{i}/{{id}}:
    put:
      operationId: putThing{i}
      parameters:
        - {{name: id, in: path, required: true, schema: {{type: integer}}}}
        - {{name: page, in: query, schema: {{type: integer, minimum: 1, default: 1}}}}
      requestBody: {{required: true, content: {{application/json: {{schema: {{$ref: '#/components/schemas/Thing0'}}}}}}}}
      responses:
        '200': {{description: fine, content: {{application/json: {{schema: {{$ref: '#/components/schemas/Thing0'}}}}}}}}
        '404': {{description: There is none.}}"""


def contract(schemas, operations):
    paths = "".join(operation(i) for i in range(operations)) or " {}"
    return ("openapi: 3.1.0\ninfo: {title: Cost, version: '1'}\npaths:" + paths +
            "\ncomponents:\n  schemas:" + "".join(schema(i) for i in range(schemas)) + "\n")


def seconds(folder, file, *options):
    """Of user CPU."""
    return yardstick.user_seconds([COMPILER, "-std=c++23", "-O2", f"-I{SOURCES}", f"-I{folder}", "-x", "c++",
                                   os.path.join(folder, file), *options, "-o", os.devnull])


class CompileCost(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name

    def generated(self, schemas, operations):
        folder = os.path.join(self.place, f"{schemas}_{operations}")
        os.mkdir(folder)
        with open(os.path.join(folder, "api.yaml"), "w") as file:
            file.write(contract(schemas, operations))
        subprocess.run([GENERATOR, "api", os.path.join(folder, "api.yaml"), "--out", folder, "--parts", "1"], check=True)
        return folder

    def check(self, what, few, many, count, limit):
        """What `many` takes beyond `few`, by `count`."""
        least = [float("inf")] * 3
        for _ in range(ROUNDS):
            least[1] = min(least[1], seconds(few, "api/part_1.cc", "-c"))
            least[0] = min(least[0], yardstick.measure(COMPILER))
            least[2] = min(least[2], seconds(many, "api/part_1.cc", "-c"))
            each = (least[2] - least[1]) / count
            limit_here = limit * yardstick.slowness(least[0])
            if LEAST <= each <= limit_here:  # Below it the machine was busy during `few`, and no longer during `many`.
                break
        print(f"{what}: {each * 1000:.1f} ms each, at most {limit_here * 1000:.0f}; without them {least[1]:.2f} s, "
              f"with all of them {least[2]:.2f} s, the yardstick {least[0]:.2f} s", file=sys.stderr)
        self.assertLessEqual(each, limit_here, f"{what} takes longer to compile")
        self.assertGreaterEqual(each, LEAST, f"nothing has been compiled for {what}")

    def test_a_schema_of_eight_properties(self):
        self.check("a schema", self.generated(1, 0), self.generated(1 + MANY, 0), MANY, SCHEMA_LIMIT)

    def test_an_operation(self):
        self.check("an operation", self.generated(1, 1), self.generated(1, 1 + MANY), MANY, OPERATION_LIMIT)

    def test_the_header_of_the_types(self):
        folder = self.generated(3, 0)
        header = measured = float("inf")
        for _ in range(ROUNDS):
            measured = min(measured, yardstick.measure(COMPILER))
            header = min(header, seconds(folder, "api/types.h", "-fsyntax-only", "-w"))
            limit = HEADER_LIMIT * yardstick.slowness(measured)
            if header <= limit:
                break
        print(f"types.h: {header:.2f} s, at most {limit:.2f}; the yardstick {measured:.2f} s", file=sys.stderr)
        self.assertLessEqual(header, limit, "the header of the types takes longer to compile")


if __name__ == "__main__":
    unittest.main()
