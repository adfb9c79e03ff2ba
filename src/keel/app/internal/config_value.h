// keel/app/internal/config_value.h — what one Field holds, without its type: as text, compared, copied.
//
// Threads: values.  Cost: start-up and reloads only.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keel/app/config.h"

namespace keel::config {

struct Unit {
  const char* name;
  std::int64_t size;
};
// Those that a Duration or a Bytes may be written in, the largest first.
std::span<const Unit> units_of(Field::Kind kind);
// The unit that the key itself names; size 0 when the value must.
Unit unit_in_key(const Field& f);
// `value` nanoseconds or bytes as `f` would be written.
std::string amount(const Field& f, std::int64_t value);

std::string join(std::string_view path, std::string_view key);

// The field of list `f` at a place in it, without its key.
Field element_of(const Field& f, std::size_t index);

// The value as YAML in one line: [{path: a.log, level: 3}]. Secrets that are not empty are "***".
std::string value_text(const Field& f);

// Of two fields of one type and key.
bool is_equal(const Field& a, const Field& b);
void assign(const Field& to, const Field& from);

}  // namespace keel::config
