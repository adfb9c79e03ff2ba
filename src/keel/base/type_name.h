// keel/base/type_name.h — the name of a type for people: in messages, in a graph, as the label of a metric.
//
//   plain_name(type_name<accounts::Users>())           // "accounts::Users"
//
// Result:  the name as the compiler writes it; plain_name() omits the words for unnamed namespaces, because each
//          compiler has its own words for them.
// Cost:    type_name() costs nothing, because it is a literal; plain_name() allocates when the name is long.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace keel {

namespace internal {
template <class T>
consteval std::string_view signature() {
  return __PRETTY_FUNCTION__;
}
}  // namespace internal

template <class T>
consteval std::string_view type_name() {
  constexpr std::size_t before = internal::signature<double>().find("double");
  constexpr std::size_t behind = internal::signature<double>().size() - before - 6;
  constexpr std::string_view text = internal::signature<T>();
  return text.substr(before, text.size() - before - behind);
}

// A name as the compiler writes it, without the parts in which compilers differ.
std::string plain_name(std::string_view name);

}  // namespace keel
