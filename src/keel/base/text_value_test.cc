#include "keel/base/text_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace keel::text_value_test {
namespace {

// As a program has it for ids of its own.
class Sku {
 public:
  static constexpr const char* expected = "expected a SKU such as AB-1234";
  static Result<Sku> parse(std::string_view text) {
    if (text.size() != 7) return fail(Code::InvalidArgument, expected);
    Sku sku;
    sku.text_ = text;
    return sku;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};
static_assert(TextValue<Sku>);
static_assert(!TextValue<std::string> && !TextValue<int>);

TEST(ShortText, is_what_was_written_into_it) {
  ShortText<8> text;
  EXPECT_EQ(text.view(), "");

  std::ranges::copy(std::string_view("abc"), text.data());
  text.resize(3);

  EXPECT_EQ(text, "abc");
  EXPECT_EQ(text.size(), 3u);
  EXPECT_EQ(std::string_view(text), "abc");
}

}  // namespace
}  // namespace keel::text_value_test
