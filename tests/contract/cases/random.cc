// Documents, schemas and values at random, as a program of generated structs:
//   contract_cases_random SEED DOCUMENTS SCHEMAS VALUES OUT
//
// Whether a value is valid is said by contract::testing::Book. The values of a schema are made to fit it, and half of
// them are changed a little afterwards. In half of the documents, two names are those of properties that are readOnly
// and writeOnly. The same arguments give the same bytes.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cases.h"
#include "keel/contract/testing.h"
#include "keel/data/json_write.h"

namespace keel::cases {
namespace {

using contract::testing::Book;
using Json = json::Value;
using json::Kind;

constexpr std::array<std::string_view, 11> names = {"a",     "b",   "ab", "12",    "/~",    "kind",
                                                    "class", "a-b", "é",  "first", "second"};
// In a document whose properties belong to requests or responses.
constexpr std::string_view read_only = "12";
constexpr std::string_view write_only = "class";
constexpr std::array<std::string_view, 16> texts = {"",
                                                    "a",
                                                    "ab",
                                                    "b",
                                                    "12",
                                                    "éé",
                                                    "a longer text of more bytes",
                                                    "quote \" and \\ and \n",
                                                    "cat",
                                                    "dog",
                                                    "2024-02-29",
                                                    "2023-02-29",
                                                    "10.0.0.255",
                                                    "10.0.0.256",
                                                    "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f5b",
                                                    "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f5"};
constexpr std::array<double, 14> numbers = {0, 1, 2, 3, 10, -1, -10, 0.5, 1.5, 0.25, 127, 128, 3000000000, 4294967296};

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return random_() % limit; }
  bool happens(unsigned percent) { return below(100) < percent; }
  template <class Range>
  auto one_of(const Range& all) {
    return all[below(all.size())];
  }
  std::string_view name() { return one_of(names); }
  std::string_view text() { return one_of(texts); }
  double number() { return one_of(numbers); }

 private:
  std::mt19937 random_;
};

Json list_of(std::vector<Json> elements) {
  Json made = Json::array();
  for (Json& one : elements) made.push_back(std::move(one));
  return made;
}

// Schemas as people write them, most of which become types of their own.
class Author {
 public:
  Author(Dice& dice, bool has_directions) : dice_(dice), has_directions_(has_directions) {}

  // Of the components that may be referred to.
  void set_components(std::vector<std::string> all) { components_ = std::move(all); }

  Json schema(int depth) {
    if (depth > 3) return scalar();
    switch (dice_.below(20)) {
      case 0:
        return array(depth);
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        return object(depth);
      case 6:
        return map(depth);
      case 7:
        return nullable(depth);
      case 8:
        return merged(depth);
      case 9:
      case 10:
        return any_of(depth);
      case 11:
        return dice_.happens(30) ? untold(depth) : dice_.happens(50) ? by_kind(depth) : by_name(depth);
      case 12:
      case 13:
        return components_.empty() ? scalar() : reference();
      case 14:
        return constrained(depth);
      case 15:
        return array(depth);
      case 16:
        return untyped();
      default:
        return scalar();
    }
  }

  Json object(int depth) {
    Json made = Json::object({{"type", Json("object")}});
    Json properties = Json::object();
    Json required = Json::array();
    for (std::size_t i = 1 + dice_.below(4); i != 0; --i) {
      const std::string_view name = dice_.name();
      if (properties.find(name) != nullptr) continue;
      properties[name] = schema(depth + 1);
      if (is_directed(name)) properties[name][name == read_only ? "readOnly" : "writeOnly"] = Json(true);
      // An object that needs one of its own kind has no end.
      const bool may_refer = json::write(properties[name]).find("$ref") != std::string::npos;
      if (!may_refer && dice_.happens(40)) required.push_back(Json(name));
    }
    if (dice_.happens(10)) {
      const std::string_view name = dice_.name();
      if (properties.find(name) == nullptr && !is_directed(name)) required.push_back(Json(name));
    }
    made["properties"] = std::move(properties);
    if (!required.empty()) made["required"] = std::move(required);
    if (dice_.happens(25)) made["additionalProperties"] = Json(false);
    if (dice_.happens(10)) made["additionalProperties"] = scalar();
    // What is written in one direction has fewer properties.
    if (dice_.happens(8) && !has_directions_) {
      made["minProperties"] = Json(dice_.below(3));
      made["additionalProperties"] = Json(false);
    }
    if (dice_.happens(8)) made["maxProperties"] = Json(1 + dice_.below(4));
    return made;
  }

