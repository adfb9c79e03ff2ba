// keel/db/sql.h — SQL text that is known at compile time, and its arguments.
//
// An Sql can be made only from a string literal, so that input text can never become SQL. For every database the
// placeholders are `$1`, `$2`, …; a `$1` in a literal, in a quoted name or in a comment is not a placeholder. Literals
// include PostgreSQL's dollar-quoted literals, $$it's$$, and its literals with escapes, e'it\'s'. A [name] in brackets
// is a quoted name; but directly after a name, `]` or `)`, brackets contain an index: array[$1], tags[$2]. SqlFor<N> is
// an Sql whose parameters are exactly $1 to $N: a wrong number of arguments does not compile.
//
//   database.query_one<User>("select id, name from users where id = $1", id);
//
// If the only argument is a struct, its fields are the arguments, by their names (data/fields.h). NamedSql<T> is an Sql
// whose parameters are fields of a T: a name for which there is no field does not compile, nor does a mix of numbers
// and names. Fields that the text does not use may have any type; the other fields must have a type that a statement
// accepts (value.h).
//
//   session.execute("insert into lines (sku, quantity) values ($sku, $quantity)", line);
//
// An Sql records the source location at which its literal was converted, which is the call in the examples above. The
// error of a statement names the statement's text and the recorded location.
//
// For back ends: named parameters are numbered from 1 in the order in which they first occur, and their values arrive
// in that order. for_each_placeholder() finds them, for a database that supports only numbered parameters.
//
// Lifetime: the text lives as long as the process; therefore statement caches can identify the text by its address.
// Threads:  values.
// Cost:     none at run time, because the compiler counts the parameters.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>
#include <type_traits>

#include "keel/base/ascii.h"
#include "keel/data/fields.h"
#include "keel/db/value.h"

namespace keel::db {

// The largest number of parameters in a statement.
inline constexpr int parameters_max = 99;

// A parameter in the text of a statement: its number or its name.
struct Placeholder {
  std::size_t offset;     // The offset of the `$` in the text.
  std::string_view name;  // The text after the `$`: "1", "sku".
  int number;             // The number; 0 if the name is not a number of at least 1.

  constexpr bool is_named() const noexcept { return !name.empty() && !ascii::is_digit(name[0]); }
};

// The size of the dollar-quoted literal (PostgreSQL's) at the beginning of `text`, such as $$it's$$ or $tag$a $$
// b$tag$. The result is the size of the whole `text` if the literal does not end, and 0 if `text` does not begin with a
// dollar-quoted literal.
constexpr std::size_t dollar_quoted_size(std::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && text[end] != '$') {
    const bool is_letter =
        ascii::is_letter(text[end]) || text[end] == '_' || static_cast<unsigned char>(text[end]) >= 0x80;
    if (!is_letter && (end == 1 || !ascii::is_digit(text[end]))) return 0;
    ++end;
  }
  if (text.empty() || text[0] != '$' || end >= text.size()) return 0;
  const std::string_view quote = text.substr(0, end + 1);
  const std::size_t close = text.find(quote, quote.size());
  return close == std::string_view::npos ? text.size() : close + quote.size();
}

// The size of PostgreSQL's literal with escapes, such as e'it\'s', at the beginning of `text`. The literal is continued
// by another literal on a later line if only blanks and `--` comments are between them. The result is the size of the
// whole `text` if the literal does not end, and 0 if `text` does not begin with a literal with escapes.
constexpr std::size_t escaped_quoted_size(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E') || text[1] != '\'') return 0;
  std::size_t at = 1;
  while (true) {
    for (++at; at < text.size() && text[at] != '\''; ++at) {
      if (text[at] == '\\') ++at;
    }
    if (at >= text.size()) return text.size();
    const std::size_t end = ++at;
    if (at < text.size() && text[at] == '\'') continue;  // Doubled.
    bool has_newline = false;
    while (at < text.size()) {
      const char c = text[at];
      if (c == '-' && at + 1 < text.size() && text[at + 1] == '-') {
        while (at < text.size() && text[at] != '\n') ++at;
      } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
        has_newline = has_newline || c == '\n' || c == '\r';
        ++at;
      } else {
        break;
      }
    }
    if (!has_newline || at >= text.size() || text[at] != '\'') return end;
  }
}

