// What is generated from testdata/shapes.yaml: it compiles, reads, checks and writes.

#include "shapes/types.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"

namespace keel::gen::shapes_test {
namespace {

using Lines = std::vector<std::string>;

template <class T>
Lines wrong_with(std::string_view text) {
  T value;
  Arena arena;
  Violations wrong;
  json::read(value, text, arena, wrong);
  Lines lines;
  for (const Violation& one : wrong) lines.push_back(one.pointer + ' ' + one.message);
  return lines;
}
template <class T>
Lines keywords_of(std::string_view text) {
  T value;
  Arena arena;
  Violations wrong;
  json::read(value, text, arena, wrong);
  Lines lines;
  for (const Violation& one : wrong) lines.push_back(one.pointer + ' ' + std::string(one.keyword));
  return lines;
}
template <class T>
T read(std::string_view text) {
  const auto value = json::parse<T>(text);
  EXPECT_TRUE(value) << text << ": " << value.error().message();
  return value ? *value : T();
}
// What is read is written as `text`, and read back equal.
template <class T>
void goes_round(std::string_view text) {
  const T value = read<T>(text);
  EXPECT_EQ(json::write(value), text);
  EXPECT_EQ(read<T>(json::write(value)), value);
}

const std::string product = R"("price":1.5,"category":"in-stock","created":"2026-11-24T12:00:37Z")";

TEST(Shapes, a_product_is_read_and_written) {
  const auto value =
      read<shapes::Product>(R"({"name":"Book",)" + product + R"(,"tags":["a"],"class":"x","note":null})");

  EXPECT_EQ(value.name, "Book");
  EXPECT_EQ(value.id, 0);  // readOnly: it need not come.
  EXPECT_EQ(value.amount, 20);
  EXPECT_EQ(value.category, shapes::Category::InStock);
  EXPECT_EQ(value.class_, "x");
  EXPECT_TRUE(value.note.is_null());
  EXPECT_EQ(json::write(value), R"({"amount":20,"category":"in-stock","class":"x","created":"2026-11-24T12:00:37Z",)"
                                R"("id":0,"name":"Book","note":null,"price":1.5,"tags":["a"]})");
  EXPECT_EQ(read<shapes::Product>(json::write(value)), value);
}

TEST(Shapes, lists_with_the_same_rule_check_their_own_elements) {
  goes_round<shapes::Codes>(
      R"({"codes":["1"],"few":["ab"],"few_or_null":[["cat"],null],"few_words":["cat"],"limits":{"a":5},)"
      R"("sizes":{"a":6},"words":["cat"]})");
  EXPECT_EQ(
      wrong_with<shapes::Codes>(R"({"codes":["cat"],"few":["cat"],"few_or_null":[["a","a"]],"few_words":["a","b","c"],)"
                                R"("limits":{"a":6},"sizes":{"a":1,"b":2,"c":3},"words":["a","a"]})"),
      (Lines{"/codes/0 must match ^[0-9]+$", "/few/0 must have at most 2 characters",
             "/few_or_null/0 must not have two equal elements", "/few_words must have at most 2 elements",
             "/limits/a must be at most 5", "/sizes must have at most 2 elements",
             "/words must not have two equal elements"}));
}

TEST(Shapes, every_violation_of_a_product_is_told) {
  EXPECT_EQ(
      wrong_with<shapes::Product>(
          R"({"name":"","price":0,"category":"toys","created":"today","amount":101,"tags":["a","a"],"sku":"x",)"
          R"("size":{"height":0.25},"note":"12345678901"})"),
      (Lines{"/name must have 1 to 200 characters", "/price must be greater than 0",
             "/category must be one of books, in-stock, +1, -1, 200",
             "/created expected a time such as 2026-11-24T12:00:37.250Z (RFC 3339)", "/amount must be from 1 to 100",
             "/tags must not have two equal elements", "/sku must match ^[A-Z]{2}-[0-9]+$",
             "/size/height must be at least 0.5", "/size/width is required", "/note must have at most 10 characters"}));
  EXPECT_EQ(wrong_with<shapes::Product>(R"({"tags":["a","b","c","d"]})"),
            (Lines{"/tags must have at most 3 elements", "/category is required", "/created is required",
                   "/name is required", "/price is required"}));
  EXPECT_EQ(wrong_with<shapes::Product>(R"({"name":"a","tags":["","b"],)" + product + '}'),
            (Lines{"/tags/0 must have at least 1 character"}));
  EXPECT_EQ(wrong_with<shapes::Product>(R"({"name":"a","name":"b",)" + product + '}'), (Lines{"/name is given twice"}));
}

TEST(Shapes, a_violation_names_its_keyword) {
  const std::string rest = R"(,"category":"books","created":"2026-11-24T12:00:37Z")";
  EXPECT_EQ(
      keywords_of<shapes::Product>(
          R"({"name":"","price":0,"category":"toys","created":"today","amount":101,"tags":["a","a"],"sku":"x",)"
          R"("size":{"height":0.25},"note":"12345678901"})"),
      (Lines{"/name minLength", "/price exclusiveMinimum", "/category enum", "/created format", "/amount maximum",
             "/tags uniqueItems", "/sku pattern", "/size/height minimum", "/size/width required", "/note maxLength"}));
  EXPECT_EQ(keywords_of<shapes::Product>(R"({"name":")" + std::string(201, 'a') + R"(","price":1,"amount":0)" + rest +
                                         R"(,"tags":["a","b","c","d"]})"),
            (Lines{"/name maxLength", "/amount minimum", "/tags maxItems"}));
  EXPECT_EQ(keywords_of<shapes::Numbers>(R"({"big":9223372036854775807,"decimal":0.35,"fixed":8,"one_of":4,)"
                                         R"("unsigned":-1,"bytes":"?"})"),
            (Lines{"/big maximum", "/decimal multipleOf", "/fixed const", "/one_of enum", "/unsigned minimum",
                   "/bytes format"}));
  EXPECT_EQ(keywords_of<shapes::Closed>(R"({"a":"1","b":2})"), (Lines{"/a type", "/b additionalProperties"}));
  EXPECT_EQ(keywords_of<shapes::Pet>(R"({"kind":"cow"})"), (Lines{"/kind enum"}));
  EXPECT_EQ(keywords_of<shapes::Pet>("{}"), (Lines{"/kind required"}));
  EXPECT_EQ(keywords_of<shapes::Shape>(R"({"name":"x"})"), (Lines{" oneOf"}));
  EXPECT_EQ(keywords_of<shapes::HoldsMixed>(R"({"mixed":true})"), (Lines{"/mixed type"}));
  EXPECT_EQ(keywords_of<shapes::HoldsMap>(R"({"counts":{}})"), (Lines{"/counts minProperties"}));
}

TEST(Shapes, optional_is_not_null_and_a_patch_is_three_things) {
  const auto value =
      read<shapes::Nullability>(R"({"required":1,"required_null":null,"patch":null,"list_of_null":[null,true]})");

  EXPECT_EQ(value.required_null, std::nullopt);
  EXPECT_EQ(value.optional, std::nullopt);
  EXPECT_TRUE(value.patch.is_null());
  EXPECT_TRUE(value.by_any_of.is_absent());
  EXPECT_EQ(value.list_of_null->at(1), true);
  EXPECT_EQ(json::write(value),
            R"({"default_null":null,"list_of_null":[null,true],"patch":null,"required":1,"required_null":null})");
  EXPECT_EQ(wrong_with<shapes::Nullability>(R"({"required":null,"optional":null})"),
            (Lines{"/required expected an integer", "/optional expected an integer", "/required_null is required"}));
  goes_round<shapes::Nullability>(
      R"({"by_any_of":"books","default_null":"x","optional":2,"patch":3,"required":1,"required_null":4})");
}

TEST(Shapes, a_default_stays_when_nothing_comes) {
  const auto value = read<shapes::Defaults>("{}");

  EXPECT_EQ(value, shapes::Defaults());
  EXPECT_EQ(value.text, "a \"quoted\" text");
  EXPECT_EQ(value.number, 1);
  EXPECT_TRUE(value.flag);
  EXPECT_EQ(value.category, shapes::Category::InStock);
  EXPECT_EQ(value.list, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(value.map.at("a"), 1);
  EXPECT_EQ(json::write(value.any), R"({"a":[1,null]})");
  EXPECT_EQ(value.id.text(), "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50");
  EXPECT_EQ(value.nested.y, 2);
  EXPECT_EQ(read<shapes::Defaults>(R"({"list":[],"flag":false})").list, std::vector<std::string>());
}

TEST(Shapes, write_only_must_come_and_need_not_go) {
  EXPECT_EQ(wrong_with<shapes::Account>(R"({"login":"ann"})"), (Lines{"/password is required"}));
  EXPECT_EQ(wrong_with<shapes::Account>(R"({"login":"ann","password":"short"})"),
            (Lines{"/password must have at least 8 characters"}));
  EXPECT_EQ(json::write(shapes::Account{.login = "ann"}), R"({"login":"ann"})");
}

// The violations that are found in `text`, read as a request or as a response.
template <class T>
Lines wrong_in(bool is_response, std::string_view text) {
  T value;
  Arena arena;
  Violations wrong;
  json::read(value, text, arena, wrong, {.is_response = is_response});
  Lines lines;
  for (const Violation& one : wrong) lines.push_back(one.pointer + ' ' + one.message);
  return lines;
}
template <class T>
std::string written(json::Writer::Omit omit, const T& value) {
  Buffer text;
  json::Writer out(text, omit);
  value.write_json(out);
  return std::string(text.view());
}

// OpenAPI 3.1.1 §4.8.24.2.
TEST(Shapes, what_is_required_depends_on_the_direction) {
  EXPECT_EQ(wrong_in<shapes::Account>(false, R"({"login":"ann"})"), (Lines{"/password is required"}));
  EXPECT_EQ(wrong_in<shapes::Account>(true, R"({"login":"ann"})"), Lines());
  EXPECT_EQ(wrong_in<shapes::Product>(false, R"({"name":"a",)" + product + '}'), Lines());
  EXPECT_EQ(wrong_in<shapes::Product>(true, R"({"name":"a",)" + product + '}'), (Lines{"/id is required"}));
  // Checked ahead.
  EXPECT_EQ(wrong_in<shapes::Member>(false, R"({"name":"a","secret":"s"})"), Lines());
  EXPECT_EQ(wrong_in<shapes::Member>(false, R"({"name":"a"})"), (Lines{"/secret is required"}));
  EXPECT_EQ(wrong_in<shapes::Member>(true, R"({"name":"a"})"), (Lines{"/id is required", "/since is required"}));
  EXPECT_EQ(wrong_in<shapes::Member>(true, R"({"id":1,"name":"a","since":"2026-11-24T12:00:37Z"})"), Lines());
  EXPECT_EQ(wrong_in<shapes::Member>(false, R"({"name":"a","secret":"s","nick":"n"})"), Lines());
  EXPECT_EQ(wrong_in<shapes::Member>(false, R"({"name":"a","secret":"s","nick":"n","id":1})"),
            (Lines{" is not allowed here"}))
      << "within `not` a required name is taken as it is";
  EXPECT_EQ(wrong_in<shapes::Memberships>(false, R"({"members":[{"name":"a","secret":"s"}]})"), Lines());
  EXPECT_EQ(wrong_in<shapes::Memberships>(true, R"({"members":[]})"), (Lines{"/total is required"}));
  EXPECT_EQ(wrong_in<shapes::Memberships>(true, R"({"members":[{"name":"a"}],"total":1})"),
            (Lines{"/members/0/id is required", "/members/0/since is required"}));
}

TEST(Shapes, what_is_written_depends_on_the_direction) {
  const shapes::Member member = {.id = 1, .name = "a", .nick = "n", .secret = "s", .since = {}};
  EXPECT_EQ(written(json::Writer::Omit::ReadOnly, member), R"({"name":"a","secret":"s"})");
  EXPECT_EQ(written(json::Writer::Omit::WriteOnly, member),
            R"({"id":1,"name":"a","nick":"n","since":"1970-01-01T00:00:00Z"})");
  EXPECT_EQ(written(json::Writer::Omit::Nothing, member),
            R"({"id":1,"name":"a","nick":"n","secret":"s","since":"1970-01-01T00:00:00Z"})");
}

TEST(Shapes, a_discriminator_chooses_and_its_value_is_kept) {
  const auto puppy = read<shapes::Pet>(R"({"name":"Rex","kind":"puppy"})");

  ASSERT_TRUE(std::holds_alternative<shapes::Dog>(puppy));
  EXPECT_EQ(std::get<shapes::Dog>(puppy).kind, "puppy");
  EXPECT_EQ(json::write(puppy), R"({"kind":"puppy","name":"Rex"})");
  const shapes::Pet cat = shapes::Cat{.lives = 9, .name = "Tom"};
  EXPECT_EQ(json::write(cat), R"({"kind":"cat","lives":9,"name":"Tom"})");
  EXPECT_EQ(read<shapes::Pet>(json::write(cat)), cat);
  EXPECT_EQ(wrong_with<shapes::Pet>(R"({"kind":"cow","name":"x"})"), (Lines{"/kind must be one of cat, dog, puppy"}));
  EXPECT_EQ(wrong_with<shapes::Pet>(R"({"name":"x"})"), (Lines{"/kind is required"}));
  EXPECT_EQ(wrong_with<shapes::Pet>(R"({"kind":"cat"})"), (Lines{"/lives is required", "/name is required"}));
  EXPECT_EQ(wrong_with<shapes::Pet>("[]"), (Lines{" expected an object"}));
}

TEST(Shapes, alternatives_are_chosen_by_what_only_one_requires) {
  EXPECT_TRUE(std::holds_alternative<shapes::Card>(read<shapes::Payment>(R"({"card_number":"1"})")));
  EXPECT_TRUE(std::holds_alternative<shapes::Transfer>(read<shapes::Payment>(R"({"x":1,"iban":"1"})")));
  EXPECT_EQ(read<shapes::Payment>(R"({"coins":3})").index(), 2u);
  EXPECT_EQ(wrong_with<shapes::Payment>(R"({"iban":1})"), (Lines{"/iban expected a string"}));
  EXPECT_EQ(wrong_with<shapes::Shape>(R"({"name":"x"})"), (Lines{" must have radius or side"}));
  goes_round<shapes::Shape>(R"({"name":"x","side":2})");
}

TEST(Shapes, alternatives_are_chosen_by_constants) {
  EXPECT_EQ(read<shapes::Event>(R"({"type":"merged","at":1})").index(), 1u);
  EXPECT_EQ(read<shapes::Event>(R"({"by":"ann","type":"opened"})").index(), 0u);
  EXPECT_EQ(wrong_with<shapes::Event>(R"({"type":"lost"})"), (Lines{"/type must be one of closed, merged, opened"}));
  EXPECT_EQ(json::write(shapes::Event(shapes::EventOpened{})), R"({"type":"opened"})");
}

TEST(Shapes, an_alternative_that_has_alternatives_is_chosen_by_the_constants_of_these) {
  const auto text = read<shapes::Block>(R"({"type":"text","text":"a"})");
  EXPECT_EQ(std::get<shapes::EssentialText>(std::get<shapes::Essential>(text)).text, "a");
  EXPECT_EQ(std::get<shapes::Essential>(read<shapes::Block>(R"({"type":"rule"})")).index(), 1u);
  EXPECT_EQ(read<shapes::Block>(R"({"type":"image"})").index(), 1u);
  EXPECT_EQ(wrong_with<shapes::Block>(R"({"type":"sound"})"), (Lines{"/type must be one of image, rule, text"}));
}

TEST(Shapes, a_discriminator_takes_the_constants_of_an_alternative_that_its_name_is_not_among) {
  const auto filter = read<shapes::Filter>(R"({"op":"or","parts":[{"op":"eq","key":"a"},{"key":"b","op":"ne"}]})");
  const auto& compound = std::get<shapes::FilterCompound>(filter);
  ASSERT_EQ(compound.parts.size(), 2u);
  EXPECT_EQ(std::get<shapes::Comparison>(compound.parts[1]).key, "b");
  EXPECT_EQ(wrong_with<shapes::Filter>(R"({"op":"Comparison","key":"a"})"),
            (Lines{"/op must be one of and, eq, ne, or"}));
}

TEST(Shapes, alternatives_are_chosen_by_kind) {
  EXPECT_EQ(std::get<std::string>(*read<shapes::HoldsMixed>(R"({"mixed":"a"})").mixed), "a");
  EXPECT_EQ(std::get<std::int64_t>(*read<shapes::HoldsMixed>(R"({"mixed":1})").mixed), 1);
  EXPECT_EQ(read<shapes::HoldsMixed>(R"({"mixed":null})").mixed, std::nullopt);
  EXPECT_EQ(wrong_with<shapes::HoldsMixed>(R"({"mixed":true})"),
            (Lines{"/mixed expected an integer, a string, an array or an object"}));
  EXPECT_EQ(wrong_with<shapes::HoldsMixed>(R"({"mixed":{"x":1}})"), (Lines{"/mixed/y is required"}));
  goes_round<shapes::HoldsMixed>(R"({"mixed":["a","b"]})");
  goes_round<shapes::HoldsMixed>(R"({"mixed":{"x":1,"y":2}})");
}

TEST(Shapes, a_type_may_contain_itself) {
  goes_round<shapes::Tree>(
      R"({"by_name":{"a":{"value":1}},"children":[{"value":2}],"other":null,"parent":{"value":3},"value":4})");
  EXPECT_EQ(wrong_with<shapes::Tree>(R"({"value":1,"parent":{"value":1,"children":[{}]}})"),
            (Lines{"/parent/children/0/value is required"}));
  EXPECT_EQ(wrong_with<shapes::Tree>(R"({"value":1,"parent":null})"), (Lines{"/parent expected an object"}));
  goes_round<shapes::Expression>(R"({"left":1.5,"right":{"left":2,"right":3}})");
  goes_round<shapes::JsonLike>(R"({"a":["x",{"b":"y"}]})");
  const auto tree = read<shapes::Tree>(R"({"value":1,"parent":{"value":2}})");
  EXPECT_EQ(tree.parent->value, 2);
}

TEST(Shapes, other_members_are_rejected_passed_over_or_kept) {
  EXPECT_EQ(wrong_with<shapes::Closed>(R"({"a":1,"b":2})"), (Lines{"/b is not a field of this object"}));
  EXPECT_EQ(wrong_with<shapes::Empty>(R"({"b":2})"), (Lines{"/b is not a field of this object"}));
  EXPECT_EQ(wrong_with<shapes::Point>(R"({"x":1,"y":2,"z":3})"), Lines());
  const auto open = read<shapes::Open>(R"({"first":"aa","id":1,"second":"bb"})");
  EXPECT_EQ(open.additional.at("second"), "bb");
  EXPECT_EQ(json::write(open), R"({"id":1,"first":"aa","second":"bb"})");
  EXPECT_EQ(wrong_with<shapes::Open>(R"({"first":"a"})"),
            (Lines{"/first must have at least 2 characters", "/id is required"}));
  EXPECT_EQ(wrong_with<shapes::HoldsMap>(R"({"counts":{}})"), (Lines{"/counts must have at least 1 element"}));
  EXPECT_EQ(wrong_with<shapes::HoldsMap>(R"({"counts":{"a":6,"b":1,"c":7}})"),
            (Lines{"/counts/a must be at most 5", "/counts/c must be at most 5"}));
}

TEST(Shapes, odd_names_are_those_of_the_document) {
  const std::string text =
      R"({"":1,"$ref-like":2,"2nd":3,"URLPath":4,"a\"b\\":5,"größe":6,"new":7,"petType":8,"pet_type":9})";
  const auto value = read<shapes::OddNames>(text);

