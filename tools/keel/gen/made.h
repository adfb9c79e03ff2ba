// The data that Types stores for each type: some sources of this folder set the data from schemas, and other sources
// write C++ from the data.

#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gen/alternatives.h"
#include "gen/facets.h"
#include "gen/types.h"

namespace keel::gen {

struct Made : Type {
  std::string word;  // The word for the type in names of functions: "list_of_product".
  std::string name;  // The C++ name of a struct, a variant or an enum.
  const openapi::Node* schema = nullptr;
  std::string ahead;  // The name of the Schema with which a value is checked before it is read; or "".
  // The name of the Schema with which an object is checked if it has the required members of several alternatives.
  std::string ahead_of_several;
  // For an anyOf of objects that are distinguished by the names of members: the names of the Schemas of the
  // alternatives, in the order of the alternatives. If several alternatives are possible for an object, a reader
  // chooses the first whose Schema the object matches.
  std::vector<std::pair<std::size_t, std::string>> ahead_of_each;

  std::vector<std::string> enumerators;
  std::vector<std::string_view> wire_names;

  bool is_strict = false;            // Whether members that the struct does not have are rejected.
  const Made* additional = nullptr;  // The type of the members that are not in `members`, if they are kept; else null.
  std::string additional_name;

  std::vector<const Made*> alternatives;
  Choice choice;
};

inline const Made& made(const Type& type) { return static_cast<const Made&>(type); }

struct Function {
  std::string declaration;
  std::string definition;
};

struct Types::State {
  State(openapi::Document& of, openapi::Problems& to, Names& in) : document(of), problems(to), names(in) {}

  openapi::Document& document;
  openapi::Problems& problems;
  Names& names;
  NameSchema name_schema;

  std::deque<Made> types;
  std::unordered_map<const openapi::Node*, const Made*> by_schema;
  std::unordered_set<const openapi::Node*> failed;
  std::map<std::string, const Made*> by_form;  // The types without a C++ name of their own, by their form.
  std::map<std::string, Made*> named;
  std::unordered_map<const openapi::Node*, std::string> component_names;
  std::map<std::vector<const openapi::Node*>, const openapi::Node*> merged;
  std::map<std::string, Function> functions;
  // The headers of named types; a type that is not in this map is in "types.h".
  std::map<const Made*, std::string> homes;
  std::map<std::string, std::set<std::string>> homes_of;  // The headers that each Use includes.

  // Decides which members are boxed, and sets the initialisers of discriminators. Called once, when all types are known
  // (order.cc).
  void prepare();
  // The named types, sorted so that each type comes after the types whose definitions it needs.
  std::vector<const Made*> ordered() const;
  // The types that each type mentions.
  std::map<const Made*, std::vector<const Made*>> mentioned() const;
  const std::string& home_of(const Made& type) const {
    static const std::string other = "types.h";
    const auto found = homes.find(&type);
    return found == homes.end() ? other : found->second;
  }

  std::string literal_of(const Type& type, const openapi::Node& value);
};

// "std::optional<std::string>".
std::string spelling_of(const Member& member);
// For a nullable type, the type inside the std::optional; else the type itself.
inline const Made& value_type(const Type& type) { return made(type.is_nullable ? *type.inner : type); }
// A named type that another type contains, directly or (`is_indirect`) through a list or a map.
struct Content {
  const Made* type;
  bool is_indirect;
};
Content content_of(const Type& type) noexcept;

}  // namespace keel::gen
