// keel/db/sql.h — SQL text that is known when the program is compiled.
//
// Sql is made from a string literal and from nothing else, so text made from input can never become SQL. `$1`, `$2`, …
// are the placeholders on every database; literals, quoted names and comments are left alone. SqlFor<N> is an Sql with
// exactly the parameters $1 to $N: a wrong number of arguments does not compile.
//
//   database.query_one<User>("select id, name from users where id = $1", id);
//
// An Sql knows the place in the source where its literal became one: the call, in the example above. An error of the
// statement names both.
//
// Lifetime: the text lives as long as the process, so its address is its name in statement caches.
// Threads:  values.  Cost: counted by the compiler.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <type_traits>

#include "keel/base/ascii.h"

namespace keel::db {

inline constexpr int parameters_max = 99;

// Calls f(offset, number) for each `$number` in `text` that is a placeholder; `offset` is that of the `$`.
// `$name` and `$0` give number 0.
template <class F>
constexpr void for_each_placeholder(std::string_view text, F&& f) {
  const auto is_name = [](char c) {
    return ascii::is_alphanumeric(c) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
  };
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\'' || c == '"' || c == '`' || c == '[') {
      // A doubled quote inside ends one literal and begins the next, which comes to the same.
      const char end = c == '[' ? ']' : c;
      for (++at; at < text.size() && text[at] != end; ++at) {
      }
      ++at;
    } else if (c == '-' && at + 1 < text.size() && text[at + 1] == '-') {
      while (at < text.size() && text[at] != '\n') ++at;
    } else if (c == '/' && at + 1 < text.size() && text[at + 1] == '*') {
      at += 2;
      while (at + 1 < text.size() && !(text[at] == '*' && text[at + 1] == '/')) ++at;
      at += 2;
    } else if (c == '$') {
      const std::size_t start = at++;
      int number = 0;
      while (at < text.size() && ascii::is_digit(text[at])) {
        if (number <= parameters_max) number = number * 10 + (text[at] - '0');
        ++at;
      }
      if (at < text.size() && is_name(text[at])) number = 0;
      while (at < text.size() && is_name(text[at])) ++at;
      f(start, number);
    } else if (is_name(c)) {
      while (at < text.size() && is_name(text[at])) ++at;  // `a$1` is a name.
    } else {
      ++at;
    }
  }
}

// How many parameters `text` has: the highest $n. -1 when a number up to it is missing, above parameters_max, or a
// placeholder is not a number.
constexpr int count_parameters(std::string_view text) {
  bool seen[parameters_max + 1] = {};
  int highest = 0;
  bool good = true;
  for_each_placeholder(text, [&](std::size_t, int number) {
    if (number < 1 || number > parameters_max) {
      good = false;
      return;
    }
    seen[number] = true;
    if (number > highest) highest = number;
  });
  for (int i = 1; i <= highest; ++i) good = good && seen[i];
  return good ? highest : -1;
}

namespace internal {
// Not constexpr on purpose: the compiler names them when they would be called.
void sql_parameters_are_numbered_from_1_without_gaps();
void sql_has_another_number_of_parameters_than_arguments_were_given();

template <class T>
struct NotLiteral {
  static_assert(
      std::is_array_v<T>,
      "SQL is a string literal, or a constexpr array of char outside of functions: values go in as $1, $2, ... "
      "and become arguments");
  static constexpr bool is_allowed = true;
};
template <class T>
concept Text = !std::is_array_v<T> && std::is_convertible_v<const T&, std::string_view>;
}  // namespace internal

// The place of a call, as a default argument of a consteval constructor in an awaited expression: GCC 14 takes no
// object there, and Clang gives the bare pointer to std::source_location alone.
#ifdef __clang__
#define KEEL_CALLER std::source_location place = std::source_location::current()
#else
#define KEEL_CALLER const void* place = __builtin_source_location()
#endif

class Sql {
 public:
  template <std::size_t Size>
  consteval Sql(const char (&literal)[Size], KEEL_CALLER)
      : text_(literal), size_(Size - 1), parameters_(count_parameters({literal, Size - 1})), place_(place) {
    if (parameters_ < 0) internal::sql_parameters_are_numbered_from_1_without_gaps();
  }

  constexpr std::string_view text() const noexcept { return {text_, size_}; }
  constexpr int parameters() const noexcept { return parameters_; }
  std::source_location place() const noexcept { return std::bit_cast<std::source_location>(place_); }

 private:
  const char* text_;
  std::uint32_t size_;
  std::int32_t parameters_;
#ifdef __clang__
  std::source_location place_;
#else
  const void* place_;  // All that a std::source_location holds.
#endif
};

template <std::size_t Arguments>
class SqlFor : public Sql {
 public:
  template <std::size_t Size>
  consteval SqlFor(const char (&literal)[Size], KEEL_CALLER) : Sql(literal, place) {
    if (parameters() != static_cast<int>(Arguments)) {
      internal::sql_has_another_number_of_parameters_than_arguments_were_given();
    }
  }
  // For the compiler's message about text that is made at run time.
  template <internal::Text T>
    requires internal::NotLiteral<T>::is_allowed
  SqlFor(const T& text);
};

#undef KEEL_CALLER

}  // namespace keel::db
