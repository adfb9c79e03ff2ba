// JSON-Schema-Test-Suite, draft 2020-12: all of its values against the tables that are made of its schemas.

#include "gen/schema_suite.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "keel/data/json_parse.h"
#include "keel/data/json_value.h"

namespace keel::gen::schema_suite_test {
namespace {

struct Counts {
  int right = 0;
  int wrong = 0;
  int listed = 0;
};

// The published list (docs/contract.md): what has no tables, by what the generator says about it.
constexpr std::array<std::string_view, 6> unsupported = {
    "the keyword '$dynamicRef' is not supported",
    "the keyword '$dynamicAnchor' is not supported",
    "the keyword 'dependencies' is not supported",
    "the dialect 'http://localhost:1234/",
    "'https://json-schema.org/draft/2020-12/schema' is remote",  // Has $dynamicRef.
    "'http://localhost:1234/draft2019-09/ignore-prefixItems.json' is remote",
};
// Where a reference leads to what only a $dynamicAnchor names.
constexpr std::string_view dynamic_references = "A $ref to a $dynamicAnchor in the same schema resource";

// And what is judged otherwise, with how many values of the suite show it.
struct Difference {
  std::string_view file;
  std::string_view title;  // Part of it.
  int values;
};
constexpr std::array<Difference, 4> differences = {{
    {"format.json", "is only an annotation by default", 18},                               // Formats are asserted.
    {"optional/format/hostname.json", "validation of A-label (punycode) host names", 22},  // RFC 5892 is not looked at.
    {"optional/format/idn-hostname.json", "", 54},                                         // An annotation.
    {"optional/unknownKeyword.json", "", 2},  // A keyword that does not exist is an error: `keel api lint`.
}};

json::Value read(const std::string& name) {
  std::ifstream file(KEEL_SUITE + name, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto value = json::parse<json::Value>(text);
  EXPECT_TRUE(value) << name;
  return value ? *std::move(value) : json::Value();
}

TEST(SchemaSuite, every_value_is_judged_as_the_suite_says) {
  std::map<std::string, Counts> counts;
  std::map<const Difference*, int> found;
  std::string file;
  json::Value groups;
  std::size_t group = 0;
  for (std::size_t i = 0; i < suite_schemas_count; ++i) {
    const SuiteSchema& schema = suite_schemas[i];
    if (file != schema.file) {
      file = schema.file;
      groups = read(file);
      group = 0;
    }
    const json::Value& here = groups.elements()[group++];
    const std::string title = file + ": " + std::string(*here.find("description")->string());
    Counts& count = counts[file];
    if (schema.schema == nullptr) {
      bool is_listed = title.find(dynamic_references) != title.npos;
      for (const std::string_view one : unsupported) is_listed |= std::string_view(schema.why).find(one) != title.npos;
      EXPECT_TRUE(is_listed) << title << ": " << schema.why;
      count.listed += static_cast<int>(here.find("tests")->size());
      continue;
    }
    for (const json::Value& test : here.find("tests")->elements()) {
      const std::string name = title + ": " + std::string(*test.find("description")->string());
      Violations wrong;
      const bool is_valid = contract::check(*test.find("data"), *schema.schema, wrong);
      EXPECT_EQ(is_valid, wrong.empty()) << name;
      if (is_valid == *test.find("valid")->boolean()) {
        ++count.right;
        continue;
      }
      const Difference* known = nullptr;
      for (const Difference& one : differences) {
        if (one.file == file && name.find(one.title) != name.npos) known = &one;
      }
      ++(known != nullptr ? count.listed : count.wrong);
      if (known != nullptr) ++found[known];
      EXPECT_NE(known, nullptr) << name << ": " << (is_valid ? "valid" : wrong.error().describe());
    }
  }
  for (const Difference& one : differences) EXPECT_EQ(found[&one], one.values) << one.file;
  Counts required;
  Counts optional;
  for (const auto& [name, count] : counts) {
    std::printf("%-42s right %4d  wrong %3d  in the list %3d\n", name.c_str(), count.right, count.wrong, count.listed);
    Counts& all = name.starts_with("optional/") ? optional : required;
    all.right += count.right;
    all.wrong += count.wrong;
    all.listed += count.listed;
  }
  std::printf("required: right %d, wrong %d, in the list %d\n", required.right, required.wrong, required.listed);
  std::printf("optional: right %d, wrong %d, in the list %d\n", optional.right, optional.wrong, optional.listed);
  EXPECT_GE(required.right, 1224);
  EXPECT_EQ(required.wrong + optional.wrong, 0);
}

}  // namespace
}  // namespace keel::gen::schema_suite_test
