"""The pages that are written from the sources are as the sources are, and nothing in the sources is without a description."""

import unittest

import config_rules
import cpp_text
import headers
import log_lines
import metrics
import reference

HEADER = '''// keel/a/router.h — which handler gets a request.
//
//   Router router;  // an example, which is not read
//
// Route is one way through it. It is a value.
//
// Errors: Route fails never.

#pragma once

#define KEEL_GUARD_INTERNAL 1
// Says where it stands.
#define KEEL_WHERE \\
  __LINE__

namespace keel::a {

class Declared;
struct Route {
  int first;  // In order.
  int last() const { return first; }
};

// Where requests go. Outlives them.
template <class T, class U = std::vector<T>>
  requires(sizeof(T) > 1)
class [[nodiscard("use it")]] Router final : public Base<T> {
 public:
  struct Name {
    int length = 0;
  };
  Router() : members_{1}, others_(2) {}
  ~Router();
  Router(const Router&) = delete;
  bool operator==(const Router&) const = default;
  // Adds one.
  template <class F>
  Router& add(F f, Options options = {}) {
    if (f) { return *this; }
    return *this;
  }
  int size() const noexcept { return 1; }
  static constexpr std::size_t max = 7;

 protected:
  void hidden();

 private:
  int members_ = 0;
};

enum class Kind : std::uint8_t {
  One = 1,  // The first.
  Two,
};

// How many there are; the same of both.
int count_of(const Route& route);
int count_of(const Kind& kind) noexcept;

// The largest, e.g. of all. More.
inline constexpr int largest = 5;
using Text = std::string_view;  // A view.
// What has a size.
template <class T>
concept Sized = requires(T t) { t.size(); };

namespace internal {
int not_public();
}

// Numbers of the protocol.
namespace codes {
inline constexpr int a = 1;
inline constexpr int b = 2;
}  // namespace codes

int undescribed(int a);

}  // namespace keel::a
'''


class AHeader(unittest.TestCase):
    def setUp(self):
        self.header = headers.parse("keel/a/router.h", HEADER)
        self.symbols = {symbol.name: symbol for symbol in self.header.symbols}

    def test_has_its_purpose_and_its_symbols(self):
        self.assertEqual(self.header.purpose, "which handler gets a request.")
        self.assertEqual(sorted(self.symbols), sorted(
            ["a::Route", "a::Router", "a::Kind", "a::count_of", "a::largest", "a::Text", "a::Sized", "a::codes::a", "a::codes::b",
             "a::undescribed", "KEEL_WHERE"]))

    def test_says_of_a_symbol_what_stands_above_or_beside_it(self):
        self.assertEqual(self.symbols["a::Router"].text, "Where requests go.")
        self.assertEqual(self.symbols["a::largest"].text, "The largest, e.g. of all.")
        self.assertEqual(self.symbols["a::Text"].text, "A view.")
        self.assertEqual(self.symbols["KEEL_WHERE"].text, "Says where it stands.")

    def test_says_what_its_first_comment_or_that_of_a_group_says(self):
        self.assertEqual(self.symbols["a::Route"].text, "Route is one way through it.")
        self.assertEqual(self.symbols["a::count_of"].text, "How many there are; the same of both.")
        self.assertEqual(self.symbols["a::codes::b"].text, "Numbers of the protocol.")

    def test_lists_the_public_members(self):
        self.assertEqual(self.symbols["a::Router"].members, ["Name", "add", "size", "max"])
        self.assertEqual(self.symbols["a::Route"].members, ["first", "last"])
        self.assertEqual(self.symbols["a::Kind"].members, ["One", "Two"])

    def test_without_a_description_of_a_symbol_fails_with_its_place(self):
        line = HEADER[:HEADER.index("int undescribed")].count("\n") + 1
        self.assertEqual(reference.undescribed([self.header]), [
            f"src/keel/a/router.h:{HEADER[:HEADER.index('enum class Kind')].count(chr(10)) + 1}: write a sentence above enum "
            "a::Kind: what it is for, or what comes back",
            f"src/keel/a/router.h:{line}: write a sentence above function a::undescribed: what it is for, or what comes back"])

    def test_says_nothing_that_markdown_reads_as_markup(self):
        self.assertEqual(reference.in_a_cell("a|b `c|d` <e> f_g [h]"), r"a\|b `c\|d` \<e\> f\_g \[h\]")
        self.assertEqual(reference.in_a_cell("one ` alone"), "one &#96; alone")


