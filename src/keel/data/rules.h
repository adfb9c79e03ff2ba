// keel/data/rules.h — rules for the fields of a struct, which are written next to the fields.
//
//   struct Line {
//     std::string sku;
//     int quantity = 0;
//     std::vector<std::string> names;
//     std::optional<std::string> note;
//     Timestamp from;
//     Timestamp to;
//
//     void rules(keel::Check& check) const {
//       check(sku).matches("[A-Z]{2}-[0-9]+");                  // the whole text (pattern.h)
//       check(quantity).range(1, 100);
//       check(names).count(1, 8);
//       check.each(names).length(1, 80);                        // each element of a list, or value of a map
//       check(note).length_at_most(500);                        // when there is one
//       check.that(from <= to, "from must not be after to");    // the struct as a whole
//     }
//   };
//
// json::parse and json::read (json_parse.h) call the rules() of a struct after the whole struct has been read; the
// rules() of nested structs are called first. Each broken rule becomes a Violation with the pointer of the field or of
// the element. Rules are not applied to a field that is absent, empty (std::optional, Patch) or already wrong; that()
// is not applied if any field of the struct is wrong or missing.
//
// Errors: checking a value that is not a field of the struct is a Bug (base/bug.h), but this is detected only when the
//         rule is broken.
// Cost:   only the comparisons; the characters (code points) of a text are counted only if the number of bytes does not
//         decide the result.

#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>

#include "keel/data/pattern.h"

namespace keel {
namespace internal {

// A bound of a rule, as the message of its Violation states it.
struct Bound {
  template <class T>
  constexpr Bound(T value) noexcept
      : kind(std::is_floating_point_v<T> ? Kind::Real
             : std::is_signed_v<T>       ? Kind::Signed
                                         : Kind::Unsigned),
        real(static_cast<double>(value)),
        whole(whole_of(value)) {}
  enum class Kind : std::uint8_t { Signed, Unsigned, Real } kind;
  double real;
  std::uint64_t whole;  // Not used if the kind is Real.

  template <class T>
  static constexpr std::uint64_t whole_of(T value) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      return 0;
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }
};

// The address of the value within a std::optional or a Patch; null if there is no value.
template <class T>
const T* judged(const T& field) noexcept {
  return &field;
}
template <class T>
  requires requires(const T& field) {
    { field.has_value() } -> std::same_as<bool>;
    *field;
  }
const auto* judged(const T& field) noexcept {
  return field.has_value() ? &*field : nullptr;
}

}  // namespace internal

namespace internal {
// Types such as Decimal, Date and Timestamp: their bounds are compared as values, and written as text in messages.
template <class T>
concept OrderedText = requires(const T& value) {
  { value.text() } -> std::convertible_to<std::string_view>;
  { value <= value } -> std::convertible_to<bool>;
};
}  // namespace internal

template <class T>
class CheckedField;
template <class List>
class CheckedElements;

// Collects the violations of a struct while its rules() runs.
class Check {
 public:
  // The part of a field to which a rule applies: the whole field, the element with an index, or the value of a key.
  struct Element {
    enum class Kind : std::uint8_t { None, Index, Key } kind = Kind::None;
    std::size_t index = 0;
    std::string_view key;
  };

  // Begins the rules for a field of the struct: check(field).length(1, 40).
  template <class T>
  auto operator()(const T& field) noexcept {
    bool is_null = false;
    if constexpr (requires { field.is_null(); }) is_null = field.is_null();
    return CheckedField(*this, &field, internal::judged(field), is_null);
  }
  // Begins the rules for each element of a field that is a list or a map of scalars. For lists of structs, use the
  // rules() of the structs themselves.
  template <class T>
  auto each(const T& field) noexcept {
    return CheckedElements(*this, &field, internal::judged(field));
  }
  // The message consists of the pointer of the struct and `words`; if the struct is the whole text, the message is only
  // `words`: "from must not be after to".
  void that(bool holds, std::string_view words) {
    if (!holds && is_whole_) [[unlikely]]
      tell_(context_, {}, words, {});
  }

  // For code that reads a struct: the addresses and the names of its fields, one bit for each field that is to be
  // checked, and whether all fields are valid. `tell` receives each violation: the name of the field ("" for the
  // struct), the message, and the keyword of JSON Schema or "". element() then identifies the element that breaks the
  // rule.
  using Tell = void (*)(void* context, std::string_view field, std::string_view words, std::string_view keyword);
  Check(const void* const* fields, std::span<const std::string_view> names, std::uint64_t judged, bool is_whole,
        Tell tell, void* context) noexcept
      : fields_(fields), names_(names), judged_(judged), is_whole_(is_whole), tell_(tell), context_(context) {}
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;
  const Element& element() const noexcept { return element_; }

