// keel/data/json_schema.h — makes the JSON Schema of the texts that json::read() accepts and json::write() writes, from
// the types alone.
//
//   json::Schemas schemas;
//   schemas.add<Order>();                    // {"$ref":"#/components/schemas/shop::Order"}
//   schemas.components().at("shop::Order")   // {"type":"object","required":["lines"],"properties":{"lines":…}}
//
// Structs and enums become components under their full names; other types are described at the place where they are
// used. A field that may be absent (fields.h) is not required, and the value of its initialiser becomes the `default`
// if the value is a number, a text, a boolean or an enum. A std::optional and a Patch may be null. A variant becomes a
// `oneOf` with its tag as discriminator; the schema of an alternative contains the tag as a property. For a type that
// has its own read_json(), the schema allows any value.
//
// Rules (rules.h): rules() is called with numbers that are probably too small or too large, and with few or many
// characters or elements; its complaints become the keywords minimum, maximum, minLength, maxLength, minItems,
// maxItems, `enum` and `pattern`; the author's own words become the description. Therefore, limits above `probe_length`
// characters or `probe_count` elements are not found; rules that all probed values satisfy are not found either.
//
// Cost: meant for tools and tests, because making a schema builds strings, and needs one function for each type.

#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "keel/base/type_name.h"
#include "keel/data/internal/json_fields.h"
#include "keel/data/json_value.h"
#include "keel/data/json_write.h"
#include "keel/data/rules.h"

namespace keel::json {

// Collects the schemas of types, by name.
class Schemas {
 public:
  static constexpr std::size_t probe_length = 100'000;
  static constexpr std::size_t probe_count = 2'000;

  // Returns the schema of a T, as JSON. After the call, all components that the schema refers to are among the
  // components.
  template <class T>
  std::string add() {
    return schema_of<T>({}).text();
  }
  // The components by name, as JSON.
  const std::map<std::string, std::string>& components() const noexcept { return components_; }

  // A field of a struct that is read from text (text_fields.h).
  struct Field {
    std::string name;
    std::string schema;  // The schema of the field, as JSON.
    bool is_required = false;
  };
  // Returns the fields of a T, in their order in the struct.
  template <class T>
  std::vector<Field> fields();

 private:
  // The members of a schema, in order: each is a keyword and its value as JSON.
  struct Keywords {
    std::vector<std::pair<std::string, std::string>> all;

    Keywords() = default;
    Keywords(std::initializer_list<std::pair<std::string, std::string>> members) : all(members) {}
    void set(std::string_view keyword, std::string value);
    // Changes the schema so that it allows null too.
    void allow_null();
    std::string text() const;
  };
  // The requirements of rules() for a field itself and for its elements.
  struct Rules {
    std::vector<std::string> words;
    std::vector<std::string> element_words;
  };
  using RulesByName = std::map<std::string, Rules, std::less<>>;
  enum class Probe : std::uint8_t { Least, OneLeast, OneMost, Most };

  static std::string quoted(std::string_view text);
  static Keywords reference(std::string_view name);
  // The type is passed as its name, so that this header need not include the types that have a format.
  static Keywords text(std::string_view type);
  static Keywords integer(bool is_signed, int bits);
  static void apply(Keywords& schema, const std::vector<std::string>& words, std::string_view type);
  static void tell(void* context, std::string_view field, std::string_view words, std::string_view keyword);
  static void describe(Keywords& schema, const Rules& rules);
  // Returns false if the component already exists, or is being made.
  bool begin(const std::string& name) { return components_.emplace(name, "{}").second; }

  template <class T>
  Keywords schema_of(const Rules& rules);
  template <class T>
  Keywords struct_of(Tag tag);
  template <class T>
  static RulesByName rules_of();
  template <class T>
  static void fill(T& field, Probe probe);
  template <class T>
  static std::string initialiser_of(const T& field);

