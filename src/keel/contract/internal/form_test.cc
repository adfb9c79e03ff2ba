#include "keel/contract/internal/form.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/json_reader.h"

namespace keel::contract::form_test {
namespace {

using internal::check_media_type;
using internal::is_of_media_types;
using internal::only_type_of;
using internal::Pair;
using internal::part_of;

constexpr Field fields[] = {{"file", Form::File, "image/png, image/gif"},
                            {"files", Form::FileList, "image/*"},
                            {"lines", Form::JsonList},
                            {"size", Form::Bare},
                            {"tags", Form::TextList, "text/csv"},
                            {"title", Form::Text}};

struct Line {
  std::string sku;
};
struct Body {
  std::optional<std::string> title;
  std::optional<std::int64_t> size;
  std::vector<std::string> tags;
  std::vector<Line> lines;
  static constexpr std::string_view optional_fields[] = {"tags", "lines"};
};
void read_body(json::Reader& in, void* to, Violations& wrong) { json::internal::read_field<Body>(in, to, wrong); }

// The JSON of a form; the names that are given twice after it.
std::string members(std::vector<Pair> pairs, Form others = Form::Either) {
  internal::Texts texts;
  std::string twice;
  write_members(texts, pairs, fields, others, [&](std::string_view name) { twice.append(" twice: ").append(name); });
  return std::string(texts.text().view()) + twice + (texts.problem() != nullptr ? texts.problem() : "");
}

// "name: message" of each violation.
std::string read(std::vector<Pair> pairs, Body& body) {
  Arena arena;
  Violations wrong;
  read_fields(arena, pairs, fields, Form::Either, &read_body, &body, wrong);
  std::string all;
  for (const Violation& one : wrong) all += one.pointer + ": " + one.message + '\n';
  return all;
}

std::string wrong_type(std::string_view name, std::string_view content_type) {
  http::FormPart part;
  part.name = name;
  part.content_type = content_type;
  Violations wrong;
  check_media_type(part, fields, wrong);
  return wrong.empty() ? std::string() : wrong[0].pointer + ": " + wrong[0].message;
}

TEST(FormFields, are_named_as_forms_name_what_is_within_them) {
  EXPECT_EQ(part_of(""), "");
  EXPECT_EQ(part_of("/"), "");
  EXPECT_EQ(part_of("/lines"), "[lines]");
  EXPECT_EQ(part_of("/lines/2/sku"), "[lines][2][sku]");
  EXPECT_EQ(part_of("/a~1b~0c"), "[a/b~c]");
  EXPECT_EQ(part_of("/a~"), "[a~]");
}

TEST(FormFields, become_the_members_of_an_object) {
  EXPECT_EQ(members({}), "{}");
  EXPECT_EQ(members({{"title", "5"}, {"size", "5"}, {"other", "5"}, {"more", "x"}}),
            R"({"title":"5","size":5,"other":5,"more":"x"})");
  EXPECT_EQ(members({{"other", "5"}}, Form::Text), R"({"other":"5"})");
  EXPECT_EQ(members({{"size", ""}, {"title", ""}}), R"({"title":""})") << "an input that is not filled in";
}

TEST(FormFields, that_are_repeated_become_a_list_or_are_said) {
  EXPECT_EQ(members({{"tags", "a"}, {"title", "x"}, {"tags", "b"}}), R"({"tags":["a","b"],"title":"x"})");
  EXPECT_EQ(members({{"tags", "[1]"}}), R"({"tags":["[1]"]})");
  EXPECT_EQ(members({{"title", "a"}, {"title", "b"}, {"title", "c"}}), R"({"title":"a"} twice: title)");
}

TEST(FormFields, may_be_a_list_of_json_in_one_or_in_several) {
  EXPECT_EQ(members({{"lines", R"( [{"sku":"a"}] )"}}), R"({"lines": [{"sku":"a"}] })");
  EXPECT_EQ(members({{"lines", R"({"sku":"a"})"}}), R"({"lines":[{"sku":"a"}]})");
  EXPECT_EQ(members({{"lines", "[1]"}, {"lines", "2"}}), R"({"lines":[[1],2]})");
}

TEST(FormFields, are_read_into_a_value) {
  Body body;
  EXPECT_EQ(read({{"title", "A"}, {"size", "3"}, {"tags", "x"}, {"lines", R"({"sku":"tea"})"}}, body), "");
  EXPECT_EQ(body.title, "A");
  EXPECT_EQ(body.size, 3);
  EXPECT_EQ(body.tags, std::vector<std::string>{"x"});
  ASSERT_EQ(body.lines.size(), 1u);
  EXPECT_EQ(body.lines[0].sku, "tea");
}

TEST(FormFields, that_are_wrong_are_named) {
  Body body;
  EXPECT_EQ(read({{"size", "x"}}, body), "size: expected an integer\n");
  EXPECT_EQ(read({{"lines", R"([{"sku":"a"},{}])"}}, body), "lines[1][sku]: is required\n");
  EXPECT_EQ(read({{"title", "a"}, {"title", "b"}, {"size", "x"}}, body), "title: is given more than once\n");
  EXPECT_EQ(read({{"title", "\xff"}}, body), ": expected UTF-8\n");
}

TEST(FormFields, have_the_media_types_of_their_encoding) {
  EXPECT_TRUE(is_of_media_types("image/png", ""));
  EXPECT_TRUE(is_of_media_types("image/GIF; a=b", "image/png, image/gif"));
  EXPECT_FALSE(is_of_media_types("image/gif", "image/png"));
  EXPECT_FALSE(is_of_media_types("", "image/*"));
  EXPECT_EQ(only_type_of("image/png"), "image/png");
  EXPECT_EQ(only_type_of("image/png, image/gif"), "");
  EXPECT_EQ(only_type_of("image/*"), "");

  EXPECT_EQ(wrong_type("file", "image/gif"), "");
  EXPECT_EQ(wrong_type("file", "text/plain"), "file: must be sent as image/png, image/gif") << "that of a part without";
  EXPECT_EQ(wrong_type("files", "text/plain"), "files: must be sent as image/*");
  EXPECT_EQ(wrong_type("tags", "text/plain"), "") << "a field that is no file may be sent without a type";
  EXPECT_EQ(wrong_type("tags", "text/html"), "tags: must be sent as text/csv");
  EXPECT_EQ(wrong_type("title", "text/html"), "");
  EXPECT_EQ(wrong_type("other", "text/html"), "");
}

}  // namespace
}  // namespace keel::contract::form_test
