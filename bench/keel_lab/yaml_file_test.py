"""Whatever a file holds, it is read, or its mistakes are told with their lines."""

import unittest

from keel_lab.yaml_file import File, Mistakes


def mistakes(text):
    try:
        file = File("x.yaml", text)
    except Mistakes as found:
        return found.lines
    return file.mistakes


class Reading(unittest.TestCase):
    def test_values_have_their_lines(self):
        file = File("x.yaml", "a: 1\nb:\n  - c\n  - {d: true}\n")
        self.assertEqual(file.value, {"a": 1, "b": ["c", {"d": True}]})
        self.assertEqual(file.lines[("b", 1, "d")], 4)

    def test_a_date_is_text(self):
        self.assertEqual(File("x.yaml", "a: 2026-13-01\nb: 2026-12-01").value, {"a": "2026-13-01", "b": "2026-12-01"})

    def test_a_mapping_may_take_over_another_or_several(self):
        text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\none: {<<: *x, a: 3}\nboth: {<<: [*x, *y], d: 3}\n"
        file = File("x.yaml", text)
        self.assertEqual(file.value["one"], {"a": 3, "b": 1})
        self.assertEqual(file.value["both"], {"a": 1, "b": 1, "c": 2, "d": 3})
        self.assertEqual(file.mistakes, [])

    def test_each_mistake_has_its_line(self):
        for text, wanted in (
                ("a: [\n", "x.yaml:2: not YAML: did not find expected node content"),
                ("a: 1\nb: *c\n", "x.yaml:2: not YAML: found undefined alias"),
                ("a: 1\nb: !c 2\n", "x.yaml:2: not YAML: could not determine a constructor for the tag '!c'"),
                ("a: 1\nb: \x07\n",
                 "x.yaml:2: not YAML: unacceptable character #x0007: control characters are not allowed"),
                ("a: 1\n---\nb: 1\n", "x.yaml:2: not YAML: but found another document"),
                ("a: 1\na: 2\n", "x.yaml:2: a: is there twice"),
                ("a: 1\n? [b, c]\n: 2\n", "x.yaml:2: ?: a key is text"),
                ("a: 1\n2: 3\n", "x.yaml:2: ?: a key is text"),
                ("a: 1\n<<: 2\n",
                 "x.yaml:2: not YAML: expected a mapping or list of mappings for merging, but found scalar"),
                ("a: 1\nb: &b [*b]\n", "x.yaml:2: b.0: an alias of what it stands in"),
                ("a: 1\nb: 0x_\n", "x.yaml:2: b: 0x_: invalid literal for int() with base 16: ''"),
                ("a: 1\nb: !!timestamp x\n", "x.yaml:2: not YAML: could not determine a constructor for the tag "
                 "'tag:yaml.org,2002:timestamp'"),
                ("a: &a {b: {<<: *a}}\n", "x.yaml:1: a.b.<<: an alias of what it stands in"),
        ):
            with self.subTest(text):
                self.assertEqual(mistakes(text), [wanted])