  std::map<std::string, std::string> components_;
};

namespace internal {
// The argument of Schemas::tell(): the current call of check(), and the rules found so far.
struct RuleCollector {
  Check* check = nullptr;
  void* rules = nullptr;
};
template <class T>
inline constexpr bool has_rules = requires(const T& object, Check& check) { object.rules(check); };
template <class T>
inline constexpr bool is_text_type = std::same_as<T, std::string> || std::same_as<T, std::string_view>;
template <class T>
inline constexpr bool has_text_keys = false;
template <Map T>
inline constexpr bool has_text_keys<T> = is_text_type<std::remove_const_t<typename T::key_type>>;
template <class T>
inline constexpr bool has_elements_to_fill = false;
template <List T>
inline constexpr bool has_elements_to_fill<T> = !std::same_as<typename T::value_type, bool>;
}  // namespace internal

template <class T>
Schemas::Keywords Schemas::schema_of(const Rules& rules) {
  using namespace internal;
  Keywords schema;
  std::string_view type;
  if constexpr (is_optional<T> || is_patch<T>) {
    if constexpr (is_patch<T>) {
      schema = schema_of<typename T::Value>(rules);
    } else {
      schema = schema_of<typename T::value_type>(rules);
    }
    schema.allow_null();
    return schema;
  } else if constexpr (TextValue<T> || is_text_type<T>) {
    schema = text(type_name<T>());
    type = "string";
  } else if constexpr (ReadsItself<T> || WritesItself<T>) {
  } else if constexpr (std::same_as<T, bool>) {
    schema = {{"type", "\"boolean\""}};
  } else if constexpr (Integer<T>) {
    schema = integer(std::is_signed_v<T>, static_cast<int>(8 * sizeof(T)));
    type = "integer";
  } else if constexpr (std::floating_point<T>) {
    schema = {{"type", "\"number\""}};
    if (std::same_as<T, float>) schema.set("format", "\"float\"");
    type = "number";
  } else if constexpr (std::is_enum_v<T>) {
    const std::string name = plain_name(type_name<T>());
    if (begin(name)) {
      const keel::internal::EnumNames& names = keel::internal::EnumTable<T>::names;
      std::string values;
      for (std::size_t i = 0; i < names.count; ++i) {
        if (!names.name(i).empty()) values += (values.empty() ? "" : ",") + quoted(names.name(i));
      }
      components_[name] = Keywords{{"type", "\"string\""}, {"enum", '[' + values + ']'}}.text();
    }
    schema = reference(name);
  } else if constexpr (Variant<T>) {
    [&]<class... A>(keel::internal::TypeList<A...>) {
      std::string alternatives;
      std::string mapping;
      std::string tag_name;
      const auto add_one = [&]<class Alternative>(std::type_identity<Alternative>) {
        const std::string name = plain_name(type_name<Alternative>());
        if (begin(name)) components_[name] = struct_of<Alternative>(tag_of<Alternative>).text();
        alternatives += (alternatives.empty() ? "" : ",") + reference(name).text();
        mapping += (mapping.empty() ? "" : ",") + quoted(tag_of<Alternative>.value) + ':' +
                   quoted("#/components/schemas/" + name);
        tag_name = tag_of<Alternative>.name;
      };
      (add_one(std::type_identity<A>()), ...);
      schema = {{"oneOf", '[' + alternatives + ']'},
                {"discriminator", "{\"propertyName\":" + quoted(tag_name) + ",\"mapping\":{" + mapping + "}}"}};
    }(Alternatives<T>());
  } else if constexpr (is_byte_array<T> || ByteList<T>) {
    schema = {{"type", "\"string\""}, {"format", "\"byte\""}};
  } else if constexpr (is_std_array<T> || List<T>) {
    schema = {{"type", "\"array\""}};
    schema.set("items", schema_of<typename T::value_type>({.words = rules.element_words, .element_words = {}}).text());
    if constexpr (is_std_array<T>) {
      const std::string count = std::to_string(std::tuple_size_v<T>);
      schema.set("minItems", count);
      schema.set("maxItems", count);
    }
    type = "array";
  } else if constexpr (Map<T>) {
    schema = {{"type", "\"object\""}};
    schema.set("additionalProperties",
               schema_of<typename T::mapped_type>({.words = rules.element_words, .element_words = {}}).text());
    type = "object";
  } else {
    std::string name = plain_name(type_name<T>());
    // A struct that is an alternative of a variant also has a second schema, which includes its tag.
    if constexpr (has_tag<T>()) name += "WithoutTag";
    if (begin(name)) components_[name] = struct_of<T>({}).text();
    schema = reference(name);
  }
  apply(schema, rules.words, type);
  return schema;
}

template <class T>
std::vector<Schemas::Field> Schemas::fields() {
  using namespace internal;
  using Types = keel::internal::FieldTypes<T>;
  std::vector<Field> all;
  const RulesByName rules = rules_of<T>();
  constexpr std::uint64_t optional = Readers<T, Types>::may_be_absent;
  [&]<class... F>(keel::internal::TypeList<F...>) {
    std::size_t i = 0;
    const auto add_one = [&]<class One>(std::type_identity<One>) {
      const std::string name(Names<T>::names[i]);
      const auto found = rules.find(name);
      const Keywords schema = schema_of<One>(found == rules.end() ? Rules() : found->second);
      all.push_back({.name = name, .schema = schema.text(), .is_required = (optional >> i & 1) == 0});
      ++i;
    };
    (add_one(std::type_identity<std::remove_const_t<F>>()), ...);
  }(Types());
  if constexpr (std::default_initializable<T>) {
    const T initial{};
    Fields<T>::visit(initial, [&](const auto&... field) {
      std::size_t i = 0;
      const auto add_one = [&](const auto& one) {
        Field& described = all[i++];
        const std::string text = described.is_required ? std::string() : initialiser_of(one);
        if (text.empty()) return;
        described.schema.insert(described.schema.size() - 1, ",\"default\":" + text);
      };
      (add_one(field), ...);
    });
  }
  return all;
}

template <class T>
Schemas::Keywords Schemas::struct_of(Tag tag) {
  using namespace internal;
  Keywords schema = {{"type", "\"object\""}};
  std::string required;
  std::string properties;
  const auto add_one = [&](std::string_view name, std::string_view text, bool is_required) {
    if (is_required) required += (required.empty() ? "" : ",") + quoted(name);
    properties += (properties.empty() ? "" : ",") + quoted(name) + ':' + std::string(text);
  };
  if (!tag.name.empty()) add_one(tag.name, "{\"type\":\"string\",\"const\":" + quoted(tag.value) + '}', true);
  for (const Field& field : fields<T>()) add_one(field.name, field.schema, field.is_required);
  if (!required.empty()) schema.set("required", '[' + required + ']');
  schema.set("properties", '{' + properties + '}');
  if (keel::internal::is_strict<T>()) schema.set("additionalProperties", "false");
  const RulesByName rules = rules_of<T>();
  if (const auto own = rules.find(""); own != rules.end()) describe(schema, own->second);
  return schema;
}

template <class T>
Schemas::RulesByName Schemas::rules_of() {
  RulesByName rules;
  if constexpr (internal::has_rules<T> && std::default_initializable<T>) {
    for (const Probe probe : {Probe::Least, Probe::OneLeast, Probe::OneMost, Probe::Most}) {
      T value{};
      Fields<T>::visit(value, [&](auto&... field) { (fill(field, probe), ...); });
      const void* fields[Fields<T>::count + 1];
      Fields<T>::visit(value, internal::TakeAddresses{const_cast<void**>(fields)});
      internal::RuleCollector collector{.rules = &rules};
      Check check(fields, {internal::Names<T>::names.data(), Fields<T>::count}, ~std::uint64_t{0}, true, &tell,
                  &collector);
      collector.check = &check;
      value.rules(check);
    }
  }
  return rules;
}

template <class T>
void Schemas::fill(T& field, Probe probe) {
  using namespace internal;
  const bool is_least = probe == Probe::Least || probe == Probe::OneLeast;
  if constexpr (is_optional<T> || is_patch<T>) {
    fill(field.emplace(), probe);
  } else if constexpr (is_text_type<T>) {
    static const std::string longest(probe_length, '\x01');
    field = is_least ? std::string_view() : std::string_view(longest);
  } else if constexpr (Integer<T> || std::floating_point<T>) {
    field = is_least ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  } else if constexpr (has_text_keys<T>) {
    static const std::vector<std::string> keys = [] {
      std::vector<std::string> made;
      for (std::size_t i = 0; i < probe_count; ++i) made.push_back(std::to_string(i));
      return made;
    }();
    const std::size_t count = probe == Probe::Least ? 0 : probe == Probe::Most ? probe_count : 1;
    for (std::size_t i = 0; i < count; ++i) {
      auto& element = field.try_emplace(typename T::key_type(keys[i])).first->second;
      if (count == 1) fill(element, probe);
    }
  } else if constexpr (has_elements_to_fill<T>) {
    const std::size_t count = probe == Probe::Least ? 0 : probe == Probe::Most ? probe_count : 1;
    field.clear();
    for (std::size_t i = 0; i < count; ++i) {
      auto& element = field.emplace_back();
      if (count == 1) fill(element, probe);
    }
  }
}

template <class T>
std::string Schemas::initialiser_of(const T& field) {
  using namespace internal;
  if constexpr (std::same_as<T, bool> || Integer<T> || std::floating_point<T> || is_text_type<T>) {
    return json::write(field);
  } else if constexpr (std::is_enum_v<T>) {
    return enum_name(field).empty() ? std::string() : json::write(field);
  } else {
    return {};
  }
}

}  // namespace keel::json
