#include "keel/data/json_schema.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "keel/data/date.h"
#include "keel/data/patch.h"
#include "keel/data/tag.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::json_schema_test {

enum class State { Open, InTransit };

struct Size {
  int width = 0;
  static constexpr bool strict_fields = true;
};

struct Everything {
  bool flag = false;
  int number = 0;
  std::int64_t large = 0;
  std::uint8_t small = 0;
  std::uint64_t count = 0;
  float ratio = 0;
  double price = 0;
  std::string name;
  std::string_view view;
  Uuid id;
  Timestamp at;
  Date day;
  State state = State::Open;
  std::vector<std::byte> bytes;
  std::optional<std::string> note;
  std::optional<Size> size;
  Patch<int> change;
  std::vector<Size> sizes;
  std::array<int, 2> pair{};
  std::map<std::string, double> prices;
  json::Value any;
};

struct Node {
  std::vector<Node> children;
  std::optional<State> state;
};

struct Card {
  std::string number;
  static constexpr Tag tag = {"type", "card"};
};
struct Transfer {
  std::string iban;
  static constexpr Tag tag = {"type", "transfer"};
};
struct Payment {
  std::variant<Card, Transfer> by;
  Card alone;
};

struct Ruled {
  std::string sku;
  int quantity = 1;
  double ratio = 0.5;
  std::vector<std::string> tags;
  std::map<std::string, int> counts;
  std::optional<std::string> note;
  std::string state = "open";
  std::int64_t level = 10;
  std::string code;
  Timestamp from;
  Timestamp to;
  static constexpr auto name_case = Case::Camel;
  static constexpr std::string_view optional_fields[] = {"quantity", "ratio", "state"};

  void rules(Check& check) const {
    check(sku).matches("[A-Z]{2}-[0-9]+");
    check(quantity).range(1, 100);
    check(ratio).at_least(0.25);
    check(tags).count(1, 8);
    check.each(tags).length(1, 80);
    check(counts).count_at_most(3);
    check.each(counts).at_most(9);
    check(note).length_at_most(500);
    check(state).one_of("open", "closed");
    check(level).one_of(10, 20);
    check(code).satisfies([](const std::string& text) { return text.size() == 3; }, "must be a code such as NOK");
    check.that(quantity < 50 || level > 10, "a large quantity needs a level");
  }
};