  EXPECT_EQ(value.a_b, 5);
  EXPECT_EQ(value.gr_u00f6_u00dfe, 6);
  EXPECT_EQ(value.new_, 7);
  EXPECT_EQ(value.pet_type_2, 8);
  EXPECT_EQ(value.pet_type, 9);
  goes_round<shapes::OddNames>(text);
  EXPECT_EQ(wrong_with<shapes::OddNames>(R"({"a\"b\\":"x"})"), (Lines{"/a\"b\\ expected an integer"}));
}

TEST(Shapes, numbers_and_bytes_are_as_their_keywords_say) {
  goes_round<shapes::Numbers>(
      R"({"big":-9223372036854775808,"bytes":"AAEC","decimal":0.3,"fixed":7,"float":0.1,"multiple":10,"one_of":2,"small":9,"unsigned":18446744073709551615})");
  EXPECT_EQ(
      wrong_with<shapes::Numbers>(R"({"big":9223372036854775807,"decimal":0.35,"fixed":8,"multiple":7,"one_of":4,)"
                                  R"("small":10,"unsigned":-1})"),
      (Lines{"/big must be at most 9223372036854775806", "/decimal must be a multiple of 0.1", "/fixed must be 7",
             "/multiple must be a multiple of 5", "/one_of must be one of 1, 2, 3", "/small must be at most 9",
             "/unsigned expected an integer from 0 to 18446744073709551615"}));
  EXPECT_EQ(wrong_with<shapes::Numbers>(R"({"decimal":-2,"small":3000000000})"),
            (Lines{"/decimal must be from -1.5 to 1e3", "/small expected an integer from -2147483648 to 2147483647"}));
}

