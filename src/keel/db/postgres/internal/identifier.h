// keel/db/postgres/internal/identifier.h — a name in SQL text, whatever signs it has.

#pragma once

#include <string>
#include <string_view>

namespace keel::db::postgres::internal {

// In quotes, so that it is nothing but a name. The name has no zero byte (Encoder::query() rejects one).
inline void append_identifier(std::string& to, std::string_view name) {
  to += '"';
  for (const char c : name) {
    if (c == '"') to += '"';
    to += c;
  }
  to += '"';
}

}  // namespace keel::db::postgres::internal