 private:
  bool is_directed(std::string_view name) const { return has_directions_ && (name == read_only || name == write_only); }

  Json reference() {
    return Json::object({{"$ref", Json("#/components/schemas/" + components_[dice_.below(components_.size())])}});
  }

  void bounds(Json& to, bool is_whole) {
    const auto bound = [&] {
      return is_whole ? Json(static_cast<std::int64_t>(dice_.number())) : Json(dice_.number());
    };
    if (dice_.happens(30)) to[dice_.happens(30) ? "exclusiveMinimum" : "minimum"] = bound();
    if (dice_.happens(30)) to[dice_.happens(30) ? "exclusiveMaximum" : "maximum"] = bound();
    if (dice_.happens(15)) to["multipleOf"] = is_whole ? Json(2 + dice_.below(2)) : Json(dice_.happens(50) ? 0.5 : 0.1);
  }

  Json scalar() {
    switch (dice_.below(9)) {
      case 0:
      case 1: {
        Json made = Json::object({{"type", Json("integer")}});
        constexpr std::array<std::string_view, 3> formats = {"int8", "int32", "uint32"};
        if (dice_.happens(30)) made["format"] = Json(dice_.one_of(formats));
        bounds(made, true);
        return made;
      }
      case 2: {
        Json made = Json::object({{"type", Json("number")}});
        bounds(made, false);
        return made;
      }
      case 3: {
        Json made = Json::object({{"type", Json("boolean")}});
        if (dice_.happens(10)) made["const"] = Json(true);
        return made;
      }
      case 4:
        return of_format();
      case 5:
        return of_values();
      default: {
        Json made = Json::object({{"type", Json("string")}});
        if (dice_.happens(25)) made["minLength"] = Json(dice_.below(4));
        if (dice_.happens(25)) made["maxLength"] = Json(dice_.below(6));
        if (dice_.happens(25)) {
          made["pattern"] = Json(contract::testing::patterns[dice_.below(contract::testing::patterns.size())].text());
        }
        return made;
      }
    }
  }

  Json of_format() {
    constexpr std::array<std::string_view, 4> formats = {"date", "uuid", "ipv4", "of-nobody"};
    return Json::object({{"type", Json("string")}, {"format", Json(dice_.one_of(formats))}});
  }

  Json of_values() {
    std::vector<Json> all;
    const bool is_text = dice_.happens(60);
    for (std::size_t i = 1 + dice_.below(4); i != 0; --i) {
      Json one = is_text ? Json(dice_.text()) : Json(static_cast<std::int64_t>(dice_.number()));
      bool is_new = true;
      for (const Json& other : all) is_new = is_new && !(other == one);
      if (is_new) all.push_back(std::move(one));
    }
    Json made = Json::object();
    if (dice_.happens(80)) made["type"] = Json(is_text ? "string" : "integer");
    if (dice_.happens(25)) {
      made["const"] = std::move(all[0]);
    } else {
      made["enum"] = list_of(std::move(all));
    }
    return made;
  }

