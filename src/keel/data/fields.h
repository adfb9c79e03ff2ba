// keel/data/fields.h — the fields of a struct (names, types and values) for any code that reads or writes them.
//
//   struct Line {
//     std::string sku;
//     int quantity = 1;
//   };
//   Fields<Line>::names                                          // {"sku", "quantity"}
//   Fields<Line>::visit(line, [](auto&... field) { … });         // line.sku, line.quantity
//
// A plain aggregate needs no declaration. A plain aggregate has no constructors, no private members, no base class, no
// C array (std::array counts as one member), no reference, no bit-field, and at most 40 members. One underscore at the
// end of a name is dropped: the name of the field class_ is "class". Any other struct needs one line that lists its
// names and their order:
//
//   class Account {
//     …
//    public:
//     static constexpr auto fields = keel::fields("id", &Account::id_, "owner", &Account::owner_);
//   };
//   template <>                                                  // of a type that is not yours to change
//   inline constexpr auto keel::fields_of<Point> = keel::fields("x", &Point::x, "y", &Point::y);
//
// With these members, a struct can change how its fields are treated:
//
//   static constexpr auto name_case = keel::Case::Camel;         // created_at is "createdAt" (name_case.h)
//   static constexpr bool strict_fields = true;                  // a field that it does not have is an error
//   static constexpr std::string_view optional_fields[] = {"quantity"};   // may be absent: keeps its initialiser
//   static constexpr bool optional_fields = true;                // all of them may
//   void rules(keel::Check& check) const { … }                   // rules.h
//
// A field is required unless it is a std::optional, a Patch (patch.h) or listed in optional_fields. An initialiser
// alone does not make a field optional, because code cannot ask the compiler whether a field has one. Code could detect
// only initial values that are neither 0 nor empty. If fields with such values were optional, a change of a default
// would change which members clients must send.
//
// Cost: none at run time; the compiler does all the work.

#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "keel/data/internal/members.h"
#include "keel/data/name_case.h"

namespace keel {

// The type that fields() returns, from which Fields takes the names and members.
template <class... Pairs>
struct FieldList {
  static_assert(sizeof...(Pairs) % 2 == 0, "fields() needs a name and a member for each field: fields(\"id\", &T::id)");
  std::tuple<Pairs...> pairs;
};
template <class... Pairs>
consteval FieldList<Pairs...> fields(Pairs... pairs) {
  return {{pairs...}};
}
// The fields of a struct that lists its fields itself.
template <class T>
inline constexpr auto fields_of = std::false_type();

namespace internal {

template <class T>
inline constexpr bool is_field_list = false;
template <class... Pairs>
inline constexpr bool is_field_list<FieldList<Pairs...>> = true;

template <class T>
concept HasFieldList = requires { requires is_field_list<std::remove_cvref_t<decltype(T::fields)>>; };
template <class T>
concept HasFieldListOutside = is_field_list<std::remove_cvref_t<decltype(fields_of<T>)>>;

template <class T>
struct PlainFields {
  static_assert(
      std::is_class_v<T> && std::is_aggregate_v<T>,
      "this type has no fields: make it a struct without constructors or private members, or list its fields in "
      "static constexpr auto fields = keel::fields(\"name\", &T::name_);");
  static constexpr std::size_t count = member_count<T>;
  static_assert(
      count <= members_max,
      "at most 40 fields of a struct are found automatically: group some of them in a struct, or list them in "
      "static constexpr auto fields = keel::fields(\"name\", &T::name);");
  static_assert(count != 0 || std::is_empty_v<T>,
                "the fields of this struct cannot be found: it has a base class or a reference; make the base class a "
                "member and the reference a value, or list the fields in static constexpr auto fields = "
                "keel::fields(\"name\", &T::name);");
  static_assert(is_one_for_each<T>(std::make_index_sequence<count>()),
                "the fields of this struct cannot be found: it has a base class or a C array; make the base class a "
                "member and the C array a std::array, or list the fields in static constexpr auto fields = "
                "keel::fields(\"name\", &T::name);");
  static constexpr std::array<std::string_view, count> names = member_names<T>(std::make_index_sequence<count>());

  template <class Self, class F>
  static constexpr decltype(auto) visit(Self& value, F&& f) {
    return with_members<count>(value, f);
  }
};

template <class T>
struct ListedFields {
  static constexpr auto& pairs() {
    if constexpr (HasFieldList<T>) {
      return T::fields.pairs;
    } else {
      return fields_of<T>.pairs;
    }
  }
  static constexpr std::size_t count = std::tuple_size_v<std::remove_cvref_t<decltype(pairs())>> / 2;
  static_assert(count <= 64, "a type can have at most 64 fields: group some of them in a struct");
  static constexpr std::array<std::string_view, count> names = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<std::string_view, count>{std::get<2 * I>(pairs())...};
  }(std::make_index_sequence<count>());

  template <class Self, class F>
  static constexpr decltype(auto) visit(Self& value, F&& f) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
      return f(value.*std::get<2 * I + 1>(pairs())...);
    }(std::make_index_sequence<count>());
  }
};

template <class... T>
struct TypeList {};
struct ListTypes {
  template <class... T>
  constexpr TypeList<T...> operator()(T&...) const noexcept {
    return {};
  }
};

}  // namespace internal

// count     how many
// names     as an array of std::string_view, as they are declared
// visit     f(field...), references to the fields of `value`, in the order of the names; gives what f gives
template <class T>
struct Fields : std::conditional_t<internal::HasFieldList<T> || internal::HasFieldListOutside<T>,
                                   internal::ListedFields<T>, internal::PlainFields<T>> {};

namespace internal {

// Passed to Fields::visit: writes the address of each field into `to`.
struct TakeAddresses {
  void** to;
  template <class... T>
  void operator()(T&... field) const noexcept {
    void** at = to;
    ((*at++ = const_cast<void*>(static_cast<const void*>(__builtin_addressof(field)))), ...);
  }
};

template <class T>
using FieldTypes = decltype(Fields<T>::visit(std::declval<T&>(), ListTypes()));

// Whether a T should have fields: true for every class, so that the compiler's message for a class without fields says
// what to do.
template <class T>
concept MayHaveFields = std::is_class_v<T> || std::is_union_v<T>;

template <class T>
consteval bool is_strict() {
  if constexpr (requires { bool{T::strict_fields}; }) return T::strict_fields;
  return false;
}

// One bit for each field that optional_fields names.
template <class T>
consteval unsigned long optional_bits() {
  if constexpr (requires { requires std::same_as<const bool, decltype(T::optional_fields)>; }) {
    return T::optional_fields ? ~0ul : 0;
  } else if constexpr (requires { std::size(T::optional_fields); }) {
    unsigned long bits = 0;
    for (const std::string_view name : T::optional_fields) {
      for (std::size_t i = 0; i < Fields<T>::count; ++i) {
        if (Fields<T>::names[i] == name) bits |= 1ul << i;
      }
    }
    return bits;
  }
  return 0;
}
template <class T>
consteval bool are_optional_fields_known() {
  if constexpr (requires { std::size(T::optional_fields); }) {
    for (const std::string_view name : T::optional_fields) {
      bool is_known = false;
      for (const std::string_view field : Fields<T>::names) is_known = is_known || field == name;
      if (!is_known) return false;
    }
  }
  return true;
}

}  // namespace internal
}  // namespace keel
