// gen/styles.h — how a value is written outside of JSON: in a parameter, a header, a field of a form.

#pragma once

#include <string_view>

#include "gen/types.h"

namespace keel::gen {

// The contract::Form of the type, which says how a text of this type is converted to JSON.
std::string_view form_of(const Type& type);

// The alternatives of a parameter whose type is a variant, by how they are written: as a text, a list or an object.
struct Alternatives {
  const Type* list = nullptr;
  const Type* object = nullptr;
  // The form of the alternatives that are neither a list nor an object; "" if there are none.
  std::string_view single = {};

  bool is_text_alone() const noexcept { return list == nullptr && object == nullptr; }
};
// All members are empty for a type that is not a variant.
Alternatives alternatives_of(const Type& type);
// Whether no style can represent the values of the type, because the type is a json::Value that may be a list or an
// object, or a variant with such an alternative.
bool has_no_style(const Type& type);

}  // namespace keel::gen
