#include "keel/data/uri.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace keel::uri_test {
namespace {

using uri::Plus;

TEST(Uri, decodes_escapes_into_the_arena_and_leaves_plain_text_where_it_is) {
  Arena arena;
  const std::string_view plain = "/users/7+1";

  EXPECT_EQ(uri::percent_decode(plain, arena).value().data(), plain.data());
  EXPECT_EQ(uri::percent_decode("a%2Fb%c3%A9", arena).value(), "a/bé");
  EXPECT_EQ(uri::percent_decode("x+%2b+y", arena, Plus::Space).value(), "x + y");
  EXPECT_EQ(uri::percent_decode("%2525", arena).value(), "%25") << "decoded once";
  EXPECT_EQ(uri::percent_decode("", arena).value(), "");
}

TEST(Uri, refuses_escapes_that_are_cut_off_not_hexadecimal_or_nul) {
  for (const std::string_view text : {"%", "%4", "a%", "a%4", "%g0", "%0g", "%%41", "% 41", "%00", "a%00b", "%+1"}) {
    Arena arena;
    std::string copy(text);

    EXPECT_EQ(uri::percent_decode(text, arena).error().code(), Code::InvalidArgument) << text;
    EXPECT_TRUE(uri::percent_decode_in_place(copy.data(), copy.size()).is_err()) << text;
  }
}

TEST(Uri, decodes_in_place) {
  std::string text = "%41+%42";

  EXPECT_EQ(uri::percent_decode_in_place(text.data(), text.size(), Plus::Space).value(), 3u);
  EXPECT_EQ(text.substr(0, 3), "A B");
  EXPECT_EQ(uri::percent_decode_in_place(nullptr, 0).value(), 0u);
}

TEST(Uri, encodes_all_but_unreserved_and_decoding_gives_it_back) {
  std::string every;
  for (int c = 1; c < 256; ++c) every += static_cast<char>(c);
  Buffer out;
  Arena arena;

  uri::percent_encode(out, every);

  EXPECT_EQ(uri::percent_decode(out.view(), arena).value(), every);
  out.clear();
  uri::percent_encode(out, "aZ09-._~ /é");
  EXPECT_EQ(out.view(), "aZ09-._~%20%2F%C3%A9");
}

std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view query) {
  Arena arena;
  uri::QueryPairs pairs(query, arena);
  std::vector<std::pair<std::string, std::string>> all;
  while (auto pair = pairs.next()) all.emplace_back(pair->key, pair->value);
  EXPECT_TRUE(pairs.finish().is_ok()) << query;
  return all;
}

TEST(QueryPairs, gives_pairs_in_order_and_decoded) {
  using All = std::vector<std::pair<std::string, std::string>>;

  EXPECT_EQ(pairs_of("a=1&b=x+y&flag&c=%26%3D&a=2"),
            (All{{"a", "1"}, {"b", "x y"}, {"flag", ""}, {"c", "&="}, {"a", "2"}}));
  EXPECT_EQ(pairs_of("&&a=1&&=v&k=a=b&"), (All{{"a", "1"}, {"", "v"}, {"k", "a=b"}}));
  EXPECT_EQ(pairs_of(""), All{});
}

TEST(QueryPairs, stops_at_the_first_bad_escape_and_stays_there) {
  Arena arena;
  uri::QueryPairs pairs("a=1&b=%zz&c=3", arena);

  EXPECT_EQ(pairs.next()->key, "a");
  EXPECT_FALSE(pairs.next());
  EXPECT_FALSE(pairs.next());
  EXPECT_EQ(pairs.finish().error().code(), Code::InvalidArgument);
}

TEST(QueryPairs, bounds_the_number_of_pairs) {
  Arena arena;
  uri::QueryPairs exact("a&b", arena, 2);
  uri::QueryPairs above("a&b&c", arena, 2);

  while (exact.next()) {
  }
  while (above.next()) {
  }

  EXPECT_TRUE(exact.finish().is_ok());
  EXPECT_EQ(above.finish().error().message(), "query has too many pairs");
}

}  // namespace
}  // namespace keel::uri_test
