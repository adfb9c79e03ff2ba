// keel/data/rules.h — what the fields of a struct have to be like, said beside them.
//
//   struct Line {
//     std::string sku;
//     int quantity = 0;
//     std::optional<std::string> note;
//     Timestamp from;
//     Timestamp to;
//
//     void rules(keel::Check& check) const {
//       check(sku).length(1, 40).satisfies(is_sku, "must be a SKU such as AB-1234");
//       check(quantity).range(1, 100);
//       check(note).length_at_most(500);                        // when there is one
//       check.that(from <= to, "from must not be after to");    // the struct as a whole
//     }
//   };
//
// json::parse and json::read (json_parse.h) call rules() of a struct once all of it is read, nested structs first. What
// does not hold is a Violation with the field's pointer. A field that is absent, empty (std::optional, Patch) or wrong
// already is not judged; nor is the struct as a whole when one of its fields is wrong or missing.
//
// Errors: checking what is not a field of the struct is a Bug (base/bug.h), once it does not hold.
// Cost:   the comparisons; a length is counted in characters (code points) where the bytes do not decide.

#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>

namespace keel {
namespace internal {

// A bound, for the message.
struct Bound {
  template <class T>
  constexpr Bound(T value) noexcept
      : kind(std::is_floating_point_v<T> ? Kind::Real
             : std::is_signed_v<T>       ? Kind::Signed
                                         : Kind::Unsigned),
        real(static_cast<double>(value)),
        whole(static_cast<std::uint64_t>(value)) {}
  enum class Kind : std::uint8_t { Signed, Unsigned, Real } kind;
  double real;
  std::uint64_t whole;
};

// How the value within an optional or a Patch is looked at; null when there is none.
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

template <class T>
class CheckedField;

class Check {
 public:
  // A field of the struct; then what it has to be like.
  template <class T>
  auto operator()(const T& field) noexcept {
    bool is_null = false;
    if constexpr (requires { field.is_null(); }) is_null = field.is_null();
    return CheckedField(*this, &field, internal::judged(field), is_null);
  }
  // `words` go on from the pointer of the struct, or of the whole text: "from must not be after to".
  void that(bool holds, std::string_view words) {
    if (!holds && is_whole_) [[unlikely]]
      tell_(context_, {}, words);
  }

  // For whoever reads a struct: its fields' addresses and names, a bit for each that is to be judged, whether all are
  // well; and who is told, with the field's name ("" for the struct) and the words.
  using Tell = void (*)(void* context, std::string_view field, std::string_view words);
  Check(const void* const* fields, std::span<const std::string_view> names, std::uint64_t judged, bool is_whole,
        Tell tell, void* context) noexcept
      : fields_(fields), names_(names), judged_(judged), is_whole_(is_whole), tell_(tell), context_(context) {}
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

 private:
  template <class T>
  friend class CheckedField;

  [[gnu::cold]] void violated(const void* field, std::string_view words);
  [[gnu::cold]] void out_of_range(const void* field, const internal::Bound* least, const internal::Bound* most);
  void judge_length(const void* field, std::string_view text, std::size_t least, std::size_t most);
  [[gnu::cold]] void wrong_count(const void* field, std::size_t least, std::size_t most, const char* of_what);
  [[gnu::cold]] void none_of(const void* field, std::span<const std::string_view> words);
  [[gnu::cold]] void none_of(const void* field, std::span<const internal::Bound> numbers);

  const void* const* fields_;
  std::span<const std::string_view> names_;
  std::uint64_t judged_;
  bool is_whole_;
  Tell tell_;
  void* context_;
};

// What Check gives for a field; each may follow another.
template <class T>
class [[nodiscard("say what the field has to be like: check(field).length(1, 40)")]] CheckedField {
  static constexpr bool is_text = std::convertible_to<const T&, std::string_view>;
  static constexpr bool is_number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;
  static constexpr std::size_t no_limit = SIZE_MAX;

 public:
  CheckedField(Check& check, const void* field, const T* value, bool is_null) noexcept
      : check_(check), field_(field), value_(value), is_null_(is_null) {}

  // Of a text, in characters.
  const CheckedField& length(std::size_t least, std::size_t most) const {
    static_assert(is_text, "length() is for text; for lists and maps it is count()");
    if (value_ != nullptr) check_.judge_length(field_, *value_, least, most);
    return *this;
  }
  const CheckedField& length_at_least(std::size_t least) const { return length(least, no_limit); }
  const CheckedField& length_at_most(std::size_t most) const { return length(0, most); }

  // Of a list or a map, in elements.
  const CheckedField& count(std::size_t least, std::size_t most) const {
    static_assert(
        !is_text && requires(const T& list) { list.size(); }, "count() is for lists and maps; for text it is length()");
    if (value_ != nullptr && (value_->size() < least || value_->size() > most))
      check_.wrong_count(field_, least, most, "element");
    return *this;
  }
  const CheckedField& count_at_least(std::size_t least) const { return count(least, no_limit); }
  const CheckedField& count_at_most(std::size_t most) const { return count(0, most); }

  // Both ends are within.
  const CheckedField& range(std::type_identity_t<T> least, std::type_identity_t<T> most) const {
    static_assert(is_number, "range() is for numbers; of other types say what holds: check.that(from < to, \"…\")");
    if (value_ != nullptr && !(*value_ >= least && *value_ <= most)) {
      const internal::Bound bounds[] = {least, most};
      check_.out_of_range(field_, &bounds[0], &bounds[1]);
    }
    return *this;
  }
  const CheckedField& at_least(std::type_identity_t<T> least) const {
    static_assert(is_number, "at_least() is for numbers; of other types say what holds: check.that(from < to, \"…\")");
    const internal::Bound bound = least;
    if (value_ != nullptr && !(*value_ >= least)) check_.out_of_range(field_, &bound, nullptr);
    return *this;
  }
  const CheckedField& at_most(std::type_identity_t<T> most) const {
    static_assert(is_number, "at_most() is for numbers; of other types say what holds: check.that(from < to, \"…\")");
    const internal::Bound bound = most;
    if (value_ != nullptr && !(*value_ <= most)) check_.out_of_range(field_, nullptr, &bound);
    return *this;
  }

  // Words or numbers: one_of("open", "closed").
  template <class... Choices>
  const CheckedField& one_of(const Choices&... choices) const {
    static_assert(is_text || is_number, "one_of() is for text and numbers; an enum has its names already");
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

  // Of a Patch: absent, or a value.
  const CheckedField& not_null() const {
    if (is_null_) check_.violated(field_, "must not be null");
    return *this;
  }

  // `holds(value)` is true; `words` go on from the field's name: "must be a SKU such as AB-1234".
  template <class F>
  const CheckedField& satisfies(F&& holds, std::string_view words) const {
    if (value_ != nullptr && !holds(*value_)) check_.violated(field_, words);
    return *this;
  }

 private:
  Check& check_;
  const void* field_;
  const T* value_;
  bool is_null_;
};

}  // namespace keel
