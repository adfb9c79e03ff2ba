// keel/db/postgres/internal/identifier.h — writes any name into SQL text.

#pragma once

#include <string>
#include <string_view>

namespace keel::db::postgres::internal {

// Appends the name in quotes, escaped so that no character of the name ends it. The name must not contain a zero byte
// (Encoder::query() rejects one).
inline void append_identifier(std::string& to, std::string_view name) {
  to += '"';
  for (const char c : name) {
    if (c == '"') to += '"';
    to += c;
  }
  to += '"';
}

}  // namespace keel::db::postgres::internal
