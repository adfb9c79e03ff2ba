// keel/config/schema.h — how a struct lists its keys, so that a configuration can be read into it.
//
//   template <class Visitor> void fields(Visitor& v) {         // or: void fields(config::Schema& v);
//     config::field(v, "path", path, "where the data is");
//     config::field(v, "connections_max", connections_max, "for the whole process", {1, 1024});
//     config::renamed(v, "pool_size", "store.connections_max");
//   }
//
// A plain struct (data/fields.h) needs no list: its fields are the keys, as declared, and its rules() check them
// (data/rules.h). Every key is optional: its default is the struct's initializer.
//
//   struct StoreConfig {
//     std::string path = "store.db";
//     unsigned connections_max = 16;
//     Duration acquire_timeout = 1_s;
//     void rules(keel::Check& check) const { check(connections_max).range(1, 1024); }
//   };
//
// config.h says which types a field may have and how each type is written. fields() adds what a plain struct cannot
// declare: help sentences, reloadable fields, and keys of an earlier version.
//
// Threads:  values.
// Lifetime: a Schema refers to the value from which it was made.
// Cost:     start-up and reloads only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "keel/base/ascii.h"
#include "keel/base/text_value.h"
#include "keel/base/time.h"
#include "keel/config/secret.h"
#include "keel/data/enum_names.h"
#include "keel/data/fields.h"
#include "keel/data/rules.h"

namespace keel::config {

// A number of bytes with its own type, so that a configuration key can require a unit.
struct ByteSize {
  std::uint64_t bytes = 0;
  static constexpr ByteSize kib(std::uint64_t count) { return {count << 10}; }
  static constexpr ByteSize mib(std::uint64_t count) { return {count << 20}; }
  constexpr auto operator<=>(const ByteSize&) const = default;
};

// Binds a key that is written as a ByteSize to an integer that counts bytes, or units of `unit` bytes:
//   config::field(v, "max_body", config::Bytes(limits.body_bytes_max), "above it 413");
template <class T, std::int64_t unit = 1>
struct Bytes {
  explicit Bytes(T& of) : count(of) {}
  T& count;
};
// Binds a key that is written as a ByteSize to an integer that counts KiB.
template <class T>
struct Kibibytes : Bytes<T, 1024> {
  explicit Kibibytes(T& of) : Bytes<T, 1024>(of) {}
};

// The range of a value, both ends included.
template <class T>
struct Range {
  T min;
  T max;
};

// A value of an enum and its name in a configuration.
struct Name {
  const char* text;
  std::int64_t value;
};
// The names of an enum, for field(); for an optional enum, also the name that stands for no value. Define the names as
// a constant of namespace scope. An enum without such a constant uses the names of its values (data/enum_names.h); if
// the enum is optional, "none" stands for no value.
//   inline constexpr auto color_names = config::names<Color>({{"red", Color::Red}, {"blue", Color::Blue}});
template <class E>
struct Word {
  const char* text;
  E value;
};
// The names of an enum's values.
template <class E, std::size_t N>
struct Names {
  Name list[N];
};
namespace internal {
template <class E>
constexpr std::int64_t number_of(E value) {
  return static_cast<std::int64_t>(value);
}
template <class E>
constexpr std::int64_t number_of(const std::optional<E>& value) {
  return value ? static_cast<std::int64_t>(*value) : std::numeric_limits<std::int64_t>::min();
}
template <class E>
constexpr void set_number(E& value, std::int64_t number) {
  value = static_cast<E>(number);
}
template <class E>
constexpr void set_number(std::optional<E>& value, std::int64_t number) {
  value.reset();
  if (number != number_of(value)) value = static_cast<E>(number);
}
template <class T>
inline constexpr bool is_enum = std::is_enum_v<T>;
template <class E>
inline constexpr bool is_enum<std::optional<E>> = std::is_enum_v<E>;
}  // namespace internal
// Makes the names of an enum's values: names<Color>({{"red", Color::Red}}).
template <class E, std::size_t N>
constexpr Names<E, N> names(const Word<E> (&words)[N]) {
  Names<E, N> made{};
  for (std::size_t i = 0; i < N; ++i) made.list[i] = {words[i].text, internal::number_of(words[i].value)};
  return made;
}

class Schema;
// A struct with fields(), whose members are keys of a section.
template <class T>
concept HasFields = requires(T& value, Schema& schema) { value.fields(schema); };
// A struct without fields(), whose members are the keys.
template <class T>
concept PlainSection =
    !HasFields<T> && !TextValue<T> && std::is_class_v<T> && !std::is_same_v<T, ByteSize> &&
    (std::is_aggregate_v<T> || keel::internal::HasFieldList<T> || keel::internal::HasFieldListOutside<T>);
template <class T>
concept Section = HasFields<T> || PlainSection<T>;

// One field without its type: the address of the value, and how to read and write it. Only field() makes a Field.
struct Field {
  enum class Kind : std::uint8_t { Section, List, Map, Bool, Int, Real, Text, Parsed, Secret, Duration, Bytes, Enum };

