// keel/data/json_parse.h — reads JSON into structs, without code for each field.
//
//   struct Line {
//     std::string sku;
//     int quantity = 0;
//   };
//   struct Order {
//     Uuid id;
//     std::vector<Line> lines;
//     std::optional<std::string> note;
//   };
//   KEEL_TRY(Order order, json::parse<Order>(text));
//
// Supported types:
//
//   struct                          object (fields.h)
//   bool, integers, float, double   what does not fit is a violation; 1.0 is an integer, 1.5 none
//   std::string                     string
//   std::string_view                the same: a view into the text, or into the arena where the text has escapes
//   Uuid, Timestamp, Date, TextValue string (base/text_value.h)
//   Decimal                         string or number, by its digits; written as a string (decimal.h)
//   enum                            string, its name (enum_names.h)
//   std::vector<std::byte>          string, bytes in base64; std::array<std::byte, n>: that many
//   std::optional<T>                null or absent: empty
//   Patch<T>                        absent, null, or a T (patch.h)
//   std::vector, deque, list        array; std::array: array of that many
//   std::map, unordered_map         object; the keys are strings
//   std::variant of structs         object with a tag, which says which of them it is (tag.h)
//   json::Value                     anything (json_value.h)
//   your own                        void read_json(json::Reader& in, Money& money) beside the type reads one value;
//                                   void write_json(json::Writer& out, const Money& money) writes it (json_write.h);
//                                   read_json(in, money, wrong) has a keel::Violations& as well, for all that is wrong
//
// Fields that the struct does not have are skipped, unless the struct is strict. A field is required unless it is
// optional (fields.h). A text in which a field or a map key is repeated is malformed. The rules() of a struct is called
// after the struct has been read (rules.h). Strictness and the precision of numbers are those of json::Reader
// (json_reader.h).
//
// Errors:   all violations, not only the first violation (violations.h).
// Lifetime: views are valid as long as both the text and the arena exist.
// Cost:     one pass; heap memory only for strings, lists and maps of the struct. If the fields come in the order of
//           the struct, they are read without a search for their names; in another order, each field costs a lookup in
//           a hash table.

#pragma once

#include <string_view>
#include <utility>

#include "keel/base/arena.h"
#include "keel/base/result.h"
#include "keel/data/internal/json_fields.h"

namespace keel::json {

// Reads the text into `value`, which must be equal to T() before the call. Returns false if `wrong` has violations;
// even then, all valid values have been read. The function clears `wrong` first.
template <class T>
bool read(T& value, std::string_view text, Arena& arena, Violations& wrong, ReaderOptions options = {}) {
  value = T();
  return internal::read_text(text, arena, options, &internal::read_field<T>, &value, wrong);
}

// Returns the value, or InvalidArgument with everything that is wrong (Violations::error).
template <class T>
Result<T> parse(std::string_view text, Arena& arena, ReaderOptions options = {}) {
  T value{};
  Violations wrong;
  if (!internal::read_text(text, arena, options, &internal::read_field<T>, &value, wrong)) return wrong.error();
  return value;
}
template <class T>
Result<T> parse(std::string_view text, ReaderOptions options = {}) {
  static_assert(!internal::holds_views<T>(),
                "a struct with a std::string_view must be read with an arena, which must live at least as long as the "
                "struct: parse<T>(text, arena)");
  Arena arena;
  return parse<T>(text, arena, options);
}

}  // namespace keel::json
