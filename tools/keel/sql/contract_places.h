// The places of a contract's schemas, for messages about the structs that are generated from the schemas.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "keel/base/result.h"

namespace keel::sql {

class ContractPlaces {
 public:
  // Reads an OpenAPI document. Errors: NotFound: the file cannot be read, or is not an OpenAPI document.
  static Result<ContractPlaces> load(const std::string& path);

  // Returns "api.yaml:120:5" for the schema of `api::Product`; "" if there is no such schema.
  std::string_view find(std::string_view type) const;
  // The place of the property from which a field is generated; if there is no such property, the place of the schema.
  std::string_view find(std::string_view type, std::string_view field) const;

 private:
  std::map<std::string, std::string, std::less<>> places_;  // "Product", "Product::note"
};

}  // namespace keel::sql