TEST(Shapes, strings_of_format_date_are_dates) {
  const auto days = read<shapes::Days>(R"({"day":"2026-11-24","holidays":["2026-12-25"]})");
  EXPECT_EQ(days.day.weekday(), Weekday::Tuesday);
  EXPECT_EQ(days.until - days.day, 37);
  goes_round<shapes::Days>(R"({"day":"2026-11-24","holidays":["2026-12-25","2026-12-26"],"until":"2027-01-01"})");
  EXPECT_EQ(wrong_with<shapes::Days>(R"({"day":"2026-02-30","until":7,"holidays":["x"]})"),
            (Lines{"/day expected a date such as 2026-11-24 (RFC 3339)", "/until expected a string",
                   "/holidays/0 expected a date such as 2026-11-24 (RFC 3339)"}));
}

TEST(Shapes, strings_of_format_decimal_are_decimals) {
  const auto amounts = read<shapes::Amounts>(R"({"net":19.90,"parts":["0.10",-2],"rough":0.5})");
  EXPECT_EQ((amounts.net * amounts.rate).text(), "3.78100");
  EXPECT_EQ(amounts.rough, 0.5);
  goes_round<shapes::Amounts>(R"({"net":"19.90","parts":["0.10","-2"],"rate":"0.20","rough":0.5})");
  const std::string expected = "expected a decimal number such as 19.90, of at most 36 digits";
  EXPECT_EQ(wrong_with<shapes::Amounts>(R"({"net":"1,5","rate":true,"parts":["x"]})"),
            (Lines{"/net " + expected, "/rate " + expected, "/parts/0 " + expected}));
}

