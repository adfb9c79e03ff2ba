// Which properties of a form are files that are read as they arrive, and what is generated for them.

#include "gen/form_files.h"

#include <gtest/gtest.h>

#include <string>

#include "gen/output.h"
#include "openapi/testing.h"

namespace keel::gen::form_files_test {
namespace {

using namespace keel::openapi::testing;
using openapi::Document;
using openapi::Problems;

struct Output {
  std::string text;  // All files.
  Lines problems;

  // The part from one text up to another.
  std::string between(std::string_view from, std::string_view to) const {
    const std::size_t begin = text.find(from);
    if (begin == std::string::npos) return "none";
    const std::size_t end = text.find(to, begin);
    return end == std::string::npos ? "no end" : text.substr(begin, end + to.size() - begin);
  }
  bool has(std::string_view part) const { return text.find(part) != std::string::npos; }
};
// POST /pictures with this content of its body.
Output output_of(const std::string& content, const std::string& components = {}, bool is_required = true,
                 const Options& options = {.parts = 1, .has_client = true}) {
  const Files files = {{"api.yaml",
                        "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\npaths:\n  /pictures:\n    post:\n"
                        "      operationId: addPicture\n      responses: {'204': {description: Kept.}}\n"
                        "      requestBody:\n        required: " +
                            std::string(is_required ? "true" : "false") + "\n        content:\n" + content +
                            components}};
  Output output;
  Problems problems;
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  for (const File& file : generate(*document, options, problems)) output.text += file.text;
  output.problems = described(problems);
  return output;
}
Output of_schema(const std::string& schema, const std::string& encoding = "{}", const std::string& components = {}) {
  return output_of("          multipart/form-data: {schema: " + schema + ", encoding: " + encoding + "}\n", components);
}
const std::string file = "{type: string, format: binary}";

TEST(FormFiles, are_an_enum_a_parameter_of_the_handler_and_rules) {
  const Output output = of_schema(
      "{type: object, required: [title, picture], properties: {title: {type: string}, picture: {type: string, format: "
      "binary, maxLength: 5000, description: Of the cat.}, more-pages: {type: array, minItems: 2, maxItems: 9, "
      "items: " +
          file + "}}}",
      "{picture: {contentType: 'image/png, Image/*; q=1'}, title: {contentType: text/csv}}");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_EQ(output.between("enum class AddPictureFile", "};\n"),
            "enum class AddPictureFile : std::uint16_t { MorePages, Picture };\n");
  EXPECT_TRUE(output.has("using AddPictureFiles = keel::contract::Files<AddPictureFile>;\n"));
  EXPECT_EQ(output.between("struct AddPictureBody {", "\n\n"), "struct AddPictureBody {\n  std::string title;\n\n");
  EXPECT_EQ(output.between("struct AddPictureRequest {", "};\n"),
            "struct AddPictureRequest {\n  AddPictureBody body;\n};\n");
  EXPECT_EQ(output.between("  virtual keel::Task<AddPictureResponse>", "= 0;"),
            "  virtual keel::Task<AddPictureResponse> add_picture(keel::http::Request& http, const AddPictureRequest& "
            "request,\n                                                     AddPictureFiles files) = 0;");
  EXPECT_EQ(
      output.between("constexpr keel::contract::FileRule add_picture_files[] = {", "\n};\n"),
      "constexpr keel::contract::FileRule add_picture_files[] = {\n"
      "    {.name = \"more-pages\", .is_list = true, .count_min = 2, .count_max = 9},\n"
      "    {.name = \"picture\", .media_types = \"image/png, image/*\", .is_required = true, .bytes_max = 5000},\n"
      "};\n");
  EXPECT_TRUE(output.has("    {\"title\", keel::contract::Form::Text, \"text/csv\"},\n"));
  EXPECT_TRUE(output.has(".streams_body = true"));
  EXPECT_TRUE(output.has(".undeclared = keel::contract::Undeclared::Skipped"));
  EXPECT_EQ(output.between("struct AddPictureUpload {", "};\n\n"),
            "struct AddPictureUpload {\n  std::vector<keel::contract::FormFile> more_pages = {};\n"
            "  // Of the cat.\n  keel::contract::FormFile picture = {};\n};\n\n");
  EXPECT_TRUE(output.has("add_picture(const AddPictureRequest& request, AddPictureUpload& files,"));
}

TEST(FormFiles, alone_make_a_request_without_a_body) {
  const std::string schema = "{type: object, additionalProperties: false, properties: {a: " + file + "}}";
  const Output output = of_schema(schema);

  EXPECT_EQ(output.problems, Lines());
  EXPECT_EQ(output.between("struct AddPictureRequest {", "};\n"), "struct AddPictureRequest {\n};\n");
  EXPECT_TRUE(output.has(".undeclared = keel::contract::Undeclared::Rejected"));
  EXPECT_TRUE(output.has("  call.out().files_body(\"multipart/form-data\");\n"));
  EXPECT_TRUE(output.has("  keel::Task<AddPictureResult> add_picture(AddPictureUpload& files,"));
  EXPECT_TRUE(output.has("  std::optional<keel::contract::FormFile> a = {};\n"));
  EXPECT_TRUE(output_of("          multipart/form-data: {schema: " + schema + "}\n", "", false)
                  .has("  call.out().files_body(\"multipart/form-data\", false);\n"));
}

TEST(FormFiles, may_be_in_a_component_and_in_the_parts_of_an_all_of) {
  const Output output = of_schema(
      "{allOf: [{$ref: '#/components/schemas/Named'}, {type: object, required: [a], properties: {a: " + file +
          ", size: {type: integer}}}]}",
      "{}",
      "components:\n  schemas:\n    Named: {type: object, required: [name, b], properties: {name: {type: string}, b: " +
          file + "}}\n");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_EQ(output.between("struct AddPictureBody {", "\n\n"),
            "struct AddPictureBody {\n  std::string name;\n  std::optional<std::int64_t> size{};\n\n");
  EXPECT_TRUE(output.has("std::vector<std::byte> b;")) << "the component has it";
  EXPECT_TRUE(output.has("{.name = \"a\", .is_required = true},\n    {.name = \"b\", .is_required = true},\n"));
}

TEST(FormFiles, are_limited_by_each_part_that_describes_them) {
  const Output output = of_schema(
      "{allOf: [{type: object, properties: {a: {type: string, format: binary, maxLength: 9, description: Of a cat.}}}, "
      "{type: object, required: [a], properties: {a: {maxLength: 5, minLength: 1}}}]}");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("{.name = \"a\", .is_required = true, .bytes_min = 1, .bytes_max = 5},\n")) << output.text;
  EXPECT_TRUE(output.has("  // Of a cat.\n  keel::contract::FormFile a = {};\n"));
}

TEST(FormFiles, are_strings_of_another_media_type_as_well) {
  const std::string properties =
      "{type: object, properties: {a: {type: string, contentMediaType: image/png}, b: {type: string, contentMediaType: "
      "text/csv}, c: {type: string, contentMediaType: image/png, contentEncoding: base64}}}";
  const Output output = of_schema(properties);

  EXPECT_EQ(output.problems, Lines());
  EXPECT_EQ(output.between("FileRule add_picture_files[] = {", "\n};\n"),
            "FileRule add_picture_files[] = {\n    {.name = \"a\", .media_types = \"image/png\"},\n};\n");
  EXPECT_TRUE(
      of_schema(properties, "{a: {contentType: image/gif}}").has("{.name = \"a\", .media_types = \"image/gif\"}"));
}

TEST(FormFiles, need_no_type_of_json) {
  const Output output = of_schema(
      "{type: object, properties: {a: {contentMediaType: image/png}, b: {}, c: {}, d: {type: array, items: {}}, e: "
      "{contentMediaType: application/json}, f: {}}}",
      "{b: {contentType: 'image/png, image/jpeg'}, c: {contentType: text/csv}, d: {contentType: application/pdf}}");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_EQ(output.between("FileRule add_picture_files[] = {", "\n};\n"),
            "FileRule add_picture_files[] = {\n"
            "    {.name = \"a\", .media_types = \"image/png\"},\n"
            "    {.name = \"b\", .media_types = \"image/png, image/jpeg\"},\n"
            "    {.name = \"d\", .media_types = \"application/pdf\", .is_list = true},\n"
            "};\n");
  EXPECT_TRUE(output.has("  std::optional<keel::json::Value> c{};\n"));
}

TEST(FormFiles, keep_the_fields_that_the_schema_does_not_name) {
  const Output output =
      of_schema("{type: object, additionalProperties: {type: string}, properties: {a: " + file + "}}");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("  std::map<std::string, std::string> body;\n"));
  EXPECT_TRUE(output.has(".undeclared = keel::contract::Undeclared::Kept"));
}