  Json array(int depth) {
    Json made = Json::object({{"type", Json("array")}, {"items", schema(depth + 1)}});
    if (dice_.happens(20)) made["minItems"] = Json(dice_.below(3));
    if (dice_.happens(20)) made["maxItems"] = Json(dice_.below(4));
    // Of structs, which do not keep members that they do not have, two that differ may be written as equals.
    const Json* const type = made.find("items")->find("type");
    const bool is_plain = type != nullptr && (*type == Json("string") || *type == Json("integer"));
    if (is_plain && dice_.happens(20)) made["uniqueItems"] = Json(true);
    if (dice_.happens(10)) made["contains"] = scalar();
    if (dice_.happens(10)) made["prefixItems"] = list_of({scalar(), scalar()});
    return made;
  }

  Json map(int depth) {
    Json made = Json::object({{"type", Json("object")}, {"additionalProperties", schema(depth + 1)}});
    if (dice_.happens(25)) made["minProperties"] = Json(dice_.below(3));
    if (dice_.happens(25)) made["maxProperties"] = Json(1 + dice_.below(3));
    if (dice_.happens(10)) made["propertyNames"] = Json::object({{"maxLength", Json(2)}});
    return made;
  }

  Json nullable(int depth) {
    Json null = Json::object({{"type", Json("null")}});
    if (dice_.happens(50)) {
      return Json::object({{"anyOf", list_of({schema(depth + 1), std::move(null)})}});
    }
    Json made = scalar();
    if (made.find("type") != nullptr) {
      Json type = *made.find("type");
      made["type"] = list_of({std::move(type), Json("null")});
    }
    return made;
  }

  Json merged(int depth) {
    std::vector<Json> all;
    for (std::size_t i = 1 + dice_.below(2); i != 0; --i) {
      all.push_back(components_.empty() || dice_.happens(50) ? object(depth + 1) : reference());
    }
    Json made = dice_.happens(50) ? object(depth + 1) : Json::object();
    made["allOf"] = list_of(std::move(all));
    return made;
  }

  // Alternatives of different kinds: which one a value is meant for is not a matter of trying them.
  Json any_of(int depth) {
    std::vector<Json> all = {Json::object({{"type", Json("boolean")}})};
    if (dice_.happens(60)) all.push_back(Json::object({{"type", Json(dice_.happens(50) ? "integer" : "number")}}));
    if (dice_.happens(60))
      all.push_back(dice_.happens(50) ? of_format()
                                      : Json::object({{"type", list_of({Json("string"), Json("null")})}}));
    if (dice_.happens(50)) all.push_back(array(depth + 1));
    if (all.size() == 1 || dice_.happens(50)) all.push_back(object(depth + 1));
    // Beside one that may take it as well: then a oneOf does not.
    if (dice_.happens(30)) all.push_back(Json::object({{"type", Json("null")}}));
    return Json::object({{dice_.happens(50) ? "anyOf" : "oneOf", list_of(std::move(all))}});
  }

  // Objects that a required member tells apart, some of which have both.
  Json by_name(int depth) {
    std::vector<Json> all;
    const bool is_any = dice_.happens(50);
    for (const std::string_view name : {"first", "second"}) {
      Json one = object(depth + 1);
      one["properties"][name] = scalar();
      Json required = list_of({Json(name)});
      one["required"] = std::move(required);
      if (!is_any) one["additionalProperties"] = Json(false);
      all.push_back(std::move(one));
    }
    return Json::object({{is_any ? "anyOf" : "oneOf", list_of(std::move(all))}});
  }

  // Alternatives that nothing tells apart: exactly one of them has to match.
  Json untold(int depth) {
    const bool is_list = dice_.happens(50);
    const auto one = [&] {
      Json made = is_list ? array(depth + 1) : object(depth + 1);
      made.erase("required");
      return made;
    };
    return Json::object({{"oneOf", list_of({one(), one()})}});
  }

  Json by_kind(int depth) {
    std::vector<Json> all;
    for (const std::string_view kind : {"cat", "dog"}) {
      Json one = object(depth + 1);
      one["properties"]["kind"] = Json::object({{"const", Json(kind)}});
      one["required"] = list_of({Json("kind")});
      all.push_back(std::move(one));
    }
    return Json::object({{"oneOf", list_of(std::move(all))}});
  }

