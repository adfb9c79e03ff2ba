// gen/names.h — names of C++ for the names of a document.
//
//   snake_of("petType")            // "pet_type"
//   pascal_of("list-products")     // "ListProducts"
//   distinct({"a-b", "a_b"}, snake_of)    // {"a_b_2", "a_b"}
//
// A word ends at a character that is neither a letter nor a digit, and before an uppercase letter that follows a
// lowercase letter. A character beyond ASCII becomes its code point: "größe" is "gr_u00f6_u00dfe". A '_' is appended to
// a keyword of C++. The result depends on the names alone, not on their order.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace keel::gen {

// Makes the names of members, parameters and functions.
std::string snake_of(std::string_view name);
// Makes the names of types and enumerators.
std::string pascal_of(std::string_view name);

// Whether the text consists of C++ names with "::" between them, none of which is a keyword.
bool is_namespace(std::string_view names);

// Returns a different C++ name for each different name. When several names would get the same C++ name, the name that
// is spelled like the C++ name gets it. If no name is spelled like the C++ name, the first name gets it; names are
// ordered by their bytes, but those that begin with a sign come last ("-title" after "title"). The other names get the
// C++ name with "_2", "_3", … appended (for types "2", "3", …). Equal names get equal results. None of the results is a
// name in `taken`.
std::vector<std::string> distinct(std::span<const std::string_view> names, std::string (*style)(std::string_view),
                                  std::span<const std::string_view> taken = {});

// The names of types in a namespace.
class Names {
 public:
  // Returns a PascalCase name that no other type has: `suggested`, or `suggested` with a number appended.
  std::string type(std::string_view suggested);
  // Reserves exactly this name; returns false if another type has it.
  bool take(std::string_view name);

 private:
  std::unordered_set<std::string> taken_;
};

}  // namespace keel::gen