TEST(FormFiles, are_kept_in_memory_where_a_keyword_takes_them_and_the_fields_together) {
  for (const std::string keyword : {"minProperties: 1", "dependentRequired: {a: [b]}", "not: {required: [a, b]}",
                                    "additionalProperties: {type: string, format: binary}"}) {
    const Output output =
        of_schema("{type: object, properties: {a: " + file + ", b: {type: string}}, " + keyword + '}');
    EXPECT_EQ(
        output.problems,
        Lines{"api.yaml:11:11: warning: the files of this form are kept in memory: only a form whose schema has no '" +
              keyword.substr(0, keyword.find(':')) +
              "' is read as it arrives (#/paths/~1pictures/post/requestBody/content/multipart~1form-data)"});
    EXPECT_TRUE(output.has("std::optional<std::vector<std::byte>> a{};"));
  }
}

TEST(FormFiles, are_kept_in_memory_where_the_body_may_have_another_type) {
  const std::string schema = "{schema: {$ref: '#/components/schemas/Form'}}\n";
  const Output output = output_of("          multipart/form-data: " + schema + "          application/json: " + schema,
                                  "components: {schemas: {Form: {type: object, properties: {a: " + file + "}}}}\n");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("std::optional<std::vector<std::byte>> a{};"));
  EXPECT_FALSE(output.has("keel::contract::Files<"));
}

