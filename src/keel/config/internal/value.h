// keel/config/internal/value.h — prints, parses, compares and copies the value of a Field, whatever its type is.
//
// Threads: values.
// Cost:    start-up and reloads only.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "keel/base/function.h"
#include "keel/config/schema.h"

namespace keel::config {

struct Unit {
  const char* name;
  std::int64_t size;
};
// The units in which a Duration or a Bytes may be written, the largest first.
std::span<const Unit> units_of(Field::Kind kind);
// The unit that the key itself names; its size is 0 if the value has to name the unit.
Unit unit_in_key(const Field& f);
// Writes `value`, a number of nanoseconds or bytes, in the units of `f`.
std::string amount(const Field& f, std::int64_t value);

std::string join(std::string_view path, std::string_view key);
// The name of the environment variable for `path`: KEEL_NETWORK__HTTP.
std::string variable(std::string_view prefix, std::string_view path);

// Text from outside for one line of an error: control characters are escaped, and the text is truncated after 60 bytes.
std::string shown(std::string_view text);
// Describes the values that `f` accepts: "an integer from 1 to 9".
std::string expectation(const Field& f);
// Reads a decimal integer; a leading zero is not allowed, because other notations read such a number as octal.
std::optional<std::int64_t> integer_in(std::string_view text);

// Returns the field that describes the element `index` of `f`. For a list, the field has no key; for a map, its key is
// the element's name.
Field element_of(const Field& f, std::size_t index);

// `text` as YAML.
std::string in_quotes(std::string_view text);
// The value as YAML in one line: [{path: a.log, level: 3}]. Prints secrets that are not empty as "***".
std::string value_text(const Field& f);

// Reads `text` into `f`, which is neither a section nor a list nor a map. Returns an empty string, or what is wrong
// with the text.
std::string set_text(const Field& f, std::string_view text, bool is_quoted);

// Calls `f` with each Secret in `fields` and with the path of that Secret; `path` is the path of `fields`.
void each_secret(std::span<const Field> fields, const std::string& path,
                 FunctionRef<void(const Field&, const std::string&)> f);

// Whether two maps of one type have the same names.
bool have_same_names(const Field& a, const Field& b);
// Whether two fields of one type and key are equal.
bool is_equal(const Field& a, const Field& b);
void assign(const Field& to, const Field& from);

}  // namespace keel::config