class Metrics(unittest.TestCase):
    def test_are_found_where_they_are_registered(self):
        source = '''#include "keel/observe/metric.h"
constexpr std::string_view told = "a_told_total";
constexpr Row rows[] = {{&Stats::a, Kind::Gauge, "a_bytes", "Memory "
                         "of a"},
                        {&Stats::b, Kind::Counter, told, "Told"}, {&Stats::b, Kind::Counter, told, "All told"}};
void f() { registry.histogram("a_run_seconds", "Time of a run", bounds); registry.gauge("states", "All states"); }
void g() { registry.gauge(row.name, row.help); where("max_size", "is below"); }
'''
        found, mistakes = metrics.of_source("a.cc", source)
        self.assertEqual([(one.name, one.kind, one.unit, one.help) for one in found], [
            ("a_bytes", "gauge", "bytes", "Memory of a"), ("a_told_total", "counter", "", "All told"),
            ("a_run_seconds", "histogram", "seconds", "Time of a run"), ("states", "gauge", "", "All states")])
        self.assertEqual(mistakes, [])
        self.assertEqual(found[2].place, "a.cc:6")

    def test_whose_name_or_help_is_made_at_run_time_are_mistakes(self):
        _, mistakes = metrics.of_source("a.cc", 'metrics::Registry& registry;\nx = registry.counter(make("a"), "All of a");\n')
        self.assertEqual(len(mistakes), 1)
        self.assertTrue(mistakes[0].startswith("a.cc:2: "), mistakes)

    def test_of_the_library_are_more_than_a_hundred(self):
        found, _ = metrics.of_library()
        self.assertGreater(len(found), 100)


class LogLines(unittest.TestCase):
    def test_of_warning_and_above_are_found(self):
        source = '''constexpr Degradation::Lines lines = {.begins = "too full",
  .goes_on = "still " "too full", .is_over = "not full"};
void f() {
  log_.warn("a failed", log::field("a", 1));
  pools_logger().error("b failed");
  log::Logger("c").fatal("c failed");
  log.log(std::min(level, Level::Info), "d failed", error);
  log::Failure(error, Level::Error)
      .log(worker_.log(), "e failed");
  report_unhandled("f failed", error);
  log_.info("g"); log.log(Level::Debug, "h"); problems.error(node, "i"); log_.warn(lines_.begins);
}
'''
        found, mistakes = log_lines.of_source("a.cc", source)
        self.assertEqual(sorted(line.message for line in found),
                         ["a failed", "b failed", "c failed", "d failed", "e failed", "f failed", "still too full", "too full"])
        self.assertEqual(mistakes, [])

    def test_that_are_no_literals_are_mistakes(self):
        _, mistakes = log_lines.of_source("a.cc", 'void f() {\n  log_.warn(made(), 1);\n}\n')
        self.assertEqual(mistakes, ["a.cc:2: the message of a log line must be a literal where it is written"])

    def test_are_explained_by_a_table_with_cures(self):
        self.assertEqual(log_lines.explained("`x`\n| message | cause | cure |\n|---|---|---|\n| `a` | b | c |\n\n| `d` | e |\n"), {"a"})


class ConfigRules(unittest.TestCase):
    def test_are_the_messages_of_refused_values(self):
        source = '''void f() {
  checks.refuse(path + "a key", "has no "
                "effect");
  if (a) checks.refuse(at(b, 1), "is above " + path + "b, of two" + c(1, ")"));
  checks.refuse(path, error.message());
}
'''
        self.assertEqual([(line.message, line.place) for line in config_rules.of_source("a.cc", source)],
                         [("has no effect", "a.cc:2"), ("is above", "a.cc:4"), ("b, of two", "a.cc:4")])

    def test_of_the_library_are_more_than_thirty(self):
        self.assertGreater(len(config_rules.of_library()), 30)


class ThePages(unittest.TestCase):
    """Each list is empty; what is in it says which file, which line and what to do."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.pages, cls.problems = reference.pages()

    def test_describe_every_symbol_and_metric(self):
        self.assertEqual(self.problems, [])

    def test_are_as_make_reference_writes_them(self):
        self.assertEqual(reference.stale(self.pages), [])

    def test_explain_every_log_line_of_warning_and_above(self):
        self.assertEqual(reference.unexplained(), [])

    def test_explain_every_rule_of_the_configuration(self):
        self.assertEqual(reference.unlisted_rules(), [])

    def test_that_lack_a_line_say_what_to_do(self):
        page = "docs/metrics.md"
        lines = reference.stale({**self.pages, page: self.pages[page] + "| `a_total` | counter |  | All of a |\n"})
        self.assertIn(f"{page}: run make reference; it lacks: | `a_total` | counter |  | All of a |", lines)

    def test_have_the_headers_that_a_budget_names(self):
        budget = (cpp_text.ROOT / "tools/tidy/budget.txt").read_text().split("\n")
        named = {line.split()[0] for line in budget if line and not line.startswith("#")}
        self.assertEqual(sorted(named - set(cpp_text.public_headers())), [])
        self.assertGreater(len(named), 200)


if __name__ == "__main__":
    unittest.main()