  Kind kind = Kind::Section;
  std::string_view key;
  const char* help = "";
  void* at = nullptr;
  std::int64_t low = std::numeric_limits<std::int64_t>::min();  // Int, Duration in ns, Bytes
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  double real_low = std::numeric_limits<double>::lowest();
  double real_high = std::numeric_limits<double>::max();
  // Int, Bytes, Enum: the value; List, Map: the size
  std::int64_t (*get)(const void*) = nullptr;
  // Int, Bytes, Enum: sets the value; List: resizes it
  void (*set)(void*, std::int64_t) = nullptr;
  void (*element)(Schema&, void* list, std::size_t index) = nullptr;  // List, Map
  // Map: the index of the element `name`, which is created if it does not exist.
  std::size_t (*place)(void* map, std::string_view name) = nullptr;
  void (*copy)(void* to, const void* from) = nullptr;                             // List, Map
  void (*rules)(const void* section, Check::Tell tell, void* context) = nullptr;  // For a Section; called with `at`
  // Parses the text. False: the text is not a value of this type, and nothing was changed.
  bool (*parse)(void*, std::string_view text) = nullptr;
  std::string (*text)(const void*) = nullptr;  // Parsed
  const char* expected = "";                   // Parsed: "expected a date such as 2026-11-24 (RFC 3339)"
  std::span<const Name> names = {};
  std::vector<Field> children = {};
  bool is_reloadable = false;

  // Declares that the value may change while the program runs: field(v, "level", level, "how much").reloadable().
  void reloadable() noexcept { is_reloadable = true; }
};

// A key that existed in an earlier version.
struct FormerKey {
  std::string path;       // "network.http.max_lines"
  std::string successor;  // "network.http.max_header_count"; empty: the key was removed.
  std::string advice;     // Advice for a key that was removed.
};

// The list of fields of one value. A Schema has pointers into the value, which must not move.
class Schema {
 public:
  // Returns the stored field; the reference is valid until the next field is added.
  Field& add(Field field);
  void open(std::string_view key, const char* help);
  Field& close();
  const std::vector<Field>& fields() const { return root_.children; }
  const Field& root() const { return root_; }
  // Sets the rules of the section whose keys are being listed.
  void set_rules(void* section, void (*rules)(const void*, Check::Tell, void*)) {
    top().at = section;
    top().rules = rules;
  }
  // Records that `key` was, in an earlier version, in the section whose keys are being listed.
  void add_former(std::string_view key, std::string successor, std::string advice);
  const std::vector<FormerKey>& former_keys() const { return former_keys_; }

