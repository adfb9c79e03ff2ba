// keel/db/postgres/internal/identifier.h — writes a name into SQL text, whatever characters the name contains.

#pragma once

#include <string>
#include <string_view>

namespace keel::db::postgres::internal {

// Appends the name in quotes, and escapes quotes within the name. The name must not contain a zero byte:
// Encoder::query() rejects a text with a zero byte.
inline void append_identifier(std::string& to, std::string_view name) {
  to += '"';
  for (const char c : name) {
    if (c == '"') to += '"';
    to += c;
  }
  to += '"';
}

}  // namespace keel::db::postgres::internal
