#include "load/template.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace keel::load::load_template_test {
namespace {

std::string filled(std::string_view text, std::uint64_t n = 1, const Csv* csv = nullptr,
                   Template::Escape escape = Template::Escape::None) {
  const auto compiled = Template::compile(text, csv, escape);
  if (!compiled) return compiled.error().describe();
  Random random(1);
  Buffer out;
  compiled->fill(out, n, random);
  return std::string(out.view());
}

TEST(Template, without_places_is_itself) {
  for (const char* text : {"", "/users", "{\"a\": {\"b\": 1}}", "{}", "{ n }", "{1}", "a{"}) {
    EXPECT_EQ(filled(text), text);
    EXPECT_TRUE(Template::compile(text, nullptr)->is_fixed()) << text;
  }
  EXPECT_EQ(filled("{{n}"), "{n}");
}

TEST(Template, n_is_the_number_of_the_request) {
  EXPECT_EQ(filled("/users/{n}?again={n}", 42), "/users/42?again=42");
  EXPECT_FALSE(Template::compile("{n}", nullptr)->is_fixed());
}

TEST(Template, a_range_of_n_begins_again_after_its_end) {
  EXPECT_EQ(filled("{n:5..7}", 1), "5");
  EXPECT_EQ(filled("{n:5..7}", 3), "7");
  EXPECT_EQ(filled("{n:5..7}", 4), "5");
}

TEST(Template, random_numbers_keep_to_their_range_and_repeat_with_the_seed) {
  const auto compiled = Template::compile("{random:3..5}", nullptr);
  ASSERT_TRUE(compiled);
  Random random(7);
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    Buffer out;
    compiled->fill(out, 1, random);
    seen.insert(std::string(out.view()));
  }

  EXPECT_EQ(seen, (std::set<std::string>{"3", "4", "5"}));
  EXPECT_EQ(filled("{random} {uuid}"), filled("{random} {uuid}"));
}

TEST(Template, a_uuid_is_of_version_4) {
  EXPECT_TRUE(std::regex_match(filled("{uuid}"),
                               std::regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")))
      << filled("{uuid}");
}

TEST(Template, lines_of_a_csv_file_follow_the_number) {
  const auto csv = Csv::parse("id,name\n1,Ada\n2,Grace Hopper\n", "users.csv");
  ASSERT_TRUE(csv);

  EXPECT_EQ(filled("{csv.id}:{csv.name}", 1, &*csv), "1:Ada");
  EXPECT_EQ(filled("{csv.id}:{csv.name}", 2, &*csv), "2:Grace Hopper");
  EXPECT_EQ(filled("{csv.id}:{csv.name}", 3, &*csv), "1:Ada");
  EXPECT_EQ(filled("/u/{csv.name}", 2, &*csv, Template::Escape::Percent), "/u/Grace%20Hopper");
}

TEST(Template, mistakes_name_the_place) {
  const auto csv = Csv::parse("id,name\n1,Ada\n", "users.csv");
  ASSERT_TRUE(csv);
  const std::pair<const char*, const char*> mistakes[] = {
      {"{number}", "{number}: not a placeholder"},
      {"{uuid", "{uuid}: the closing brace is missing"},
      {"{n:}", "{n:}: expected a range of two numbers"},
      {"{n:1}", "{n:1}: expected a range of two numbers"},
      {"{n:2..1}", "{n:2..1}: expected a range of two numbers"},
      {"{random:0..18446744073709551615}", "{random:0..18446744073709551615}: expected a range of two numbers"},
      {"{csv.mail}", "{csv.mail}: the CSV file has no such column; it has id, name"},
  };
  for (const auto& [text, said] : mistakes) {
    EXPECT_TRUE(filled(text, 1, &*csv).find(said) != std::string::npos) << filled(text, 1, &*csv);
  }
  EXPECT_NE(filled("{csv.id}").find("give one with --csv"), std::string::npos);
}

}  // namespace
}  // namespace keel::load::load_template_test
