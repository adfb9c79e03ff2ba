// keel/data/json_write.h — writes structs as JSON, without code for each field.
//
//   json::write(order)                // {"id":"0192f7a8-…","lines":[…],"note":null}
//   json::write_indented(order)       // for people
//   json::write(buffer, order)        // appends it
//
// json_parse.h lists the supported types, and fields.h says how a struct is described. Fields are written in the order
// of the struct; an empty std::optional is written as null; an absent Patch is left out. If the output is read again,
// the result is an equal value, except for NaN and infinity, which JSON cannot represent (they become null), and for
// strings that are not UTF-8 (json_writer.h).
//
// Errors: writing an enum value that has no name is a Bug (base/bug.h).
// Cost:   write(buffer, …) uses the heap only to grow the buffer.

#pragma once

#include <string>

#include "keel/base/buffer.h"
#include "keel/data/internal/json_fields.h"
#include "keel/data/json_indent.h"

namespace keel::json {
namespace internal {
// json_writer.h declares write() for code that includes only json_writer.h.
template <class T>
struct CanWrite {};
}  // namespace internal

// Writes one value as part of a document: out.key("order"), then write(out, order).
template <class T>
void write(Writer& out, const T& value) {
  internal::write_value(out, value);
}
template <class T>
void write(Buffer& out, const T& value) {
  Writer writer(out);
  internal::write_value(writer, value);
}
template <class T>
std::string write(const T& value) {
  Buffer out;
  write(out, value);
  return std::string(out.view());
}
template <class T>
std::string write_indented(const T& value) {
  Buffer out;
  write(out, value);
  Buffer indented;
  indent(indented, out.view());
  return std::string(indented.view());
}

}  // namespace keel::json
