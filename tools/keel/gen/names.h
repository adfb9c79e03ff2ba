// gen/names.h — names of C++ for the names of a document.
//
//   snake_of("petType")            // "pet_type"
//   pascal_of("list-products")     // "ListProducts"
//   distinct({"a-b", "a_b"}, snake_of)    // {"a_b_2", "a_b"}
//
// Words end at what is no letter or digit, and in front of a capital letter behind a small one. A character beyond
// ASCII becomes its number: "größe" is "gr_u00f6_u00dfe". A keyword of C++ gets a '_' behind it. The result depends on
// the names alone, not on their order.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace keel::gen {

// For members, parameters and functions.
std::string snake_of(std::string_view name);
// For types and enumerators.
std::string pascal_of(std::string_view name);

// Whether these are names of C++ with "::" between them, and none of them is a keyword.
bool is_namespace(std::string_view names);

// Returns a different C++ name for each. When several would get the same name, the one that is spelled like it keeps
// it, or else the first in the order of bytes, in which names that begin with a sign are last ("-title" after "title").
// The others get "_2", "_3", … (for types "2", "3", …). Names that are equal get equal results. `taken` are names that
// none may get.
std::vector<std::string> distinct(std::span<const std::string_view> names, std::string (*style)(std::string_view),
                                  std::span<const std::string_view> taken = {});

// The names of types in a namespace.
class Names {
 public:
  // A PascalCase name that no other type has: `suggested`, or with a number behind it.
  std::string type(std::string_view suggested);
  // Takes exactly this name; false when another type has it.
  bool take(std::string_view name);

 private:
  std::unordered_set<std::string> taken_;
};

}  // namespace keel::gen