// The size of the comment at the beginning of `text`, without the newline after a `--` comment; 0 if `text` does not
// begin with a comment. Comments nest in PostgreSQL, but not in SQLite: if a comment has no end when nesting is
// counted, it ends at the first `*/`.
constexpr std::size_t comment_size(std::string_view text) {
  constexpr std::size_t none = std::string_view::npos;
  if (text.starts_with("--")) {
    const std::size_t newline = text.find('\n');
    return newline == none ? text.size() : newline;
  }
  if (!text.starts_with("/*")) return 0;
  std::size_t first = none;
  int depth = 0;
  for (std::size_t at = 0; at + 1 < text.size();) {
    const bool opens = text[at] == '/' && text[at + 1] == '*';
    const bool closes = text[at] == '*' && text[at + 1] == '/';
    at += opens || closes ? 2 : 1;
    if (opens) ++depth;
    if (!closes) continue;
    if (first == none) first = at;
    if (--depth == 0) return at;
  }
  return first == none ? text.size() : first;
}

// Calls f(const Placeholder&) for each placeholder in `text`.
template <class F>
constexpr void for_each_placeholder(std::string_view text, F&& f) {
  const auto is_name = [](char c) {
    return ascii::is_alphanumeric(c) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
  };
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const char before = at == 0 ? ' ' : text[at - 1];
    if (c == '[' && (is_name(before) || before == '"' || before == ']' || before == ')')) {
      ++at;  // The brackets contain the index or the elements of a PostgreSQL array: tags[$1], array[$1, $2].
    } else if (c == '\'' || c == '"' || c == '`' || c == '[') {
      // A doubled quote is treated as the end of a literal and the beginning of the next one, which has the same
      // effect.
      const char end = c == '[' ? ']' : c;
      for (++at; at < text.size() && text[at] != end; ++at) {
      }
      ++at;
    } else if (const std::size_t comment = comment_size(text.substr(at)); comment != 0) {
      at += comment;
    } else if (const std::size_t dollar_quoted = dollar_quoted_size(text.substr(at)); dollar_quoted != 0) {
      at += dollar_quoted;
    } else if (const std::size_t escaped = escaped_quoted_size(text.substr(at)); escaped != 0) {
      at += escaped;
    } else if (c == '$') {
      const std::size_t start = at++;
      int number = 0;
      while (at < text.size() && ascii::is_digit(text[at])) {
        if (number <= parameters_max) number = number * 10 + (text[at] - '0');
        ++at;
      }
      if (at < text.size() && is_name(text[at])) number = 0;
      while (at < text.size() && is_name(text[at])) ++at;
      f(Placeholder{start, text.substr(start + 1, at - start - 1), number});
    } else if (is_name(c)) {
      // In a name such as `a$1`, the `$` does not begin a placeholder.
      while (at < text.size() && is_name(text[at])) ++at;
    } else {
      ++at;
    }
  }
}

