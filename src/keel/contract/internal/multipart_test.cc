#include "keel/contract/internal/multipart.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/http/server/multipart.h"

namespace keel::contract::multipart_test {
namespace {

using internal::is_part_name;
using internal::Multipart;
using internal::SentPart;

http::ClientRequest::Writer writes_nothing() {
  return [](http::ClientBodyWriter&) -> Task<> { co_return; };
}

template <class... Part>
Multipart form_of(Part&&... part) {
  std::vector<SentPart> parts;
  (parts.push_back(std::move(part)), ...);
  return Multipart(std::move(parts));
}

// "name|filename|type=content" of each part, as a server reads them.
std::vector<std::string> parts_of(std::string_view boundary, std::string_view body) {
  std::vector<std::string> parts;
  http::MultipartReader reader(boundary, {});
  while (true) {
    const http::MultipartStep step = reader.feed(body);
    body.remove_prefix(step.consumed);
    if (step.state == http::MultipartState::Part) {
      parts.emplace_back(reader.part().name);
      parts.back().append("|").append(reader.part().filename.value_or("-"));
      parts.back().append("|").append(reader.part().content_type).append("=");
    } else if (step.state == http::MultipartState::Data) {
      parts.back() += step.data;
    } else if (step.state != http::MultipartState::PartEnd) {
      EXPECT_TRUE(reader.finish().has_value());
      return parts;
    }
  }
}

TEST(SentForm, is_read_by_a_server_as_it_was_given) {
  const std::string bytes("\r\n--\0\xff", 6);
  const Multipart form =
      form_of(SentPart{.name = "title", .text = "A"},
              SentPart{.name = "a\"b\\c", .text = bytes, .filename = "x\"\\.png", .content_type = "image/png"},
              SentPart{.name = "empty", .text = "", .filename = ""});
  EXPECT_FALSE(form.is_streamed());
  EXPECT_EQ(form.length(), form.text().size());
  EXPECT_EQ(
      parts_of(form.boundary(), form.text()),
      (std::vector<std::string>{"title|-|text/plain=A", "a\"b\\c|x\"\\.png|image/png=" + bytes, "empty||text/plain="}));
}

TEST(SentForm, of_no_part_is_only_its_end) {
  const Multipart form = form_of();
  EXPECT_EQ(form.text(), "--" + form.boundary() + "--\r\n");
  EXPECT_EQ(form.length(), form.text().size());
}

TEST(SentForm, has_a_boundary_that_no_part_contains) {
  const std::string usual = form_of(SentPart{.name = "a", .text = "b"}).boundary();
  EXPECT_EQ(form_of(SentPart{.name = "a", .text = "c"}).boundary(), usual) << "the same form is the same text";

  const std::string containing = "before " + usual + " after";
  const Multipart other = form_of(SentPart{.name = "a", .text = "x"}, SentPart{.name = "b", .text = containing});
  EXPECT_NE(other.boundary(), usual);
  EXPECT_EQ(parts_of(other.boundary(), other.text()).size(), 2u);
  EXPECT_LE(other.boundary().size(), 70u) << "RFC 2046 §5.1.1";
}

TEST(SentForm, whose_part_is_written_later_has_a_boundary_that_nobody_knows) {
  const auto boundary = [] {
    return form_of(SentPart{.name = "a", .text = {}, .writer = writes_nothing()}).boundary();
  };
  EXPECT_NE(boundary(), boundary());
}

TEST(SentForm, knows_its_length_if_it_knows_that_of_each_part) {
  const auto form = [](std::optional<std::uint64_t> length) {
    return form_of(SentPart{.name = "a", .text = {}, .writer = writes_nothing(), .length = length},
                   SentPart{.name = "b", .text = "text"});
  };
  EXPECT_TRUE(form(5).is_streamed());
  EXPECT_EQ(form(5).length(), form(0).length().value() + 5);
  EXPECT_EQ(form(std::nullopt).length(), std::nullopt);
}

TEST(SentForm, has_no_name_with_a_line_end_or_a_zero_byte) {
  EXPECT_TRUE(is_part_name(""));
  EXPECT_TRUE(is_part_name("a \"b\" \\ é\t"));
  for (const std::string_view name : {std::string_view("a\rb"), std::string_view("a\nb"), std::string_view("a\0b", 3)})
    EXPECT_FALSE(is_part_name(name));
}

}  // namespace
}  // namespace keel::contract::multipart_test
