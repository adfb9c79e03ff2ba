#include "gen/parts.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace keel::gen::parts_test {
namespace {

using Headers = std::set<std::string>;

std::string code(std::size_t size) { return std::string(size - 1, 'x') + '\n'; }

TEST(Parts, have_what_belongs_to_a_name_in_one) {
  Parts parts(4);
  parts.of("a.h", "Product") += "a";
  parts.of("a.h", "Product") += "b";

  EXPECT_EQ(parts.spread()[0].text, "ab");
  EXPECT_EQ(parts.spread().size(), 4u);
}

TEST(Parts, share_much_evenly_and_have_one_header_together) {
  Parts parts(4);
  for (const char* const header : {"b.h", "a.h", "d.h", "c.h"}) {
    for (int i = 0; i < 100; ++i) parts.of(header, "Type" + std::to_string(i)) = code(1000);
  }
  const auto spread = parts.spread();

  const Headers headers[] = {{"a.h"}, {"b.h"}, {"c.h"}, {"d.h"}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(spread[i].text.size(), 100'000u);
    EXPECT_EQ(spread[i].headers, headers[i]);
  }
}

TEST(Parts, use_the_first_alone_for_little) {
  Parts parts(4);
  for (int i = 0; i < 60; ++i) parts.of("", "Type" + std::to_string(i)) = code(1000);
  EXPECT_EQ(parts.spread()[0].text.size(), 60'000u);
  EXPECT_EQ(parts.spread()[0].headers, Headers());
  EXPECT_EQ(parts.spread()[1].text, "");

  for (int i = 0; i < 100; ++i) parts.of("", "Type" + std::to_string(i)) = code(1500);
  EXPECT_EQ(parts.spread()[0].text.size() + parts.spread()[1].text.size(), 150'000u);
  EXPECT_GT(parts.spread()[1].text.size(), 70'000u);
  EXPECT_EQ(parts.spread()[2].text, "");
}

TEST(Parts, do_not_weigh_the_document) {
  Parts parts(2);
  parts.of("api.h", "mount") = "    \"" + code(1'000'000);
  for (int i = 0; i < 200; ++i) parts.of("b.h", "Type" + std::to_string(i)) = code(1000);

  EXPECT_EQ(parts.spread()[1].text.size(), 100'000u);
}

TEST(Parts, are_at_least_one) { EXPECT_EQ(Parts(0).spread().size(), 1u); }

}  // namespace
}  // namespace keel::gen::parts_test
