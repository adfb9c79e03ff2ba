"""Each name that a function of the lab takes from its module is defined there."""

import builtins
import dis
import pathlib
import types
import unittest

FOLDER = pathlib.Path(__file__).parent


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def undefined(text, path="module"):
    """The global names that a function of the module reads and that nothing in the module defines."""
    module = compile(text, str(path), "exec")
    steps = [step for code in codes(module) for step in dis.get_instructions(code)]
    defined = {step.argval for step in dis.get_instructions(module) if step.opname == "STORE_NAME"}
    defined |= {step.argval for step in steps if step.opname == "STORE_GLOBAL"} | set(dir(builtins)) | {"__file__"}
    return sorted({step.argval for step in steps if step.opname == "LOAD_GLOBAL"} - defined)


class Names(unittest.TestCase):
    def test_are_defined_in_each_module(self):
        for path in sorted(FOLDER.glob("*.py")):
            with self.subTest(module=path.name):
                self.assertEqual(undefined(path.read_text(), path), [])

    def test_that_are_not_defined_are_found(self):
        self.assertEqual(undefined("def build():\n    return quietly(len([]))\n"), ["quietly"])


if __name__ == "__main__":
    unittest.main()
