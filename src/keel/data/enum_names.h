// keel/data/enum_names.h — the names of an enum's values.
//
//   enum class Status { Open, InTransit, Paid };
//   enum_name(Status::Paid)                   // "Paid"
//   enum_value<Status>("InTransit")           // Status::InTransit
//   template <>
//   inline constexpr auto keel::name_case<Status> = keel::Case::Snake;    // "in_transit" from here on (name_case.h)
//
// Only values from 0 to 127 are found, in an enum class or in an enum with a declared underlying type; if two names
// have the same value, only the first name is found. For other enums, write read_json() and write_json()
// (json_parse.h).
//
// If the names outside the program differ from the names in the code, list them next to the enum, in the order of its
// values:
//
//   inline constexpr std::string_view unit_names[] = {"kg", "m/s", "°C"};
//   constexpr const auto& enum_names(Unit) { return unit_names; }
//
// Cost: enum_name is an index operation; enum_value takes one comparison for each name. At compile time, one function
//       is instantiated for each enum.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/data/name_case.h"

namespace keel {
namespace internal {

inline constexpr std::size_t enum_values_max = 128;

// The external names, concatenated; the name of value i ends at end[i].
struct EnumNames {
  const char* text;
  const std::uint16_t* end;
  std::size_t count;  // The number of values up to and including the last value that has a name.

  constexpr std::string_view name(std::size_t value) const noexcept {
    if (value >= count) return {};
    const std::size_t begin = value == 0 ? 0 : end[value - 1];
    return {text + begin, end[value] - begin};
  }
};
struct EnumNameScratch {
  char text[4096] = {};
  std::uint16_t end[enum_values_max] = {};
  std::size_t count = 0;
  bool fits = true;
};

// GCC writes "E ...values = {Status::Open, (Status)1}", Clang writes "values = <Status::Open, (Status)1>".
template <class E, E... values>
consteval std::string_view enum_text() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view begin = "values = ";
  return text.substr(text.rfind(begin) + begin.size() + 1);
}

constexpr EnumNameScratch names_in(std::string_view text, Case to_case) {
  EnumNameScratch names;
  std::size_t at = 0;
  std::size_t size = 0;
  for (std::size_t value = 0; value < enum_values_max; ++value) {
    std::size_t last = at;  // The position at which the text after the last ':' begins.
    bool is_name = true;    // False if the text is a number with a cast, as in "(Status)1".
    // The number of open brackets, which belong to template arguments or to "(anonymous namespace)".
    int depth = 0;
    std::size_t i = at;
    for (; depth != 0 || (text[i] != ',' && text[i] != '}' && text[i] != '>' && text[i] != ']'); ++i) {
      const char c = text[i];
      if (c == '(' || c == '<' || c == '{') ++depth;
      if (c == ')' || c == '>' || c == '}') --depth;
      if (depth == 0 && c == ':') last = i + 1;
    }
    if (text[last] == '(') is_name = false;
    if (is_name) {
      if (size + 2 * (i - last) > sizeof names.text) {
        names.fits = false;
        return names;
      }
      size += change_case(text.substr(last, i - last), to_case, names.text + size);
      names.count = value + 1;
    }
    names.end[value] = static_cast<std::uint16_t>(size);
    at = i + 2;
  }
  return names;
}

template <class E>
consteval EnumNameScratch enum_names_of() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return names_in(enum_text<E, static_cast<E>(I)...>(), name_case<E>);
  }(std::make_index_sequence<enum_values_max>());
}
template <class E>
concept SaysItsNames = requires { std::string_view(enum_names(E{})[0]); };
template <class E>
struct EnumTable {
  static_assert(std::is_enum_v<E>, "the type must be an enum: only the values of an enum have names");
  static_assert(
      requires { E{0}; },
      "the names of this enum's values cannot be found: make it an enum class, or declare its underlying type");
  static constexpr EnumNameScratch scratch = enum_names_of<E>();
  static_assert(scratch.count != 0,
                "no value of this enum from 0 to 127 has a name: give the enum read_json() and write_json()");
  static_assert(scratch.fits,
                "the names of this enum are longer than 4,096 characters: give the enum read_json() and write_json()");
  static constexpr auto text = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<char, sizeof...(I)>{scratch.text[I]...};
  }(std::make_index_sequence<scratch.count == 0 ? 1 : scratch.end[scratch.count - 1]>());
  static constexpr auto end = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<std::uint16_t, sizeof...(I)>{scratch.end[I]...};
  }(std::make_index_sequence<scratch.count == 0 ? 1 : scratch.count>());
  static constexpr EnumNames names{text.data(), end.data(), scratch.count};
};

template <SaysItsNames E>
struct EnumTable<E> {
  static constexpr const auto& list = enum_names(E{});
  static constexpr std::size_t count = std::size(list);
  static constexpr auto end = [] {
    std::array<std::uint16_t, count> made{};
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::uint16_t>(size += list[i].size());
    return made;
  }();
  static constexpr auto text = [] {
    std::array<char, end.back() + 1> made{};
    char* to = made.data();
    for (const std::string_view name : list) {
      for (const char c : name) *to++ = c;
    }
    return made;
  }();
  static constexpr EnumNames names{text.data(), end.data(), count};
};

std::optional<std::size_t> find_name(const EnumNames& names, std::string_view name) noexcept;

}  // namespace internal

// The name is empty when the value has no name that can be found.
template <class E>
std::string_view enum_name(E value) noexcept {
  const auto number = static_cast<std::underlying_type_t<E>>(value);
  if (number < 0) return {};
  return internal::EnumTable<E>::names.name(static_cast<std::size_t>(number));
}

// Returns the value of `E` whose name is `name`; nullopt when no value has this name.
template <class E>
std::optional<E> enum_value(std::string_view name) noexcept {
  const auto value = internal::find_name(internal::EnumTable<E>::names, name);
  if (!value) return std::nullopt;
  return static_cast<E>(*value);
}

}  // namespace keel