  // An object with what a reader alone does not check.
  Json constrained(int depth) {
    Json made = object(depth);
    // A struct does not keep members that it does not have: what is asked is asked of its own.
    std::vector<std::string> all;
    for (const auto& [name, one] : made.find("properties")->members()) {
      if (!is_directed(name)) all.emplace_back(name);
    }
    if (all.empty()) {
      made["properties"]["a"] = scalar();
      all.emplace_back("a");
    }
    const auto own = [&] { return Json(all[dice_.below(all.size())]); };
    const auto has = [&] { return Json::object({{"required", list_of({own()})}}); };
    switch (dice_.below(8)) {
      case 0:
        made["dependentRequired"] = Json::object({{*own().string(), list_of({own()})}});
        break;
      case 1:
        made["dependentSchemas"] = Json::object({{*own().string(), has()}});
        break;
      case 2:
        made["if"] = has();
        made["then"] = has();
        if (dice_.happens(50)) made["else"] = Json::object({{"maxProperties", Json(1)}});
        break;
      case 3:
        made["not"] = has();
        break;
      case 4:
        made["patternProperties"] = Json::object({{"^a", scalar()}});
        break;
      case 5:
        made["unevaluatedProperties"] = Json(false);
        break;
      case 6:
        made["propertyNames"] = Json::object({{"maxLength", Json(2)}});
        break;
      default:
        made["anyOf"] = list_of({has(), has()});
    }
    return made;
  }

  Json untyped() {
    switch (dice_.below(4)) {
      case 0:
        return Json::object({{"minimum", Json(1)}});
      case 1:
        return Json::object({{"maxLength", Json(2)}});
      case 2:
        return Json::object({{"type", list_of({Json("string"), Json("integer"), Json("array")})}});
      default:
        return Json::object();
    }
  }

  Dice& dice_;
  bool has_directions_;
  std::vector<std::string> components_;
};

// Values that are meant for a schema.
class Values {
 public:
  Values(Dice& dice, const Json& document) : dice_(dice), document_(document) {}

  Json value(const Json& schema) {
    Json made = fitting(schema, 0);
    for (std::size_t changes = dice_.below(3); changes > 1; --changes) made = changed(made);
    if (dice_.happens(25)) made = changed(made);
    return made;
  }

 private:
  Json any(int depth) {
    switch (dice_.below(depth > 1 ? 4 : 6)) {
      case 0:
        return Json(nullptr);
      case 1:
        return Json(dice_.happens(50));
      case 2:
        return number();
      case 3:
        return Json(dice_.text());
      case 4: {
        Json made = Json::array();
        for (std::size_t i = dice_.below(3); i != 0; --i) made.push_back(any(depth + 1));
        return made;
      }
      default: {
        Json made = Json::object();
        for (std::size_t i = dice_.below(3); i != 0; --i) made[dice_.name()] = any(depth + 1);
        return made;
      }
    }
  }
  Json number() {
    const double one = dice_.number();
    return one == std::trunc(one) ? Json(static_cast<std::int64_t>(one)) : Json(one);
  }

  Json fitting(const Json& schema, int depth) {
    if (schema.kind() != Kind::Object || depth > 12) return any(1);
    if (const Json* const reference = schema.find("$ref")) {
      return fitting(*document_.at(reference->string()->substr(1)), depth + 1);
    }
    if (const Json* const one = schema.find("const")) return *one;
    if (const Json* const all = schema.find("enum")) return dice_.one_of(all->elements());
    Json made = of_type(schema, depth);
    for (const std::string_view keyword : {"allOf", "anyOf", "oneOf"}) {
      const Json* const all = schema.find(keyword);
      if (all == nullptr) continue;
      const std::size_t chosen = dice_.below(all->size());
      for (std::size_t i = 0; i < all->size(); ++i) {
        if (keyword != "allOf" && i != chosen) continue;
        Json other = fitting(all->elements()[i], depth + 1);
        if (made.kind() == Kind::Object && other.kind() == Kind::Object) {
          for (const auto& [name, member] : other.members()) made[name] = member;
        } else if (schema.find("type") == nullptr) {
          made = std::move(other);
        }
      }
    }
    return made;
  }

