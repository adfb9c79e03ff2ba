"""What becomes of a page before the generator reads it, and what the site may not ask for."""

import pathlib
import re
import tempfile
import unittest

import build


class APage(unittest.TestCase):
    def test_has_an_empty_line_before_a_list_and_a_table(self):
        self.assertEqual(build.with_empty_lines("Text:\n- one\n- two\n  continues\n- three\n"),
                         "Text:\n\n- one\n- two\n  continues\n- three\n")
        self.assertEqual(build.with_empty_lines("Text:\n1. one\n2. two"), "Text:\n\n1. one\n2. two")
        self.assertEqual(build.with_empty_lines("Text:\n| a |\n|---|\n| b |"), "Text:\n\n| a |\n|---|\n| b |")

    def test_keeps_its_code_as_it_is(self):
        for text in ("```sh\nls\n- no list\n| no table\n```\n", "Text with - a dash\nand 1. a number\n"):
            self.assertEqual(build.with_empty_lines(text), text)

    def test_that_links_to_a_source_shows_it_on_a_page(self):
        sources = set()
        made = build.convert("docs/a.md", "[x](../LICENSE), `[y](../LICENSE)`\n```\n[z](../LICENSE)\n```\n[w](b.md#c)",
                             {"docs/b.md"}, sources)
        self.assertEqual(made, "[x](../LICENSE.md), `[y](../LICENSE)`\n```\n[z](../LICENSE)\n```\n[w](b.md#c)")
        self.assertEqual(sources, {"LICENSE"})
        self.assertEqual(build.source_page("a.cc", "int a;  // ```\n"), "# a.cc\n\n````cpp\nint a;  // ```\n````\n")
        self.assertTrue(build.source_page("a.h", "int a;\n").startswith("---\nsearch: {exclude: true}\n---\n# a.h\n"))

    def test_leaves_links_that_lead_nowhere_for_the_generator_to_find(self):
        self.assertEqual(build.convert("docs/a.md", "[x](nothing.h)", set(), set()), "[x](nothing.h)")

    def test_stands_where_the_index_lists_it(self):
        index = "# D\n## One\n- [A](a.md): [B](../b.md), [C](c.md#d)\n- [E](e.md) and [A again](a.md)\n## Table\n| x | [F](f.md) |\n"
        self.assertEqual(build.navigation(index), [{"One": [{"A": "docs/a.md"}, {"E": "docs/e.md"}]}])

    def test_breaks_names_in_tables_and_nowhere_else(self):
        self.assertEqual(build.with_breaks("<td><code>a.b_c</code> d.e</td><p><code>a.b</code>"),
                         "<td><code>a.<wbr>b_<wbr>c</code> d.e</td><p><code>a.b</code>")

    def test_of_the_repository_is_in_the_site(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "pages"
            build.write_pages(out)
            for name in build.page_names():
                self.assertTrue((out / name).exists(), name)
            self.assertTrue((out / "examples/orders/main.cc.md").exists())
        self.assertGreater(len(build.page_names()), 40)


class TheSite(unittest.TestCase):
    def test_may_link_to_other_hosts_and_asks_them_for_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder)
            (site / "good.html").write_text('<a href="https://a.example"></a><link rel="icon" href="x.png"><img src="y.png">')
            self.assertEqual(build.foreign_requests(site), [])
            (site / "bad.html").write_text('<script src="https://a.example/x.js"></script><img src="//b.example/y.png">')
            (site / "bad.css").write_text("@font-face {src: url('https://c.example/f.woff')}")
            self.assertEqual([re.sub(r".*//(\w).*", r"\1", found) for found in build.foreign_requests(site)], ["a", "b", "c"])


if __name__ == "__main__":
    unittest.main()
