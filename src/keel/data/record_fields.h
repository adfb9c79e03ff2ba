// keel/data/record_fields.h — converts a struct to a Record and back: the struct is the schema at the boundary.
//
//   const Record record = to_record(reading);
//   Violations wrong;
//   Reading reading;
//   if (!from_record(reading, record, arena, wrong)) return wrong.error();    // "/celsius must be from -90 to 60"
//   KEEL_TRY(Reading reading, from_record<Reading>(record));
//
// The struct is described once (fields.h); its names, optional fields and rules() apply as for JSON and CBOR: a Record
// is accepted exactly when the same values encoded as CBOR would be. All violations are reported, each with its JSON
// Pointer (violations.h).
//
// Errors:   those of cbor::read and cbor::parse.
// Lifetime: a struct with a std::string_view needs an arena that lives as long as the struct.
// Threads:  functions.
// Cost:     each direction writes and reads CBOR once (cbor.h), in memory of the thread's pool; making a Record also
//           takes one search for each field.

#pragma once

#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/bug.h"
#include "keel/base/result.h"
#include "keel/data/cbor.h"
#include "keel/data/internal/record_widths.h"
#include "keel/data/record.h"

namespace keel {
namespace internal {

// Makes a Record from CBOR that was written from a struct: the keys of the CBOR are the names of the struct's fields.
inline void read_own_cbor(Record& record, std::string_view bytes) {
  Arena arena;
  Violations wrong;
  const bool is_read = cbor::read(record, bytes, arena, wrong);
  KEEL_EXPECT(is_read, "to_record() is for types that are written as objects of named fields");
}

}  // namespace internal

// The Record is in the arena, or on the heap. Numbers keep their types: a std::uint8_t is a Uint8, a float is a Float.
// An integer that your own write_binary() writes is an Int64 or a Uint64.
template <class T>
Record to_record(const T& value, Arena& arena) {
  Buffer bytes;
  cbor::write(bytes, value);
  Record record(arena);
  internal::read_own_cbor(record, bytes.view());
  Record::Widths::keep_fields(value, record);
  return record;
}
template <class T>
Record to_record(const T& value) {
  Buffer bytes;
  cbor::write(bytes, value);
  Record record;
  internal::read_own_cbor(record, bytes.view());
  Record::Widths::keep_fields(value, record);
  return record;
}

// Converts the Record into `value`, which must be T() before. False when `wrong` has violations.
template <class T>
bool from_record(T& value, const Record& record, Arena& arena, Violations& wrong) {
  Buffer bytes;
  cbor::write(bytes, record);
  return cbor::read(value, arena.copy(bytes.view()), arena, wrong);
}
template <class T>
Result<T> from_record(const Record& record) {
  static_assert(
      !json::internal::holds_views<T>(),
      "a struct with a std::string_view is made with an arena that lives at least as long: from_record(value, record, "
      "arena, wrong)");
  Buffer bytes;
  cbor::write(bytes, record);
  return cbor::parse<T>(bytes.view());
}

}  // namespace keel