  Json of_type(const Json& schema, int depth) {
    std::string_view type = schema.find("properties") != nullptr ? "object" : "";
    if (const Json* const types = schema.find("type")) {
      type = types->kind() == Kind::Array ? *types->elements()[dice_.below(types->size())].string() : *types->string();
    }
    if (type == "null") return Json(nullptr);
    if (type == "boolean") return Json(dice_.happens(50));
    if (type == "string") return text(schema);
    if (type == "integer" || type == "number") return number_of(schema, type == "integer");
    if (type == "array") {
      Json made = Json::array();
      const Json* const least = schema.find("minItems");
      const Json* const items = schema.find("items");
      std::size_t count = least != nullptr ? static_cast<std::size_t>(*least->uint64()) : 0;
      if (depth < 6) count += dice_.below(3);
      for (std::size_t i = 0; i < count; ++i) {
        made.push_back(items == nullptr ? any(1) : fitting(*items, depth + 1));
      }
      return made;
    }
    if (type == "object") return object(schema, depth);
    return any(0);
  }

  Json text(const Json& schema) {
    // What it asks is met by chance, in some attempts.
    for (int i = 0; i < 20; ++i) {
      Json one(dice_.text());
      if (Book(document_).is_valid(one, schema)) return one;
    }
    return Json(dice_.text());
  }
  Json number_of(const Json& schema, bool is_whole) {
    for (int i = 0; i < 20; ++i) {
      Json one = is_whole ? Json(static_cast<std::int64_t>(dice_.number())) : number();
      if (Book(document_).is_valid(one, schema)) return one;
    }
    return number();
  }

  Json object(const Json& schema, int depth) {
    Json made = Json::object();
    const Json* const properties = schema.find("properties");
    const Json* const additional = schema.find("additionalProperties");
    const auto put = [&](std::string_view name) {
      const Json* const one = properties == nullptr ? nullptr : properties->find(name);
      if (one != nullptr) {
        made[name] = fitting(*one, depth + 1);
      } else {
        made[name] = additional == nullptr ? any(1) : fitting(*additional, depth + 1);
      }
    };
    if (const Json* const required = schema.find("required")) {
      for (const Json& name : required->elements()) {
        const Json* const one = properties == nullptr ? nullptr : properties->find(*name.string());
        const bool may_be_absent =
            one != nullptr && (one->find("readOnly") != nullptr || one->find("writeOnly") != nullptr);
        if (!may_be_absent || dice_.happens(50)) put(*name.string());
      }
    }
    if (properties != nullptr) {
      for (const auto& [name, one] : properties->members()) {
        if (made.find(name) == nullptr && dice_.happens(depth > 5 ? 5 : 60)) put(name);
      }
    }
    const bool is_map = additional != nullptr && additional->kind() == Kind::Object;
    if (additional == nullptr || is_map) {
      for (std::size_t i = is_map ? dice_.below(3) : dice_.below(10) / 9; i != 0; --i) {
        const std::string_view name = dice_.name();
        if (made.find(name) == nullptr) put(name);
      }
    }
    return made;
  }

