// keel/contract/schema.h — JSON Schema 2020-12 as constant tables, and functions that check values against them.
//
//   extern const Schema pet;           // a constant that a generator writes (tools/keel/gen/schema_tables.h)
//   Violations wrong;
//   if (!check(value, pet, wrong)) …   // "/name must have 1 to 80 characters"
//
// Keywords:   All keywords of JSON Schema 2020-12, except those that docs/contract.md lists as unsupported. A
//             default-constructed Schema accepts every value.
// Numbers:    Numbers are compared exactly, by the values that json::Value holds. Multiples are computed in decimal, so
//             0.3 is a multiple of 0.1. A number with a fraction, an exponent or more than 64 bits is held as a double,
//             and counts as the shortest decimal that reads back as this double.
// Text:       Lengths are in code points. A pattern is searched for anywhere in the text, by RE2 (data/pattern.h).
// Violations: At most Violations::count_max; violations of members and elements are in the order of the text. For anyOf
//             and oneOf, if the types, constants, enumerations and required members of the alternatives show which of
//             them is meant, the violations of that alternative are reported; otherwise there is a single violation.
// Bounds:     work_max and work_per_value limit the work, and schemas may be nested up to 512 deep. If checking a value
//             would exceed a bound, the check ends early: check() adds a violation and returns false.
// Lifetime:   Tables are constants. The tables must outlive their users, and may refer to one another in cycles.
// Threads:    Any.
// Cost:       No heap for a valid value, except for a list of more than 31 elements with is_unique, and for a value of
//             more than about 4,000 elements that is checked with unevaluatedItems or unevaluatedProperties. A check
//             uses at most 512 KiB of stack.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "keel/contract/formats.h"
#include "keel/data/json_value.h"
#include "keel/data/pattern.h"
#include "keel/data/violations.h"

namespace keel::contract {

struct Schema;
// A list of schemas.
using Schemas = std::span<const Schema* const>;

// A number in a schema.
struct Number {
  enum class Kind : std::uint8_t { Signed, Unsigned, Real };

  constexpr Number() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr Number(T value) noexcept
      : kind(std::floating_point<T>    ? Kind::Real
             : std::signed_integral<T> ? Kind::Signed
                                       : Kind::Unsigned),
        whole(std::floating_point<T> ? 0 : static_cast<std::uint64_t>(value)),
        real(std::floating_point<T> ? static_cast<double>(value) : 0) {}

  Kind kind = Kind::Signed;
  std::uint64_t whole = 0;  // The number, in two's complement if the kind is Signed.
  double real = 0;
};

// The minimum or maximum of a number.
struct Limit {
  enum class Kind : std::uint8_t { None, Inclusive, Exclusive };

