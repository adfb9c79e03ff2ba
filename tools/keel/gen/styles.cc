#include "gen/styles.h"

#include <algorithm>

#include "gen/made.h"

namespace keel::gen {

std::string_view form_of(const Type& type) {
  const Type& inner = type.inner != nullptr ? *type.inner : type;
  switch (inner.shape) {
    case Shape::Boolean:
    case Shape::Integer:
    case Shape::Number:
      return "Bare";
    case Shape::String:
    case Shape::Enum:
    case Shape::Text:
    case Shape::Bytes:
      return "Text";  // The form of a nullable string is also Text, because outside of JSON null has no text.
    case Shape::File:
      return "File";
    case Shape::List: {
      if (inner.element == nullptr) return "Json";
      const std::string_view element = form_of(*inner.element);
      const Shape of = value_type(*inner.element).shape;
      const bool is_list_of_objects =
          // The elements are JSON values of any type.
          of == Shape::Struct || of == Shape::Map || of == Shape::Variant || of == Shape::Any;
      return element == "Bare"     ? "BareList"
             : element == "Text"   ? "TextList"
             : element == "Either" ? "EitherList"
             : element == "File"   ? "FileList"
             : is_list_of_objects  ? "JsonList"
                                   : "Json";
    }
    case Shape::Variant: {
      const std::string_view single = alternatives_of(inner).single;
      return single.empty() ? "Json" : single;
    }
    case Shape::Any:
      return inner.has_no_style ? "Json" : "Either";
    default:
      return "Json";
  }
}

bool has_no_style(const Type& type) {
  const Made& inner = value_type(type);
  return inner.has_no_style ||
         std::ranges::any_of(inner.alternatives, [](const Made* one) { return has_no_style(*one); });
}

Alternatives alternatives_of(const Type& type) {
  Alternatives found;
  const Made& variant = value_type(type);
  if (variant.shape != Shape::Variant) return found;
  for (const Made* const one : variant.alternatives) {
    const Made& plain = value_type(*one);
    if (plain.shape == Shape::List) {
      found.list = &plain;
    } else if (!plain.is_plain()) {
      found.object = &plain;
    } else {
      // The alternative is itself a variant.
      const Alternatives nested = alternatives_of(plain);
      if (nested.list != nullptr) found.list = nested.list;
      if (nested.object != nullptr) found.object = nested.object;
      if (!nested.is_text_alone() && nested.single.empty()) continue;
      const std::string_view form = form_of(plain);
      found.single = found.single.empty() || found.single == form ? form : "Either";
    }
  }
  return found;
}

}  // namespace keel::gen