  // One thing about it is another.
  Json changed(const Json& value) {
    if (value.size() != 0 && dice_.happens(75)) {
      const std::size_t chosen = dice_.below(value.size());
      std::size_t i = 0;
      Json made = value.kind() == Kind::Array ? Json::array() : Json::object();
      for (const Json& element : value.elements()) made.push_back(i++ == chosen ? changed(element) : element);
      for (const auto& [name, member] : value.members()) made[name] = i++ == chosen ? changed(member) : member;
      return made;
    }
    switch (value.kind()) {
      case Kind::Array: {
        Json made = value;
        if (dice_.happens(50) && value.size() != 0) {
          made.push_back(value.elements()[0]);
        } else {
          made.push_back(any(1));
        }
        return made;
      }
      case Kind::Object: {
        Json made = value;
        if (dice_.happens(50) || value.size() == 0) {
          made[dice_.name()] = any(1);
        } else {
          std::size_t i = dice_.below(value.size());
          for (const auto& [name, member] : value.members()) {
            if (i-- == 0) made.erase(name);
          }
        }
        return made;
      }
      case Kind::Number:
        return dice_.happens(70) ? number() : any(0);
      case Kind::String:
        return dice_.happens(60) ? Json(std::string(*value.string()) + "b") : any(0);
      default:
        return any(0);
    }
  }

  Dice& dice_;
  const Json& document_;
};

// A value as text, one of the ways to write it.
class Spelling {
 public:
  explicit Spelling(Dice& dice) : dice_(dice) {}

  std::string of(const Json& value) {
    if (value.kind() == Kind::Object || value.kind() == Kind::Array) {
      const bool is_list = value.kind() == Kind::Array;
      std::string made(1, is_list ? '[' : '{');
      for (const Json& element : value.elements())
        made += (made.size() > 1 ? "," : "") + space() + of(element) + space();
      for (const auto& [name, member] : value.members()) {
        made += (made.size() > 1 ? "," : "") + space() + text(name) + space() + ':' + space() + of(member) + space();
      }
      return made + (is_list ? ']' : '}');
    }
    if (const auto one = value.string()) return text(*one);
    const std::string plain = json::write(value);
    if (value.kind() != Kind::Number || !dice_.happens(15)) return plain;
    if (plain.find_first_of(".eE") != plain.npos) return dice_.happens(50) ? plain + "0" : plain + "e0";
    return plain + (dice_.happens(50) ? ".0" : dice_.happens(50) ? "e0" : "E+00");
  }

 private:
  std::string space() { return dice_.happens(8) ? std::string(dice_.happens(50) ? " " : "\t ") : std::string(); }
  // With escapes where none is needed.
  std::string text(std::string_view value) {
    std::string made = json::write(value);
    if (value.empty() || !dice_.happens(10)) return made;
    const auto first = static_cast<unsigned char>(value[0]);
    if (first < 0x20 || first >= 0x7F || first == '"' || first == '\\') return made;
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", first);
    return made.replace(1, 1, escape);
  }

  Dice& dice_;
};

// The same schemas, which do not require properties with this keyword: what a request, or a response, has to match.
Json without_required(const Json& value, std::string_view keyword) {
  if (value.kind() == Kind::Array) {
    Json made = Json::array();
    for (const Json& one : value.elements()) made.push_back(without_required(one, keyword));
    return made;
  }
  if (value.kind() != Kind::Object) return value;
  Json made = Json::object();
  const Json* const properties = value.find("properties");
  for (const auto& [name, one] : value.members()) {
    if (name != "required" || properties == nullptr || one.kind() != Kind::Array) {
      made[name] = without_required(one, keyword);
      continue;
    }
    Json left = Json::array();
    for (const Json& required : one.elements()) {
      const Json* const property = properties->find(*required.string());
      if (property == nullptr || property->find(keyword) == nullptr) left.push_back(required);
    }
    made[name] = std::move(left);
  }
  return made;
}

struct Counts {
  int refused = 0;
  int typed = 0;
  int structs = 0;
  int values = 0;
  int valid = 0;
};