  Kind kind = Kind::None;
  Number number = {};
};

// The keywords about numbers.
struct NumberRules {
  Limit least = {};
  Limit most = {};
  Number multiple_of = {};  // 0: no rule.
};

// The keywords about strings.
struct TextRules {
  std::size_t length_min = 0;
  std::size_t length_max = SIZE_MAX;
  const Pattern* pattern = nullptr;
  std::string_view pattern_text = {};  // The pattern as it is written in the document; messages show it.
  Format format = Format::None;
};

// The keywords about arrays.
struct ListRules {
  std::size_t count_min = 0;
  std::size_t count_max = SIZE_MAX;
  bool is_unique = false;
  Schemas prefix = {};  // A null schema accepts every value.
  // The schema of the elements after the prefix. If `items`, `contains` or `unevaluated` is null, the schema does not
  // have that keyword.
  const Schema* items = nullptr;
  const Schema* contains = nullptr;
  std::size_t contains_min = 1;
  std::size_t contains_max = SIZE_MAX;
  const Schema* unevaluated = nullptr;
};

// Which required members an object may lack (OpenAPI 3.1.1 §4.8.24.2): in a request, those that are `readOnly`; in a
// response, those that are `writeOnly`.
enum class Excuse : std::uint8_t { None, ReadOnly, WriteOnly };

// The schema of a property, by its name.
struct Property {
  std::string_view name;
  const Schema* schema = nullptr;  // Null: accepts anything.
  Excuse excuse = Excuse::None;    // Whether the property is `readOnly` or `writeOnly`.
};

// The schema of all properties whose names match a pattern.
struct PatternProperty {
  const Pattern* pattern;
  const Schema* schema = nullptr;  // Null: accepts anything.
};

// Conditions that an object must satisfy if it has a member with this name.
struct Dependency {
  std::string_view name;
  std::span<const std::string_view> required = {};
  const Schema* schema = nullptr;
};

// The keywords about objects.
struct ObjectRules {
  std::size_t count_min = 0;
  std::size_t count_max = SIZE_MAX;
  std::span<const Property> properties = {};  // Sorted by name with operator<.
  std::span<const std::string_view> required = {};
  std::span<const PatternProperty> patterns = {};
  const Schema* additional = nullptr;
  const Schema* names = nullptr;
  std::span<const Dependency> dependencies = {};
  const Schema* unevaluated = nullptr;
};

// The keywords that combine schemas.
struct Combination {
  Schemas all_of = {};  // The target of a $ref is one of the schemas in `all_of`.
  Schemas any_of = {};
  Schemas one_of = {};
  const Schema* none_of = nullptr;  // `not`
  const Schema* condition = nullptr;
  const Schema* then = nullptr;
  const Schema* otherwise = nullptr;
};

// A value in `const` or `enum`.
struct Constant {
  json::Kind kind = json::Kind::Null;
  bool boolean = false;
  Number number = {};
  std::string_view text = {};
  const Constant* elements = nullptr;  // The elements of a list, or the values of an object's members.
  const std::string_view* names = nullptr;
  std::size_t size = 0;
};

struct Schema {
  static constexpr std::uint8_t null_bit = 1;
  static constexpr std::uint8_t boolean_bit = 2;
  static constexpr std::uint8_t integer_bit = 4;
  // This bit is for numbers that are not integers; integer_bit is for integers.
  static constexpr std::uint8_t number_bit = 8;
  static constexpr std::uint8_t string_bit = 16;
  static constexpr std::uint8_t list_bit = 32;
  static constexpr std::uint8_t object_bit = 64;
  static constexpr std::uint8_t all_types = 127;

  std::uint8_t types = all_types;  // 0: no value is valid.
  bool has_values = false;         // Whether the value must be one of `values`.
  bool is_constant = false;        // Whether `values` comes from `const` and not from `enum`.
  std::span<const Constant> values = {};
  const NumberRules* number = nullptr;
  const TextRules* text = nullptr;
  const ListRules* list = nullptr;
  const ObjectRules* object = nullptr;
  const Combination* combination = nullptr;
};

// The schemas `true` (which is the same as {}) and `false`.
inline constexpr Schema anything{};
inline constexpr Schema nothing{.types = 0};

// Every check may do `work_max` units of work, plus `work_per_value` for each value within the checked value and for
// each 64 bytes of its texts. Each evaluation of a schema for a value, each look at a member, and each look at 64 bytes
// of a text is one unit.
inline constexpr std::size_t work_max = 50'000;
inline constexpr std::size_t work_per_value = 256;

// Returns whether the value is valid; if it is not, adds a violation unless `wrong` is full. A member that `excuse`
// excuses may be absent although `required` or `dependentRequired` names it, except within `not` and `if`. In an
// alternative of anyOf or oneOf, `excuse` applies only to the properties that the alternative itself declares, because
// the presence of a required member may be what selects the alternative.
bool check(const json::Value& value, const Schema& schema, Violations& wrong, Excuse excuse = Excuse::None);

// Checks the value that `in` is about to read, without consuming it; code that reads the value afterwards may rely on
// its validity. Violations contain the pointer and the position within the whole text. If the text is malformed, or
// `wrong` is full, `in` fails. The check reads the value into a json::Value, which allocates; the code afterwards reads
// the value again. The members that may be absent are those of a response if json::ReaderOptions::is_response is set,
// otherwise those of a request (Excuse).
bool check_ahead(json::Reader& in, const Schema& schema, Violations& wrong);
// The index of the first schema that matches the value that `in` is about to read; -1 if no schema matches or the value
// is malformed. The value stays unread.
int choose_ahead(json::Reader& in, std::span<const Schema* const> schemas);

}  // namespace keel::contract