TEST(Shapes, schemas_of_an_all_of_become_one_struct) {
  goes_round<shapes::Bases>(R"({"id":1,"kind":"a","name":"b"})");
  EXPECT_EQ(wrong_with<shapes::Bases>(R"({"id":10})"), (Lines{"/id must be from 1 to 9", "/name is required"}));
}

TEST(Shapes, a_parent_with_a_discriminator_is_one_of_its_children) {
  const auto car = read<shapes::Vehicle>(R"({"kind":"cab","doors":5,"tows":{"kind":"plain","wheels":2}})");
  ASSERT_TRUE(std::holds_alternative<shapes::Car>(car));
  EXPECT_EQ(std::get<shapes::Car>(car).doors, 5);
  EXPECT_TRUE(std::holds_alternative<shapes::PlainVehicle>(read<shapes::Vehicle>(R"({"kind":"plain"})")));
  EXPECT_TRUE(std::holds_alternative<shapes::Van>(read<shapes::Vehicle>(R"({"kind":"Van","wheels":4})")));
  goes_round<shapes::Vehicle>(R"({"doors":5,"kind":"car","tows":{"kind":"plain","wheels":2},"wheels":4})");
  goes_round<shapes::Garage>(R"({"all":[{"kind":"Van","wheels":4},{"doors":2,"kind":"cab"}],"best":{"kind":"plain"}})");
  goes_round<shapes::Garage>(R"({"best":null})");
  EXPECT_EQ(json::write(shapes::Vehicle(shapes::Car{.doors = 3})), R"({"doors":3,"kind":"cab"})");

  EXPECT_EQ(wrong_with<shapes::Vehicle>(R"({"kind":"car","wheels":0})"),
            (Lines{"/wheels must be at least 1", "/doors is required"}));
  EXPECT_EQ(wrong_with<shapes::Vehicle>(R"({"kind":"bus"})"), Lines{"/kind must be one of Van, cab, car, plain"});
  EXPECT_EQ(wrong_with<shapes::Vehicle>(R"({"wheels":1})"), Lines{"/kind is required"});
  EXPECT_EQ(wrong_with<shapes::Garage>(R"({"all":[{"kind":"car"}]})"), Lines{"/all/0/doors is required"});
}

TEST(Shapes, names_that_meet_get_numbers) {
  EXPECT_EQ(read<shapes::OddName2>(R"({"y":1})").y, 1);
  EXPECT_EQ(read<shapes::OddName22>(R"({"x":1})").x, 1);
}

TEST(Shapes, what_is_cut_anywhere_is_malformed_and_never_crashes) {
  const std::string text = R"({"by_name":{"a":{"value":1}},"children":[{"value":2}],"other":null,"value":4})";
  for (std::size_t size = 0; size < text.size(); ++size) {
    shapes::Tree value;
    Arena arena;
    Violations wrong;
    ASSERT_FALSE(json::read(value, std::string_view(text).substr(0, size), arena, wrong));
    ASSERT_TRUE(wrong.is_malformed()) << size;
  }
}

}  // namespace
}  // namespace keel::gen::shapes_test