bool make_document(Dice& dice, const std::string& space, std::size_t schemas, std::size_t values, Program& program,
                   Counts& counts) {
  Author author(dice, dice.happens(50));
  Json components = Json::object();
  std::vector<std::string> shared;
  const auto text_of = [&] {
    std::string text;
    for (const auto& [name, schema] : components.members())
      text += json::write(name) + ": " + json::write(schema) + ", ";
    return text;
  };
  const auto is_taken = [&](const Struct& one, bool& has_type) {
    const std::string why = refusal_of({{"api.json", document_of({one}, text_of())}}, one.name, has_type);
    if (why.empty()) return true;
    ++counts.refused;
    if (std::getenv("CASES_VERBOSE") != nullptr) std::printf("%s\n  %s\n", why.c_str(), one.schema.c_str());
    return false;
  };
  // Some may refer to themselves and to each other.
  for (int i = 1; i <= 6; ++i) {
    const std::string name = "Shape" + std::to_string(i);
    std::vector<std::string> known = shared;
    known.push_back(name);
    author.set_components(known);
    components[name] = author.object(1);
    bool has_type = false;
    if (is_taken({.name = "Case0", .schema = "{\"$ref\": \"#/components/schemas/" + name + "\"}", .values = {}},
                 has_type)) {
      shared.push_back(name);
    } else {
      components.erase(name);
    }
  }
  author.set_components(shared);
  std::vector<Struct> structs;
  std::vector<Json> made;
  for (std::size_t i = 1; structs.size() < schemas; ++i) {
    Json schema = author.schema(0);
    Struct one{.name = "Case" + std::to_string(i), .schema = json::write(schema), .values = {}};
    bool has_type = false;
    if (!is_taken(one, has_type)) continue;
    counts.typed += has_type ? 1 : 0;
    structs.push_back(std::move(one));
    made.push_back(std::move(schema));
  }
  Json document = Json::object({{"components", Json::object({{"schemas", components}})}});
  const Json requests = without_required(document, "readOnly");
  const Json responses = without_required(document, "writeOnly");
  Values author_of_values(dice, document);
  Spelling spelling(dice);
  for (std::size_t i = 0; i < structs.size(); ++i) {
    const Json of_request = without_required(made[i], "readOnly");
    const Json of_response = without_required(made[i], "writeOnly");
    for (std::size_t j = 0; j < values; ++j) {
      const Json value = author_of_values.value(made[i]);
      const bool is_valid = Book(requests).is_valid(value, of_request);
      const bool is_valid_response = Book(responses).is_valid(value, of_response);
      ++counts.values;
      counts.valid += is_valid || is_valid_response ? 1 : 0;
      structs[i].values.push_back({.name = structs[i].schema,
                                   .is_valid = is_valid,
                                   .text = spelling.of(value),
                                   .is_valid_response = is_valid_response});
    }
  }
  counts.structs += static_cast<int>(structs.size());
  return program.add(space, {{"api.json", document_of(structs, text_of())}}, structs);
}

}  // namespace
}  // namespace keel::cases

int main(int count, char** arguments) {
  if (count != 6) {
    std::fprintf(stderr, "expected: %s SEED DOCUMENTS SCHEMAS VALUES OUT\n", arguments[0]);
    return 2;
  }
  const auto number = [&](int i) { return static_cast<std::size_t>(std::strtoul(arguments[i], nullptr, 10)); };
  keel::cases::Dice dice(static_cast<std::uint32_t>(number(1)));
  keel::cases::Program program(arguments[5]);
  keel::cases::Counts counts;
  for (std::size_t i = 1; i <= number(2); ++i) {
    if (!keel::cases::make_document(dice, "random_" + std::to_string(i), number(3), number(4), program, counts))
      return 1;
  }
  std::printf(
      "seed %s: %d structs, %d of them with a type of their own in it, %d schemas refused by the generator, %d "
      "values, %d of them valid\n",
      arguments[1], counts.structs, counts.typed, counts.refused, counts.values, counts.valid);
  return program.write() ? 0 : 1;
}