// The number of parameters in `text`, which is the highest $n; -1 if a lower number is missing, if there are more than
// parameters_max, or if a placeholder is not a number.
constexpr int count_parameters(std::string_view text) {
  bool seen[parameters_max + 1] = {};
  int highest = 0;
  bool good = true;
  for_each_placeholder(text, [&](const Placeholder& placeholder) {
    const int number = placeholder.number;
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

// The number of different names of parameters in `text`; -1 if a placeholder is not a name, or if there are more than
// parameters_max.
constexpr int count_names(std::string_view text) {
  std::string_view seen[parameters_max];
  int count = 0;
  for_each_placeholder(text, [&](const Placeholder& placeholder) {
    for (int i = 0; i < count; ++i) {
      if (seen[i] == placeholder.name) return;
    }
    if (count < 0 || count == parameters_max || !placeholder.is_named()) {
      count = -1;
    } else {
      seen[count++] = placeholder.name;
    }
  });
  return count;
}

namespace internal {
// These functions are not constexpr, so that a call of one of them is a compile-time error whose message contains the
// function's name.
void sql_parameters_are_numbered_from_1_without_gaps();
void sql_has_another_number_of_parameters_than_arguments_were_given();
void sql_has_parameters_with_names_and_its_only_argument_is_no_struct_with_these_fields();
void sql_has_parameters_with_names_beside_parameters_with_numbers();
void sql_has_no_parameters_with_the_names_of_fields_of_the_struct_that_is_its_argument();
void sql_has_a_parameter_whose_name_is_no_field_of_the_struct();
void sql_has_a_parameter_whose_field_is_nothing_that_a_column_holds();

// Rejects a text whose parameters count_parameters() cannot count.
consteval void refuse_parameters(std::string_view text) {
  bool has_names = false;
  bool has_others = false;
  for_each_placeholder(
      text, [&](const Placeholder& placeholder) { (placeholder.is_named() ? has_names : has_others) = true; });
  if (has_names && has_others) sql_has_parameters_with_names_beside_parameters_with_numbers();
  if (has_names) sql_has_parameters_with_names_and_its_only_argument_is_no_struct_with_these_fields();
  if (!has_names) sql_parameters_are_numbered_from_1_without_gaps();
}

// Sets `fields` to the index of the field for each parameter of `text`, in the order of the parameters; returns the
// number of parameters.
consteval int find_named_fields(std::string_view text, std::span<const std::string_view> names,
                                const bool* are_arguments, std::uint8_t* fields) {
  int count = 0;
  bool has_numbers = false;
  bool has_other_name = false;
  bool has_other_type = false;
  for_each_placeholder(text, [&](const Placeholder& placeholder) {
    if (!placeholder.is_named()) {
      has_numbers = true;
      return;
    }
    std::size_t field = 0;
    while (field < names.size() && names[field] != placeholder.name) ++field;
    if (field == names.size()) {
      has_other_name = true;
      return;
    }
    if (!are_arguments[field]) has_other_type = true;
    for (int i = 0; i < count; ++i) {
      if (fields[i] == field) return;
    }
    fields[count++] = static_cast<std::uint8_t>(field);
  });
  if (has_other_name) sql_has_a_parameter_whose_name_is_no_field_of_the_struct();
  if (has_other_type) sql_has_a_parameter_whose_field_is_nothing_that_a_column_holds();
  if (count == 0) sql_has_no_parameters_with_the_names_of_fields_of_the_struct_that_is_its_argument();
  if (has_numbers) sql_has_parameters_with_names_beside_parameters_with_numbers();
  return count;
}

template <class List>
struct AreArguments;
template <class... Field>
struct AreArguments<keel::internal::TypeList<Field...>> {
  static constexpr bool list[] = {StatementArgument<std::remove_const_t<Field>>..., false};
};

template <class T>
struct NotLiteral {
  static_assert(std::is_array_v<T>,
                "SQL must be a string literal, or a constexpr array of char outside of functions: write $1, $2, ... in "
                "place of values, and pass the values as arguments");
  static constexpr bool is_allowed = true;
};
template <class T>
concept Text = !std::is_array_v<T> && std::is_convertible_v<const T&, std::string_view>;
}  // namespace internal

// These macros capture the place of a call in a default argument of a consteval constructor, even within an awaited
// expression: GCC 14 does not accept an object as this default argument, and Clang converts the pointer only to a
// std::source_location.
#ifdef __clang__
// The type that stores a source location.
#define KEEL_PLACE std::source_location
// Declares a last parameter whose default is the place of the call.
#define KEEL_CALLER std::source_location place = std::source_location::current()
#else
#define KEEL_PLACE const void*  // A std::source_location contains nothing but this pointer.
#define KEEL_CALLER const void* place = __builtin_source_location()
#endif

class Sql {
 public:
  template <std::size_t Size>
  consteval Sql(const char (&literal)[Size], KEEL_CALLER)
      : text_(literal), size_(Size - 1), parameters_(count_parameters({literal, Size - 1})), place_(place) {
    if (parameters_ < 0) internal::refuse_parameters({literal, Size - 1});
  }

  constexpr std::string_view text() const noexcept { return {text_, size_}; }
  constexpr int parameters() const noexcept { return parameters_; }
  std::source_location place() const noexcept { return std::bit_cast<std::source_location>(place_); }

 protected:
  consteval Sql(std::string_view literal, int parameters, KEEL_PLACE place)
      : text_(literal.data()),
        size_(static_cast<std::uint32_t>(literal.size())),
        parameters_(parameters),
        place_(place) {}

 private:
  const char* text_;
  std::uint32_t size_;
  std::int32_t parameters_;
  KEEL_PLACE place_;
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
  // This overload exists only so that the compiler gives a clear message for text that is made at run time.
  template <internal::Text T>
    requires internal::NotLiteral<T>::is_allowed
  SqlFor(const T& text);
};

// A struct whose fields are the arguments of a statement, by name.
template <class T>
concept StructArgument =
    std::is_class_v<T> && !StatementArgument<T> &&
    (std::is_aggregate_v<T> || keel::internal::HasFieldList<T> || keel::internal::HasFieldListOutside<T>);

template <class T>
class NamedSql : public Sql {
 public:
  template <std::size_t Size>
  consteval NamedSql(const char (&literal)[Size], KEEL_CALLER) : NamedSql(std::string_view(literal, Size - 1), place) {}
  // This overload exists only so that the compiler gives a clear message for text that is made at run time.
  template <internal::Text Made>
    requires internal::NotLiteral<Made>::is_allowed
  NamedSql(const Made& text);

  // For each parameter, the index of its field in Fields<T>.
  std::span<const std::uint8_t> fields() const noexcept {
    return {parameters_.field, static_cast<std::size_t>(parameters())};
  }
  bool takes(std::size_t field) const noexcept { return (parameters_.taken >> field & 1) != 0; }

 private:
  struct Parameters {
    std::uint8_t field[Fields<T>::count + 1] = {};
    int count = 0;
    std::uint64_t taken = 0;  // One bit for each field; the bit is set if the field is a parameter.
  };
  static consteval Parameters find(std::string_view literal) {
    Parameters found;
    found.count = internal::find_named_fields(literal, Fields<T>::names,
                                              internal::AreArguments<keel::internal::FieldTypes<T>>::list, found.field);
    for (int i = 0; i < found.count; ++i) found.taken |= std::uint64_t{1} << found.field[i];
    return found;
  }
  consteval NamedSql(std::string_view literal, KEEL_PLACE place) : NamedSql(literal, find(literal), place) {}
  consteval NamedSql(std::string_view literal, Parameters found, KEEL_PLACE place)
      : Sql(literal, found.count, place), parameters_(found) {}

  Parameters parameters_;
};

#undef KEEL_CALLER
#undef KEEL_PLACE

namespace internal {
template <class... A>
struct SqlType {
  using Type = SqlFor<sizeof...(A)>;
};
template <StructArgument A>
struct SqlType<A> {
  using Type = NamedSql<A>;
};

inline std::nullptr_t as_sql_or_null(const auto&) noexcept { return nullptr; }
template <StatementArgument T>
decltype(auto) as_sql_or_null(const T& field) {
  return as_sql(field);
}
}  // namespace internal

// The type of Sql for statements with these arguments.
template <class... A>
using SqlOf = typename internal::SqlType<A...>::Type;

// Calls f with the arguments as Values, in the order of the parameters; the Values are valid during the call.
template <class F, class... A>
decltype(auto) with_arguments(const SqlFor<sizeof...(A)>&, F&& f, const A&... arguments) {
  static_assert(
      (StatementArgument<A> && ...),
      "an argument of a statement must be a bool, an integer that fits into a signed 64-bit integer, a double, text, "
      "std::span<const std::byte>, an enum, a type that is written as text (keel/base/text_value.h), nullptr or "
      "std::optional of these; or the only argument is a struct, whose fields are then named parameters: $sku");
  return with_values(f, arguments...);
}
template <class F, class T>
decltype(auto) with_arguments(const NamedSql<T>& sql, F&& f, const T& fields) {
  const auto call = [&](std::initializer_list<Value> values) -> decltype(auto) {
    Value ordered[Fields<T>::count];
    std::size_t count = 0;
    for (const std::uint8_t field : sql.fields()) ordered[count++] = values.begin()[field];
    return f(std::span<const Value>(ordered, count));
  };
  return Fields<T>::visit(fields, [&](const auto&... field) -> decltype(auto) {
    std::size_t i = 0;
    return call({(sql.takes(i++) ? Value(internal::as_sql_or_null(field)) : Value())...});
  });
}

}  // namespace keel::db