TEST(FormFiles, have_the_same_code_without_a_server) {
  const Output output =
      output_of("          multipart/form-data: {schema: {type: object, properties: {a: " + file + "}}}\n", "", true,
                {.parts = 1, .has_server = false, .has_client = true});

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("struct AddPictureUpload {"));
  EXPECT_FALSE(output.has("keel::contract::Files<"));
}

TEST(FormFiles, check_the_types_of_fields_whose_form_is_read_whole) {
  const Output output = output_of(
      "          application/x-www-form-urlencoded: &form {schema: {$ref: '#/components/schemas/Form'}, encoding: {a: "
      "{contentType: text/csv}, b: {contentType: application/a+json}, c: {contentType: application/xml}}}\n"
      "          multipart/form-data: *form\n",
      "components: {schemas: {Form: {type: object, properties: {a: {type: string}, b: {type: object}, c: {type: "
      "object}}}}}\n");

  EXPECT_TRUE(output.has("    {\"a\", keel::contract::Form::Text, \"text/csv\"},\n"));
  EXPECT_TRUE(output.has("    {\"a\", keel::contract::Form::Text},\n")) << "urlencoded";
  EXPECT_TRUE(output.has("    {\"b\", keel::contract::Form::Json, \"application/a+json\"},\n"));
  EXPECT_FALSE(output.has("application/xml\"},\n"));
}

}  // namespace
}  // namespace keel::gen::form_files_test
