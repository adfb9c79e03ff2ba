#include "sql/contract_places.h"

#include <utility>

#include "gen/names.h"
#include "openapi/document.h"

namespace keel::sql {

Result<ContractPlaces> ContractPlaces::load(const std::string& path) {
  openapi::Problems problems;
  const auto document = openapi::Document::load(path, openapi::read_regular_file, problems);
  if (document == nullptr) {
    return Error::text(Code::NotFound, path + ": cannot be read as an OpenAPI document; keel api lint says why");
  }
  ContractPlaces places;
  const openapi::Node* const components = std::as_const(*document).root().find("components");
  const openapi::Node* const schemas =
      components == nullptr ? nullptr : components->find("schemas", openapi::Kind::Map);
  if (schemas == nullptr) return places;
  for (const openapi::Node* const schema : schemas->children) {
    const std::string name = gen::pascal_of(schema->key);
    places.places_.emplace(name, openapi::place_of(*schema));
    const openapi::Node* const properties = schema->find("properties", openapi::Kind::Map);
    if (properties == nullptr) continue;
    for (const openapi::Node* const property : properties->children) {
      places.places_.emplace(name + "::" + gen::snake_of(property->key), openapi::place_of(*property));
    }
  }
  return places;
}

std::string_view ContractPlaces::find(std::string_view type) const {
  const auto found = places_.find(type.substr(type.rfind(':') + 1));
  return found == places_.end() ? std::string_view() : found->second;
}

std::string_view ContractPlaces::find(std::string_view type, std::string_view field) const {
  const std::string name = std::string(type.substr(type.rfind(':') + 1)) + "::" + std::string(field);
  const auto found = places_.find(name);
  return found == places_.end() ? find(type) : found->second;
}

}  // namespace keel::sql
