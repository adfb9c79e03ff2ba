// gen/schema_tables.h — writes schemas as constants of keel/contract/schema.h.
//
//   SchemaTables tables(document, problems);
//   out << "keel::contract::check_ahead(in, " << tables.name_of(schema) << ", wrong)";
//   header << tables.declarations();                                   // extern const keel::contract::Schema …;
//   for (const auto& [name, text] : tables.each()) parts.of(name) += text;
//
// Each schema is a constant whose initializer refers to other constants, so no code runs before main(). Names are
// derived from the schema's JSON pointer, and the texts are sorted by these names, so that the output does not depend
// on the order of the calls.
//
// Errors:   added to Problems for a keyword that docs/contract.md lists as unsupported, a schema that refers to itself
//           for the same value, a pattern that RE2 does not support, and a number that no double can hold.
// Lifetime: the document must outlive the SchemaTables.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

class SchemaTables {
 public:
  SchemaTables(const openapi::Document& document, openapi::Problems& problems)
      : document_(document), problems_(problems) {}

  // The name of the constant for a normalised schema (structure.h). The call adds the constant, and everything that the
  // constant refers to, to the output.
  std::string name_of(const openapi::Node& schema);

  // The text of the declarations, for a namespace of the generated code.
  std::string declarations() const;
  std::string definitions() const;
  // The text of each constant's definition, with the constant's name.
  const std::map<std::string, std::string>& each() const noexcept { return texts_; }

 private:
  class Emitter;

  const openapi::Node* target_of(const openapi::Node& schema);
  std::string constant_of(const openapi::Node& schema);
  void find_circle(const openapi::Node& schema);

  const openapi::Document& document_;
  openapi::Problems& problems_;
  std::unordered_map<const openapi::Node*, std::string> names_;
  std::unordered_set<std::string> taken_;
  // True if find_circle() has finished with the schema, false while it is visiting the schema.
  std::unordered_map<const openapi::Node*, bool> walked_;
  std::vector<const openapi::Node*> pending_;
  std::map<std::string, std::string> texts_;
};

}  // namespace keel::gen
