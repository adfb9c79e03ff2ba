// Lists and pairs in header fields: what is written is read as the same, and what others write is split where they
// mean.

#include "keel/contract/internal/header_list.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace keel::contract::header_list_test {
namespace {

using Texts = std::vector<std::string>;

Texts read(std::string_view field) {
  Arena arena;
  Texts found;
  internal::HeaderList list(field);
  while (const auto element = list.next()) found.emplace_back(element->value(arena));
  return found;
}
std::string written(const Texts& list) {
  std::string field;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) field += ',';
    internal::append_element(field, list[i]);
  }
  return field;
}

TEST(HeaderList, splits_at_commas_outside_of_quotes) {
  EXPECT_EQ(read(""), Texts());
  EXPECT_EQ(read("a"), Texts{"a"});
  EXPECT_EQ(read(" a ,\tb b , c"), (Texts{"a", "b b", "c"}));
  EXPECT_EQ(read(R"("a,b" , "c\"d\\", "")"), (Texts{"a,b", R"(c"d\)", ""}));
  EXPECT_EQ(read(R"(5" pipe, 6" pipe)"), (Texts{R"(5" pipe)", R"(6" pipe)"})) << "quotes within a text are its own";
  EXPECT_EQ(read(R"("a" b, c)"), (Texts{R"("a" b)", "c"})) << "no quoted-string";
  EXPECT_EQ(read(R"("a, b)"), (Texts{R"("a)", "b"})) << "it does not end";
}

// RFC 9110 §5.6.1.2.
TEST(HeaderList, ignores_empty_elements) {
  for (const char* const list : {"a,,b,", ",a,b", " , a ,\t, , b", "a,b,,,"}) {
    EXPECT_EQ(read(list), (Texts{"a", "b"})) << list;
  }
  for (const char* const none : {"", " ", ",", " , \t,"}) EXPECT_EQ(read(none), Texts()) << none;
  EXPECT_EQ(read(R"("",, "a",)"), (Texts{"", "a"})) << "an empty text has quotes";
  EXPECT_EQ(read(std::string(60'000, ',') + 'a'), Texts{"a"});
}

// RFC 8288 §3.5.
TEST(HeaderList, keeps_the_commas_of_a_link) {
  EXPECT_EQ(read(R"(<https://a.example/?x=1,2>; rel="next, last", </b>; title="\",")"),
            (Texts{R"(<https://a.example/?x=1,2>; rel="next, last")", R"(</b>; title="\",")"}));
  EXPECT_EQ(read("<a, b"), (Texts{"<a", "b"}));
  EXPECT_EQ(read(R"(a="x, b)"), (Texts{R"(a="x)", "b"}));
  const Texts links = {R"(<https://a.example/?x=1,2>; rel="next, last")", "</b>"};
  EXPECT_EQ(written(links), R"(<https://a.example/?x=1,2>; rel="next, last",</b>)") << "a Link is no quoted-string";
}

TEST(HeaderList, quotes_what_would_be_read_as_something_else) {
  EXPECT_EQ(written({"a", "b c", R"(d"e)"}), R"(a,b c,d"e)");
  EXPECT_EQ(written({"a,b", "", " c", R"("d")", "<e"}), R"("a,b",""," c","\"d\"","<e")");
  EXPECT_EQ(written({R"(a="b)"}), R"("a=\"b")") << "what follows could end its quotes";
}

TEST(HeaderList, reads_at_random_what_is_written) {
  static constexpr std::string_view pieces[] = {"a", ",",  "\"", "\\",   "=", "<",  ">",
                                                " ", "\t", ";",  "x=\"", "é", "<a>"};
  std::mt19937 random(static_cast<unsigned>(GTEST_FLAG_GET(random_seed)) + 3);
  const auto text = [&] {
    std::string made;
    for (unsigned i = random() % 6; i != 0; --i) made += pieces[random() % std::size(pieces)];
    return made;
  };
  for (int i = 0; i < 20'000; ++i) {
    Texts list(random() % 4);
    for (std::string& one : list) one = text();
    ASSERT_EQ(read(written(list)), list) << written(list);

    std::string field;
    std::vector<std::pair<std::string, std::string>> pairs;
    for (unsigned j = random() % 4; j != 0; --j) {
      std::string pair;
      const std::string name = text();
      const std::string value = text();
      if (!internal::append_pair(pair, name, value)) continue;
      field += (field.empty() ? "" : " , ") + pair;
      pairs.emplace_back(name, value);
    }
    Arena arena;
    internal::HeaderList found(field);
    std::size_t count = 0;
    while (const auto element = found.next()) {
      ASSERT_LT(count, pairs.size()) << field;
      const std::size_t at = element->text.find('=');
      EXPECT_EQ(element->text.substr(0, at), pairs[count].first) << field;
      EXPECT_EQ(internal::unquoted(element->text.substr(at + 1), arena), pairs[count].second) << field;
      ++count;
    }
    ASSERT_EQ(count, pairs.size()) << field;
  }
}

}  // namespace
}  // namespace keel::contract::header_list_test