 private:
  Field& top();
  Field root_;
  std::vector<FormerKey> former_keys_;
  std::size_t depth_ = 0;
};

namespace internal {
// The upper end of the range, or the largest value of T if that is smaller.
template <class T>
constexpr std::int64_t most_bytes(ByteSize end, std::int64_t unit) {
  constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  const std::int64_t most = std::in_range<std::int64_t>(std::numeric_limits<T>::max())
                                ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
                                : all;
  const std::int64_t countable = most > all / unit ? all : most * unit;
  return std::cmp_less(countable, end.bytes) ? countable : static_cast<std::int64_t>(end.bytes);
}
template <class T>
Field& add_integer(Schema& v, std::string_view key, T& value, const char* help, T min, T max) {
  constexpr auto clamp = [](T bound) {
    return std::in_range<std::int64_t>(bound) ? static_cast<std::int64_t>(bound)
                                              : std::numeric_limits<std::int64_t>::max();
  };
  return v.add({.kind = Field::Kind::Int,
                .key = key,
                .help = help,
                .at = &value,
                .low = clamp(min),
                .high = clamp(max),
                .get = [](const void* at) { return static_cast<std::int64_t>(*static_cast<const T*>(at)); },
                .set = [](void* at, std::int64_t number) { *static_cast<T*>(at) = static_cast<T>(number); }});
}

// The names of an enum without a names() constant, which are the names of its values.
struct Words {
  Words(const keel::internal::EnumNames& names, bool has_none);
  Words(const Words&) = delete;
  std::vector<std::string> texts;
  std::vector<Name> list;
};
template <class E>
Words words_of() {
  if constexpr (std::is_enum_v<E>) {
    return Words(keel::internal::EnumTable<E>::names, false);
  } else {
    return Words(keel::internal::EnumTable<typename E::value_type>::names, true);
  }
}

// Whether `name` can be converted to an environment variable and back.
constexpr bool is_key(std::string_view name) {
  if (name.empty() || !ascii::is_lower(name[0]) || name.find("__") != name.npos) return false;
  for (const char c : name) {
    if (!ascii::is_lower(c) && !ascii::is_digit(c) && c != '_') return false;
  }
  return true;
}
template <class T>
consteval bool are_keys() {
  for (const std::string_view name : Fields<T>::names) {
    if (!is_key(name)) return false;
  }
  return true;
}

template <class T>
void list_field(Schema& v, std::string_view key, T& value) {
  if constexpr (requires { field(v, key, value, ""); }) {
    field(v, key, value, "");
  } else {
    static_assert(
        !std::is_same_v<T, T>,
        "a key of a configuration must be a bool, an integer, a double, std::string, an enum, keel::Duration, a type "
        "with parse() and text() such as keel::Date, config::ByteSize, config::Secret, a struct of these, a "
        "std::vector of any of these, or a std::map from std::string to such structs");
  }
}
template <class T>
void judge_section(const void* section, Check::Tell tell, void* context) {
  const T& value = *static_cast<const T*>(section);
  void* at[Fields<T>::count + 1];
  Fields<T>::visit(value, keel::internal::TakeAddresses{at});
  Check check(at, Fields<T>::names, ~std::uint64_t{0}, true, tell, context);
  value.rules(check);
}
// Lists the keys of `section`, which is the whole configuration, or the section whose keys `v` is listing.
template <class T>
void list_fields(Schema& v, T& section) {
  if constexpr (HasFields<T>) {
    section.fields(v);
  } else {
    static_assert(are_keys<T>(),
                  "a key of a configuration may have only lowercase letters, digits and single underscores: call the "
                  "field connections_max instead of connectionsMax");
    Fields<T>::visit(section, [&v](auto&... each) {
      const std::string_view* name = Fields<T>::names.data();
      (list_field(v, *name++, each), ...);
    });
    if constexpr (requires(const T& value, Check& check) { value.rules(check); }) {
      v.set_rules(&section, &judge_section<T>);
    }
  }
}
}  // namespace internal

// Lists one field of a struct. `key`, `help` and the names of an enum are kept by pointer, so they must be literals or
// constants. `help` is a sentence for --help; --help adds the default, the range and the unit.
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
Field& field(Schema& v, std::string_view key, T& value, const char* help,
             Range<std::type_identity_t<T>> range = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) {
  return internal::add_integer<T>(v, key, value, help, range.min, range.max);
}
Field& field(Schema& v, std::string_view key, bool& value, const char* help);
Field& field(Schema& v, std::string_view key, double& value, const char* help,
             Range<double> range = {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()});
Field& field(Schema& v, std::string_view key, std::string& value, const char* help);
Field& field(Schema& v, std::string_view key, Secret& value, const char* help);
Field& field(Schema& v, std::string_view key, Duration& value, const char* help,
             Range<Duration> range = {Duration(), Duration::forever()});
Field& field(Schema& v, std::string_view key, ByteSize& value, const char* help,
             Range<ByteSize> range = {ByteSize{}, ByteSize{std::numeric_limits<std::int64_t>::max()}});
template <class T, std::int64_t unit>
Field& field(Schema& v, std::string_view key, Bytes<T, unit> value, const char* help,
             Range<ByteSize> range = {ByteSize{}, ByteSize{std::numeric_limits<std::int64_t>::max()}}) {
  return v.add({.kind = Field::Kind::Bytes,
                .key = key,
                .help = help,
                .at = &value.count,
                .low = static_cast<std::int64_t>(range.min.bytes),
                .high = internal::most_bytes<T>(range.max, unit),
                .get = [](const void* at) { return static_cast<std::int64_t>(*static_cast<const T*>(at)) * unit; },
                .set = [](void* at, std::int64_t bytes) { *static_cast<T*>(at) = static_cast<T>(bytes / unit); }});
}
template <class E, std::size_t N>
  requires internal::is_enum<E>
Field& field(Schema& v, std::string_view key, E& value, const char* help, const Names<E, N>& words) {
  return v.add({.kind = Field::Kind::Enum,
                .key = key,
                .help = help,
                .at = &value,
                .get = [](const void* at) { return internal::number_of(*static_cast<const E*>(at)); },
                .set = [](void* at, std::int64_t number) { internal::set_number(*static_cast<E*>(at), number); },
                .names = words.list});
}
template <class E>
  requires internal::is_enum<E>
Field& field(Schema& v, std::string_view key, E& value, const char* help) {
  static const internal::Words words = internal::words_of<E>();
  return v.add({.kind = Field::Kind::Enum,
                .key = key,
                .help = help,
                .at = &value,
                .get = [](const void* at) { return internal::number_of(*static_cast<const E*>(at)); },
                .set = [](void* at, std::int64_t number) { internal::set_number(*static_cast<E*>(at), number); },
                .names = words.list});
}
// A type that is written as text: Date, Timestamp, Uuid, or your own (base/text_value.h).
template <TextValue T>
Field& field(Schema& v, std::string_view key, T& value, const char* help) {
  return v.add({.kind = Field::Kind::Parsed,
                .key = key,
                .help = help,
                .at = &value,
                .copy = [](void* to, const void* from) { *static_cast<T*>(to) = *static_cast<const T*>(from); },
                .parse =
                    [](void* at, std::string_view text) {
                      Result<T> parsed = T::parse(text);
                      if (parsed) *static_cast<T*>(at) = *std::move(parsed);
                      return parsed.has_value();
                    },
                .text = [](const void* at) { return std::string(std::string_view(static_cast<const T*>(at)->text())); },
                .expected = T::expected});
}
template <Section T>
Field& field(Schema& v, std::string_view key, T& section, const char* help) {
  v.open(key, help);
  internal::list_fields(v, section);
  return v.close();
}
template <class T>
Field& field(Schema& v, std::string_view key, std::vector<T>& list, const char* help) {
  using List = std::vector<T>;
  static_assert(
      !requires(T& t) { t.push_back(t.front()); } || std::is_same_v<T, std::string>,
      "a list of lists has no readable keys: put the inner list into a struct");
  return v.add(
      {.kind = Field::Kind::List,
       .key = key,
       .help = help,
       .at = &list,
       .get = [](const void* at) { return static_cast<std::int64_t>(static_cast<const List*>(at)->size()); },
       .set = [](void* at, std::int64_t size) { static_cast<List*>(at)->resize(static_cast<std::size_t>(size)); },
       .element = [](Schema& schema, void* at,
                     std::size_t index) { internal::list_field(schema, "", (*static_cast<List*>(at))[index]); },
       .copy = [](void* to, const void* from) { *static_cast<List*>(to) = *static_cast<const List*>(from); }});
}

// A std::map<std::string, T>: sections whose names the configuration chooses.
template <class Map>
  requires Section<typename Map::mapped_type>
Field& field(Schema& v, std::string_view key, Map& sections, const char* help) {
  return v.add({.kind = Field::Kind::Map,
                .key = key,
                .help = help,
                .at = &sections,
                .get = [](const void* at) { return static_cast<std::int64_t>(static_cast<const Map*>(at)->size()); },
                .element =
                    [](Schema& schema, void* at, std::size_t index) {
                      auto element = static_cast<Map*>(at)->begin();
                      for (; index > 0; --index) ++element;
                      field(schema, element->first, element->second, "");
                    },
                .place =
                    [](void* at, std::string_view name) {
                      auto& map = *static_cast<Map*>(at);
                      const auto made = map.try_emplace(typename Map::key_type(name)).first;
                      std::size_t index = 0;
                      for (auto element = map.begin(); element != made; ++element) ++index;
                      return index;
                    },
                .copy = [](void* to, const void* from) { *static_cast<Map*>(to) = *static_cast<const Map*>(from); }});
}

// Declares that `key` of this section, or everything below it, has moved to `path`: "network.http.max_header_count". A
// configuration that still has `key` is rejected, with `path` in the message. renamed() cannot be used within the
// elements of a list.
void renamed(Schema& v, std::string_view key, std::string_view path);
// Declares that `key` of this section was removed; the error ends with `advice`, which says what to do instead.
void removed(Schema& v, std::string_view key, std::string_view advice);

}  // namespace keel::config