 private:
  template <class T>
  friend class CheckedField;
  template <class List>
  friend class CheckedElements;

  // `keyword` is a keyword of JSON Schema; both `words` and `keyword` are string literals.
  [[gnu::cold]] void violated(const void* field, std::string_view words, std::string_view keyword = {});
  [[gnu::cold]] void out_of_range(const void* field, const internal::Bound* least, const internal::Bound* most,
                                  bool is_above);
  [[gnu::cold]] void out_of_range(const void* field, const std::string_view* least, const std::string_view* most,
                                  bool is_above);
  void judge_length(const void* field, std::string_view text, std::size_t least, std::size_t most);
  [[gnu::cold]] void wrong_count(const void* field, std::size_t least, std::size_t most, const char* of_what,
                                 std::string_view keyword);
  [[gnu::cold]] void none_of(const void* field, std::span<const std::string_view> words);
  [[gnu::cold]] void none_of(const void* field, std::span<const internal::Bound> numbers);
  void judge_pattern(const void* field, const std::string_view* text, const Pattern& pattern, std::string_view words);

  const void* const* fields_;
  std::span<const std::string_view> names_;
  std::uint64_t judged_;
  bool is_whole_;
  Tell tell_;
  void* context_;
  Element element_;
};

// The result of check(field); several rules can be chained.
template <class T>
class [[nodiscard("add a rule for the field: check(field).length(1, 40)")]] CheckedField {
  static constexpr bool is_text = std::convertible_to<const T&, std::string_view>;
  static constexpr bool is_number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;
  static constexpr bool is_ordered = is_number || internal::OrderedText<T>;
  static constexpr bool is_map = requires { typename T::mapped_type; };
  static constexpr std::size_t no_limit = SIZE_MAX;

 public:
  CheckedField(Check& check, const void* field, const T* value, bool is_null) noexcept
      : check_(check), field_(field), value_(value), is_null_(is_null) {}

  // The length of a text, in characters.
  const CheckedField& length(std::size_t least, std::size_t most) const {
    static_assert(is_text, "length() is for text; for lists and maps, use count()");
    if (value_ != nullptr) check_.judge_length(field_, *value_, least, most);
    return *this;
  }
  const CheckedField& length_at_least(std::size_t least) const { return length(least, no_limit); }
  const CheckedField& length_at_most(std::size_t most) const { return length(0, most); }

  // The number of elements of a list or a map.
  const CheckedField& count(std::size_t least, std::size_t most) const {
    static_assert(
        !is_text && requires(const T& list) { list.size(); }, "count() is for lists and maps; for text, use length()");
    if (value_ != nullptr && (value_->size() < least || value_->size() > most))
      check_.wrong_count(field_, least, most, "element",
                         is_map ? (value_->size() < least ? "minProperties" : "maxProperties")
                                : (value_->size() < least ? "minItems" : "maxItems"));
    return *this;
  }
  const CheckedField& count_at_least(std::size_t least) const { return count(least, no_limit); }
  const CheckedField& count_at_most(std::size_t most) const { return count(0, most); }

  // Both bounds are included in the range. The field must be a number, or have a type such as Decimal, Date or
  // Timestamp.
  const CheckedField& range(std::type_identity_t<T> least, std::type_identity_t<T> most) const {
    static_assert(is_ordered,
                  "range() is for numbers; for other types, write the condition: check.that(from < to, \"…\")");
    if (value_ != nullptr && !(*value_ >= least && *value_ <= most)) out_of_range(&least, &most, *value_ > most);
    return *this;
  }
  const CheckedField& at_least(std::type_identity_t<T> least) const {
    static_assert(is_ordered,
                  "at_least() is for numbers; for other types, write the condition: check.that(from < to, \"…\")");
    if (value_ != nullptr && !(*value_ >= least)) out_of_range(&least, nullptr, false);
    return *this;
  }
  const CheckedField& at_most(std::type_identity_t<T> most) const {
    static_assert(is_ordered,
                  "at_most() is for numbers; for other types, write the condition: check.that(from < to, \"…\")");
    if (value_ != nullptr && !(*value_ <= most)) out_of_range(nullptr, &most, true);
    return *this;
  }

  // The field must be a text or a number: one_of("open", "closed").
  template <class... Choices>
  const CheckedField& one_of(const Choices&... choices) const {
    static_assert(is_text || is_number,
                  "one_of() is for text and numbers; an enum already accepts only the names of "
                  "its values");
    using Choice = std::conditional_t<is_text, std::string_view, T>;
    if (value_ == nullptr || ((Choice(*value_) == Choice(choices)) || ...)) return *this;
    if constexpr (is_text) {
      const std::string_view words[] = {choices...};
      check_.none_of(field_, words);
    } else {
      const internal::Bound numbers[] = {T(choices)...};
      check_.none_of(field_, numbers);
    }
    return *this;
  }

