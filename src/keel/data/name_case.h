// keel/data/name_case.h — converts names to the case that they have outside the program: createdAt for created_at.
//
//   struct Order {
//     static constexpr auto name_case = keel::Case::Camel;
//     Timestamp created_at;
//   };
//   template <>                                              // of an enum, or of a type that is not yours to change
//   inline constexpr auto keel::name_case<Status> = keel::Case::Snake;
//
// A new word begins after '_' and at a capital letter that follows a small letter or a digit: created_at, CreatedAt and
// createdAt each consist of two words, and HTTPServer consists of one word. Letters beyond ASCII are not changed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/ascii.h"

namespace keel {

// How the names of fields are written outside the program.
enum class Case : std::uint8_t {
  AsDeclared,
  Snake,       // created_at
  Camel,       // createdAt
  Pascal,      // CreatedAt
  Kebab,       // created-at
  UpperSnake,  // CREATED_AT
};

namespace internal {
template <class T>
consteval Case case_of() {
  if constexpr (requires { Case{T::name_case}; }) return T::name_case;
  return Case::AsDeclared;
}
}  // namespace internal

template <class T>
inline constexpr Case name_case = internal::case_of<T>();

// Converts `name` to the case `to_case`, and writes it to `to`, which must have space for twice the size of `name`;
// returns the number of characters written.
constexpr std::size_t change_case(std::string_view name, Case to_case, char* to) noexcept {
  const auto is_lower = [](char c) { return ascii::is_lower(c) || ascii::is_digit(c); };
  std::size_t size = 0;
  bool begins = true;  // Whether a word begins at this character.
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (to_case == Case::AsDeclared) {
      to[size++] = c;
      continue;
    }
    if (c == '_') {
      begins = true;
      continue;
    }
    if (i != 0 && ascii::is_upper(c) && is_lower(name[i - 1])) begins = true;
    const bool is_first = size == 0;
    if (begins && !is_first && to_case != Case::Camel && to_case != Case::Pascal) {
      to[size++] = to_case == Case::Kebab ? '-' : '_';
    }
    const bool upper =
        to_case == Case::UpperSnake || (begins && (to_case == Case::Pascal || (to_case == Case::Camel && !is_first)));
    to[size++] = upper ? ascii::to_upper(c) : ascii::to_lower(c);
    begins = false;
  }
  return size;
}

}  // namespace keel
