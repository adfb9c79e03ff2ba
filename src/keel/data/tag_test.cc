#include "keel/data/tag.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "keel/base/bug.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"

namespace keel::tag_test {

struct Cash {
  int cents = 0;
};

}  // namespace keel::tag_test

template <>
inline constexpr keel::Tag keel::tag_of<keel::tag_test::Cash> = {"type", "in/cash"};

namespace keel::tag_test {
namespace {

struct Card {
  std::string number;
  std::optional<int> cvc;
  static constexpr Tag tag = {"type", "card"};
  static constexpr bool strict_fields = true;

  void rules(Check& check) const { check(number).matches("[0-9]{4}", "must be four digits"); }
};
struct Transfer {
  std::string iban;
  std::string_view reference;
  static constexpr Tag tag = {"type", "transfer"};
};
using By = std::variant<Card, Cash>;
struct Payment {
  By by;
  std::optional<By> instead;
  std::vector<By> others;
  static constexpr std::string_view optional_fields[] = {"others"};
};

template <class T>
std::string error_of(std::string_view text) {
  const Result<T> value = json::parse<T>(text);
  return value ? "" : std::string(value.error().message());
}

TEST(Tag, chooses_the_alternative_of_a_variant_wherever_it_stands) {
  for (const std::string_view text :
       {R"({"by":{"type":"card","number":"4111","cvc":7}})", R"({"by":{"number":"4111","type":"card","cvc":7}})",
        R"({"by":{"cvc":7,"number":"4111","type":"card"}})",
        R"({ "by" : { "cvc" : 7 , "number" : "4111" , "t\u0079pe" : "c\u0061rd" } })"}) {
    const Payment payment = json::parse<Payment>(text).value();
    EXPECT_EQ(std::get<Card>(payment.by).number, "4111") << text;
    EXPECT_EQ(std::get<Card>(payment.by).cvc, 7);
    EXPECT_EQ(payment.instead, std::nullopt);
  }
  const Payment payment =
      json::parse<Payment>(R"({"by":{"cents":3,"type":"in/cash"},"instead":{"type":"card","number":"1234"},)"
                           R"("others":[{"type":"in/cash","cents":1},{"number":"4321","type":"card"}]})")
          .value();
  EXPECT_EQ(std::get<Cash>(payment.by).cents, 3);
  EXPECT_EQ(std::get<Card>(*payment.instead).number, "1234");
  EXPECT_EQ(std::get<Cash>(payment.others[0]).cents, 1);
  EXPECT_EQ(std::get<Card>(payment.others[1]).number, "4321");
}

TEST(Tag, is_written_first) {
  const Payment payment{.by = Card{"4111", {}}, .instead = Cash{2}, .others = {Cash{1}}};
  EXPECT_EQ(json::write(payment), R"({"by":{"type":"card","number":"4111","cvc":null},)"
                                  R"("instead":{"type":"in/cash","cents":2},"others":[{"type":"in/cash","cents":1}]})");
  EXPECT_EQ(json::write(Card{"4111", {}}), R"({"number":"4111","cvc":null})");
}

TEST(Tag, that_is_missing_unknown_or_no_string_is_a_violation) {
  EXPECT_EQ(error_of<Payment>(R"({"by":{"number":"4111"},"others":3})"),
            "/by/type is required; /others: expected an array");
  EXPECT_EQ(error_of<Payment>(R"({"by":{"number":"4111","type":"cheque","x":[1,{}]},"others":3})"),
            "/by/type must be one of card, in/cash; /others: expected an array");
  EXPECT_EQ(error_of<Payment>(R"({"by":{"type":[1],"number":"4111"},"instead":{"type":null}})"),
            "/by/type: expected a string; /instead/type: expected a string");
  EXPECT_EQ(error_of<Payment>(R"({"by":"card","instead":[]})"),
            "/by: expected an object; /instead: expected an object");
  EXPECT_EQ(error_of<Payment>("{}"), "/by is required");
  EXPECT_EQ(error_of<std::vector<By>>(R"([{"type":"card","number":"4111"},{"type":"Card"}])"),
            "/1/type must be one of card, in/cash");
}

TEST(Tag, leaves_the_rest_to_the_alternative) {
  EXPECT_EQ(error_of<Payment>(R"({"by":{"type":"card","number":"x","extra":1}})"),
            "/by/extra is not a field of this object; /by/number must be four digits");
  EXPECT_EQ(error_of<Payment>(R"({"by":{"type":"card"}})"), "/by/number is required");
  EXPECT_EQ(error_of<Payment>(R"({"by":{"cents":"x","type":"in/cash"}})"), "/by/cents: expected an integer");
}

TEST(Tag, that_is_given_twice_makes_the_text_malformed) {
  for (const std::string_view text :
       {R"({"by":{"type":"card","number":"4111","type":"card"}})", R"({"by":{"number":"4111","type":"card","type":1}})",
        R"({"by":{"type":"card","type":"in/cash","number":"4111"}})"}) {
    EXPECT_EQ(error_of<Payment>(text).substr(0, 14), "is given twice") << text;
  }
}

TEST(Tag, does_not_hide_that_a_text_is_no_JSON) {
  const std::string_view text = R"({"by":{"number":"4111","cvc":7,"type":"card"}})";
  for (std::size_t size = 0; size < text.size(); ++size) {
    Payment payment;
    Arena arena;
    Violations wrong;
    EXPECT_FALSE(json::read(payment, text.substr(0, size), arena, wrong));
    EXPECT_TRUE(wrong.is_malformed()) << size;
  }
  EXPECT_EQ(error_of<Payment>(R"({"by":{"type":"x", 3}})"), "expected a key in quotes at line 1 column 20 (/by)");
}

TEST(Tag, of_views_needs_an_arena) {
  using Viewed = std::variant<Card, Transfer>;
  Arena arena;
  const std::string_view text = R"({"reference":"a\nb","iban":"CH","type":"transfer"})";
  const Viewed viewed = json::parse<Viewed>(text, arena).value();
  EXPECT_EQ(std::get<Transfer>(viewed).reference, "a\nb");
}

struct Number {
  int value;
  static constexpr Tag tag = {"type", "number"};
};
struct Sum;
struct Sum {
  std::vector<std::variant<Number, Sum>> of;
  static constexpr Tag tag = {"type", "sum"};
};
using Term = std::variant<Number, Sum>;

std::string nested(int depth, std::string_view innermost) {
  std::string text(innermost);
  for (int i = 0; i < depth; ++i) text = R"({"of":[)" + text + R"(],"type":"sum"})";
  return text;
}

TEST(Tag, may_stand_last_in_variants_within_variants) {
  const Term term = json::parse<Term>(nested(60, R"({"value":1,"type":"number"})")).value();
  const Term* inner = &term;
  for (int i = 0; i < 60; ++i) inner = &std::get<Sum>(*inner).of[0];
  EXPECT_EQ(std::get<Number>(*inner).value, 1);
  EXPECT_EQ(json::parse<Term>(json::write(term)).value().index(), 1u);
}

TEST(Tag, that_stands_last_is_not_looked_for_without_end) {
  std::string list;
  for (int i = 0; i < 20'000; ++i) list += R"({"value":1,"type":"number"},)";
  list.pop_back();  // 540 KB: 1 MiB and eight times that may be read again.
  EXPECT_EQ(error_of<Term>(nested(8, list)), "");
  EXPECT_EQ(error_of<Term>(nested(20, list)).substr(0, 95),
            "objects that need a tag are nested too deeply: the tag of each object must be its first member ");
}

struct Throws {
  int value = 0;
  Throws() = default;
  Throws(const Throws&) { throw 1; }
  Throws& operator=(const Throws&) = default;
  static constexpr auto fields = keel::fields("value", &Throws::value);
  static constexpr Tag tag = {"type", "throws"};
};

TEST(Tag, of_a_variant_without_a_value_is_a_Bug) {
  std::variant<Card, Throws> broken;
  const Throws source;
  try {
    broken.emplace<Throws>(source);
  } catch (int) {
  }
  ASSERT_TRUE(broken.valueless_by_exception());
  EXPECT_THROW(json::write(broken), Bug);
}

}  // namespace
}  // namespace keel::tag_test
