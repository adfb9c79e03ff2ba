// keel/data/record_fields.h — converts a struct to a Record and back, so that a program can check Records against the
// struct as their schema.
//
//   const Record record = to_record(reading);
//   Violations wrong;
//   Reading reading;
//   if (!from_record(reading, record, arena, wrong)) return wrong.error();    // "/celsius must be from -90 to 60"
//   KEEL_TRY(Reading reading, from_record<Reading>(record));
//
// The struct is described once (fields.h); its names, optional fields and rules() apply as for JSON and CBOR: a Record
// is accepted exactly if a CBOR document with the same values would be accepted. All violations are reported, each with
// its JSON Pointer (violations.h).
//
// Errors:   those of cbor::read and cbor::parse.
// Lifetime: a struct with a std::string_view needs an arena, which must live as long as the struct.
// Threads:  functions.
// Cost:     each direction writes and reads CBOR once (cbor.h), in memory from the thread's pool; making a Record also
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

// Makes a Record from CBOR that was written from a struct: the keys in the CBOR must be the names of the struct's
// fields.
inline void read_own_cbor(Record& record, std::string_view bytes) {
  Arena arena;
  Violations wrong;
  const bool is_read = cbor::read(record, bytes, arena, wrong);
  KEEL_EXPECT(is_read, "to_record() is only for types that are written as objects with named fields");
}

}  // namespace internal

// The Record is stored in the arena, or on the heap if no arena is passed. Numbers keep their types: a std::uint8_t
// becomes a Uint8, a float becomes a Float. An integer that the application's own write_binary() writes becomes an
// Int64 or a Uint64.
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

// Converts the Record into `value`, which must be equal to T() before the call. Returns false if `wrong` has
// violations.
template <class T>
bool from_record(T& value, const Record& record, Arena& arena, Violations& wrong) {
  Buffer bytes;
  cbor::write(bytes, record);
  return cbor::read(value, arena.copy(bytes.view()), arena, wrong);
}
template <class T>
Result<T> from_record(const Record& record) {
  static_assert(!json::internal::holds_views<T>(),
                "a struct with a std::string_view must be made with an arena, which must live at least as long as the "
                "struct: from_record(value, record, arena, wrong)");
  Buffer bytes;
  cbor::write(bytes, record);
  return cbor::parse<T>(bytes.view());
}

}  // namespace keel