  // The whole text must match the pattern (pattern.h): matches("[A-Z]{2}-[0-9]+"). In the message, the text of `words`
  // follows the name of the field: "must be a SKU such as AB-1234"; without `words`, the message is "must match" and
  // the pattern.
  const CheckedField& matches(Pattern pattern, std::string_view words = {}) const {
    static_assert(is_text, "matches() is for text; for other types, write the condition: check(field).satisfies(…)");
    if (value_ == nullptr) {
      check_.judge_pattern(field_, nullptr, pattern, words);
    } else {
      const std::string_view text = *value_;
      check_.judge_pattern(field_, &text, pattern, words);
    }
    return *this;
  }

  // The Patch must not be null: it must be absent or have a value.
  const CheckedField& not_null() const {
    if (is_null_) check_.violated(field_, "must not be null", "type");
    return *this;
  }

  // The rule is broken unless `holds(value)` returns true; the message is the field's name and `words`: "must be a SKU
  // such as AB-1234".
  template <class F>
  const CheckedField& satisfies(F&& holds, std::string_view words) const {
    if (value_ != nullptr && !holds(*value_)) check_.violated(field_, words);
    return *this;
  }

 private:
  [[gnu::cold]] void out_of_range(const T* least, const T* most, bool is_above) const {
    if constexpr (is_number) {
      const internal::Bound bounds[] = {least != nullptr ? *least : T(), most != nullptr ? *most : T()};
      check_.out_of_range(field_, least != nullptr ? &bounds[0] : nullptr, most != nullptr ? &bounds[1] : nullptr,
                          is_above);
    } else {
      const auto least_text = (least != nullptr ? *least : *most).text();
      const auto most_text = (most != nullptr ? *most : *least).text();
      const std::string_view bounds[] = {least_text, most_text};
      check_.out_of_range(field_, least != nullptr ? &bounds[0] : nullptr, most != nullptr ? &bounds[1] : nullptr,
                          is_above);
    }
  }

  Check& check_;
  const void* field_;
  const T* value_;
  bool is_null_;
};

// The result of Check::each(); each element is checked by the same rules.
template <class List>
class [[nodiscard("add a rule for the elements: check.each(field).length(1, 40)")]] CheckedElements {
  static constexpr bool is_text = std::convertible_to<const List&, std::string_view>;
  static constexpr bool is_map = requires { typename List::mapped_type; };
  static_assert(
      !is_text && requires(const List& list) { list.begin(); },
      "each() is for lists and maps; for a single value, use check(field)");

 public:
  CheckedElements(Check& check, const void* field, const List* list) noexcept
      : check_(check), field_(field), list_(list) {}

  const CheckedElements& length(std::size_t least, std::size_t most) const {
    return judge([&](const auto& element) { element.length(least, most); });
  }
  const CheckedElements& length_at_least(std::size_t least) const {
    return judge([&](const auto& element) { element.length_at_least(least); });
  }
  const CheckedElements& length_at_most(std::size_t most) const {
    return judge([&](const auto& element) { element.length_at_most(most); });
  }
  template <class Bound>
  const CheckedElements& range(const Bound& least, const Bound& most) const {
    return judge([&](const auto& element) { element.range(least, most); });
  }
  template <class Bound>
  const CheckedElements& at_least(const Bound& least) const {
    return judge([&](const auto& element) { element.at_least(least); });
  }
  template <class Bound>
  const CheckedElements& at_most(const Bound& most) const {
    return judge([&](const auto& element) { element.at_most(most); });
  }
  template <class... Choices>
  const CheckedElements& one_of(const Choices&... choices) const {
    return judge([&](const auto& element) { element.one_of(choices...); });
  }
  const CheckedElements& matches(Pattern pattern, std::string_view words = {}) const {
    return judge([&](const auto& element) { element.matches(pattern, words); });
  }
  template <class F>
  const CheckedElements& satisfies(F&& holds, std::string_view words) const {
    return judge([&](const auto& element) { element.satisfies(holds, words); });
  }

 private:
  template <class F>
  const CheckedElements& judge(F rule) const {
    if (list_ == nullptr) return *this;
    std::size_t index = 0;
    for (const auto& one : *list_) {
      if constexpr (is_map) {
        check_.element_ = {Check::Element::Kind::Key, index, one.first};
        rule(CheckedField(check_, field_, internal::judged(one.second), false));
      } else {
        check_.element_ = {Check::Element::Kind::Index, index, {}};
        rule(CheckedField(check_, field_, internal::judged(one), false));
      }
      ++index;
    }
    check_.element_ = {};
    return *this;
  }

  Check& check_;
  const void* field_;
  const List* list_;
};

}  // namespace keel
