// Writes the parts of a JSON Pointer (RFC 6901), by which violations say where they are.

#pragma once

#include <string>
#include <string_view>

#include "keel/data/rules.h"

namespace keel::internal {

// Appends a name to a Buffer or a std::string, without a '/' before the name.
template <class Out>
void append_name(Out& pointer, std::string_view name) {
  for (const char c : name) {
    if (c == '~' || c == '/') {
      pointer.append(c == '~' ? "~0" : "~1");
    } else {
      pointer.push_back(c);
    }
  }
}

// Appends the index or the key of an element of a list or a map, with a '/' before it; appends nothing if `element` is
// empty.
inline void append_element(std::string& pointer, const Check::Element& element) {
  switch (element.kind) {
    case Check::Element::Kind::None:
      break;
    case Check::Element::Kind::Index:
      pointer += "/" + std::to_string(element.index);
      break;
    case Check::Element::Kind::Key:
      pointer += '/';
      append_name(pointer, element.key);
  }
}

}  // namespace keel::internal
