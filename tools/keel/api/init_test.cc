#include "api/init.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "openapi/testing.h"

namespace keel::api::init_test {
namespace {

std::string record(const std::string& operations, const std::string& components = "") {
  return "{\"operations\":[" + operations + "],\"components\":{" + components + "}}";
}
std::string operation(const std::string& method, const std::string& path, const std::string& handler,
                      const std::string& asks = "", const std::string& responses = "") {
  return R"({"path":")" + path + R"(","method":")" + method + R"(","handler":")" + handler + R"(","asks":[)" + asks +
         R"(],"types":[],"responses":[)" + responses + "]}";
}
std::string contract(const std::vector<std::string>& records) {
  std::vector<Record> all;
  for (const std::string& text : records) all.push_back({.file = "record", .text = text});
  const auto document = write_contract(std::move(all), "Shop");
  return document ? *document : document.error().describe();
}
// The lines of a document that contain `word`, without what is before it.
std::vector<std::string> lines_with(std::string_view document, std::string_view word) {
  std::vector<std::string> lines;
  for (std::size_t at = document.find(word); at != document.npos; at = document.find(word, at + 1))
    lines.emplace_back(document.substr(at, document.find('\n', at) - at));
  return lines;
}
using Lines = std::vector<std::string>;

TEST(Init, an_operation_is_called_by_its_handler_and_its_path) {
  const std::string document =
      contract({record(operation("GET", "/orders", "list") + ',' + operation("POST", "/orders", "create") + ',' +
                       operation("GET", "/orders/{id}", "find") + ',' + operation("POST", "/orders/{id}/pay", "pay") +
                       ',' + operation("GET", "/pets", "") + ',' + operation("GET", "/pets/{id}", "") + ',' +
                       operation("POST", "/pets/{id}/feed", "") + ',' + operation("DELETE", "/pets/{id}", "") + ',' +
                       operation("GET", "/entries/latest", "latest_entry"))});

  EXPECT_EQ(lines_with(document, "operationId"),
            (Lines{"operationId: latest_entry", "operationId: list_orders", "operationId: create_order",
                   "operationId: find_order", "operationId: pay_order", "operationId: list_pets",
                   "operationId: get_pet", "operationId: delete_pet", "operationId: feed_pet"}));
}

TEST(Init, a_parameter_keeps_the_text_around_it) {
  const std::string document = contract({record(operation("GET", "/v{version:uint}/reports/{id}.csv", "export"))});

  EXPECT_EQ(lines_with(document, "/v{"), Lines{"/v{version}/reports/{id}.csv:"});
  EXPECT_EQ(lines_with(document, "name: "), (Lines{"name: version", "name: id"}));
  for (const std::string& line : openapi::testing::lint_of(document)) EXPECT_EQ(line.find("error"), line.npos) << line;
}

TEST(Init, two_operations_have_two_names) {
  const std::string document =
      contract({record(operation("PUT", "/orders/{id}", "save") + ',' + operation("POST", "/orders", "save"))});

  EXPECT_EQ(lines_with(document, "operationId"),
            (Lines{"operationId: save_order", "operationId: save_order_put_orders_by_id"}));
  for (const std::string& line : openapi::testing::lint_of(document)) EXPECT_EQ(line.find("error"), line.npos) << line;
}

TEST(Init, records_of_several_programs_are_one_whatever_their_order) {
  const std::string first =
      record(operation("GET", "/a", "", "", R"({"status":200,"content":{"application/json":null},"fields":[]})"));
  const std::string second = record(
      operation("GET", "/a", "", "",
                R"({"status":200,"content":{"application/json":{"$ref":"#/components/schemas/shop::A"}},"fields":[]},)"
                R"({"status":404,"content":{"application/problem+json":null},"fields":["Location"]})"),
      R"("shop::A":{"type":"string"})");

  const std::string document = contract({first, second});

  EXPECT_EQ(document, contract({second, first}));
  EXPECT_EQ(lines_with(document, "$ref: '#/components/schemas/"),
            (Lines{"$ref: '#/components/schemas/A'", "$ref: '#/components/schemas/Problem'",
                   "$ref: '#/components/schemas/Problem'"}));
  EXPECT_NE(document.find("Location:"), document.npos);
  EXPECT_EQ(openapi::testing::lint_of(document), openapi::testing::Lines());
}

TEST(Init, types_with_one_name_are_called_by_more_of_it) {
  const std::string document = contract({record(
      operation("POST", "/a", "", R"({"part":"body","name":"","schema":{"$ref":"#/components/schemas/a::Item"}})") +
          ',' +
          operation("POST", "/b", "", R"({"part":"body","name":"","schema":{"$ref":"#/components/schemas/b::Item"}})") +
          ',' +
          operation("POST", "/c", "",
                    R"({"part":"body","name":"","schema":{"$ref":"#/components/schemas/c::Page<a::Item>"}})"),
      R"("a::Item":{"type":"string"},"b::Item":{"type":"integer"},)"
      R"("c::Page<a::Item>":{"type":"array","items":{"$ref":"#/components/schemas/a::Item"}},"d::Unused":{})")});

  EXPECT_EQ(lines_with(document, "'#/components/schemas/A"),
            (Lines{"'#/components/schemas/AItem'", "'#/components/schemas/AItem'"}));
  EXPECT_EQ(lines_with(document, "'#/components/schemas/B"), (Lines{"'#/components/schemas/BItem'"}));
  EXPECT_EQ(lines_with(document, "'#/components/schemas/Page"), (Lines{"'#/components/schemas/PageItem'"}));
  EXPECT_EQ(document.find("Unused"), document.npos);
}

TEST(Init, what_openapi_cannot_say_is_a_comment) {
  const std::string document =
      contract({record(operation("GET", "/files/{path...}", "") + ',' + operation("GET", "api.example.com/a", "") +
                       ',' + operation("CONNECT", "/b", "") + ',' + operation("GET", "/c", ""))});

  EXPECT_EQ(lines_with(document, "# GET"),
            (Lines{"# GET /files/{path...} is left out: a parameter takes several segments.",
                   "# GET api.example.com/a is left out: its pattern names a host."}));
  EXPECT_EQ(lines_with(document, "# CONNECT"), (Lines{"# CONNECT /b is left out: OpenAPI does not know its method."}));
  EXPECT_EQ(lines_with(document, "# No test"), (Lines{"# No test has called this operation."}));
}

TEST(Init, what_is_no_record_is_an_error) {
  EXPECT_EQ(contract({"{}"}), "record: is not a record of a test");
  EXPECT_TRUE(contract({"{"}).starts_with("record: is not a record of a test: "));
  EXPECT_TRUE(contract({record("")}).starts_with("no operation was recorded"));
}

}  // namespace
}  // namespace keel::api::init_test
