// gen/styles.h — how a value is written outside of JSON: in a parameter, a header, a field of a form.

#pragma once

#include <string_view>

#include "gen/types.h"

namespace keel::gen {

// The form that a text of this type has in JSON: contract::Form.
std::string_view form_of(const Type& type);

// The alternatives of a parameter whose type is a variant, by how they are written: as texts, a list, an object.
struct Alternatives {
  const Type* list = nullptr;
  const Type* object = nullptr;
  std::string_view single = {};  // The form of the other alternatives; "" when there are none.

  bool is_text_alone() const noexcept { return list == nullptr && object == nullptr; }
};
// Empty for a type that is not a variant.
Alternatives alternatives_of(const Type& type);
// Whether no style can represent its values: a json::Value of lists or objects, or a variant with one.
bool has_no_style(const Type& type);

}  // namespace keel::gen
