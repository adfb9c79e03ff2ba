// Where the schemas of a contract stand, for messages about structs that are made of them.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "keel/base/result.h"

namespace keel::sql {

class ContractPlaces {
 public:
  // Of an OpenAPI document. NotFound: it cannot be read, or is none.
  static Result<ContractPlaces> load(const std::string& path);

  // "api.yaml:120:5" of the schema that `api::Product` is made of; "" when there is none.
  std::string_view find(std::string_view type) const;
  // Of the property that a field of it is made of; that of the schema when there is none of this name.
  std::string_view find(std::string_view type, std::string_view field) const;

 private:
  std::map<std::string, std::string, std::less<>> places_;  // "Product", "Product::note"
};

}  // namespace keel::sql