namespace {

TEST(Schemas, say_each_type_as_json_has_it) {
  json::Schemas schemas;

  EXPECT_EQ(schemas.add<Everything>(), R"({"$ref":"#/components/schemas/keel::json_schema_test::Everything"})");

  EXPECT_EQ(schemas.components().at("keel::json_schema_test::Everything"),
            R"({"type":"object","required":["flag","number","large","small","count","ratio","price","name","view",)"
            R"("id","at","day","state","bytes","sizes","pair","prices","any"],"properties":{)"
            R"("flag":{"type":"boolean"},)"
            R"("number":{"type":"integer","format":"int32"},)"
            R"("large":{"type":"integer","format":"int64"},)"
            R"("small":{"type":"integer","minimum":0,"maximum":255},)"
            R"("count":{"type":"integer","minimum":0},)"
            R"("ratio":{"type":"number","format":"float"},)"
            R"("price":{"type":"number"},)"
            R"("name":{"type":"string"},)"
            R"("view":{"type":"string"},)"
            R"("id":{"type":"string","format":"uuid"},)"
            R"("at":{"type":"string","format":"date-time"},)"
            R"("day":{"type":"string","format":"date"},)"
            R"("state":{"$ref":"#/components/schemas/keel::json_schema_test::State"},)"
            R"("bytes":{"type":"string","format":"byte"},)"
            R"("note":{"type":["string","null"]},)"
            R"("size":{"anyOf":[{"$ref":"#/components/schemas/keel::json_schema_test::Size"},{"type":"null"}]},)"
            R"("change":{"type":["integer","null"],"format":"int32"},)"
            R"("sizes":{"type":"array","items":{"$ref":"#/components/schemas/keel::json_schema_test::Size"}},)"
            R"("pair":{"type":"array","items":{"type":"integer","format":"int32"},"minItems":2,"maxItems":2},)"
            R"("prices":{"type":"object","additionalProperties":{"type":"number"}},)"
            R"("any":{}}})");
  EXPECT_EQ(schemas.components().at("keel::json_schema_test::State"),
            R"({"type":"string","enum":["Open","InTransit"]})");
  EXPECT_EQ(schemas.components().at("keel::json_schema_test::Size"),
            R"({"type":"object","required":["width"],"properties":{"width":{"type":"integer","format":"int32"}},)"
            R"("additionalProperties":false})");
}

TEST(Schemas, refer_to_a_type_that_contains_itself) {
  json::Schemas schemas;

  schemas.add<Node>();

  EXPECT_EQ(schemas.components().at("keel::json_schema_test::Node"),
            R"({"type":"object","required":["children"],"properties":{"children":{"type":"array","items":)"
            R"({"$ref":"#/components/schemas/keel::json_schema_test::Node"}},"state":{"anyOf":[)"
            R"({"$ref":"#/components/schemas/keel::json_schema_test::State"},{"type":"null"}]}}})");
}

TEST(Schemas, say_a_variant_by_its_tags) {
  json::Schemas schemas;

  schemas.add<Payment>();

  EXPECT_EQ(schemas.components().at("keel::json_schema_test::Payment"),
            R"({"type":"object","required":["by","alone"],"properties":{"by":{"oneOf":[)"
            R"({"$ref":"#/components/schemas/keel::json_schema_test::Card"},)"
            R"({"$ref":"#/components/schemas/keel::json_schema_test::Transfer"}],)"
            R"("discriminator":{"propertyName":"type","mapping":{)"
            R"("card":"#/components/schemas/keel::json_schema_test::Card",)"
            R"("transfer":"#/components/schemas/keel::json_schema_test::Transfer"}}},)"
            R"("alone":{"$ref":"#/components/schemas/keel::json_schema_test::CardWithoutTag"}}})");
  EXPECT_EQ(schemas.components().at("keel::json_schema_test::Card"),
            R"({"type":"object","required":["type","number"],"properties":{"type":{"type":"string","const":"card"},)"
            R"("number":{"type":"string"}}})");
  EXPECT_EQ(schemas.components().at("keel::json_schema_test::CardWithoutTag"),
            R"({"type":"object","required":["number"],"properties":{"number":{"type":"string"}}})");
}

TEST(Schemas, have_the_rules_of_a_struct_as_keywords) {
  json::Schemas schemas;

  schemas.add<Ruled>();

  EXPECT_EQ(
      schemas.components().at("keel::json_schema_test::Ruled"),
      R"({"type":"object","required":["sku","tags","counts","level","code","from","to"],"properties":{)"
      R"("sku":{"type":"string","pattern":"^(?:[A-Z]{2}-[0-9]+)$"},)"
      R"("quantity":{"type":"integer","format":"int32","minimum":1,"maximum":100,"default":1},)"
      R"("ratio":{"type":"number","minimum":0.25,"default":0.5},)"
      R"("tags":{"type":"array","items":{"type":"string","minLength":1,"maxLength":80},"minItems":1,"maxItems":8},)"
      R"("counts":{"type":"object","additionalProperties":{"type":"integer","format":"int32","maximum":9},)"
      R"("maxProperties":3},)"
      R"("note":{"type":["string","null"],"maxLength":500},)"
      R"("state":{"type":"string","enum":["open","closed"],"default":"open"},)"
      R"("level":{"type":"integer","format":"int64","enum":[10,20]},)"
      R"("code":{"type":"string","description":"Must be a code such as NOK."},)"
      R"("from":{"type":"string","format":"date-time"},)"
      R"("to":{"type":"string","format":"date-time"}}})");
}

TEST(Schemas, list_the_fields_of_a_struct_that_comes_as_text) {
  json::Schemas schemas;

  const std::vector<json::Schemas::Field> fields = schemas.fields<Ruled>();

  ASSERT_EQ(fields.size(), 11);
  EXPECT_EQ(fields[1].name, "quantity");
  EXPECT_EQ(fields[1].schema, R"({"type":"integer","format":"int32","minimum":1,"maximum":100,"default":1})");
  EXPECT_FALSE(fields[1].is_required);
  EXPECT_TRUE(fields[0].is_required);
}

}  // namespace
}  // namespace keel::json_schema_test
