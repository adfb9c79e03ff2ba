// Bytes of a server are a value or an error. A value in our form goes back in binary, and is read as the same.

#include <cstdint>
#include <string>

#include "keel/base/check.h"
#include "keel/db/postgres/types.h"

namespace keel::db::postgres {
namespace {

constexpr Oid fuzzed_types[] = {oid::boolean,     oid::bytea,    oid::name,    oid::int8, oid::int2,   oid::int4,
                                oid::text,        oid::oid,      oid::json,    oid::cidr, oid::float4, oid::float8,
                                oid::inet,        oid::bpchar,   oid::varchar, oid::date, oid::time,   oid::timestamp,
                                oid::timestamptz, oid::interval, oid::numeric, oid::uuid, oid::jsonb,  99'999};
constexpr std::size_t fuzzed_count = sizeof fuzzed_types / sizeof fuzzed_types[0];

// Bytes that are read as a text go in as that text, and come out as it.
void read_and_write(Oid type, const std::string& bytes) {
  Buffer scratch;
  const Result<Value> value = decode(type, Format::Binary, bytes, scratch);
  if (!value || value->kind != ValueKind::Text) return;
  const std::string text(value->bytes, value->size);
  Buffer again;
  const Result<Format> format = encode(Value(text), type, 1, again);
  KEEL_CHECK(format.is_ok(), "a text goes in");
  if (format_of(type) == Format::Text) return;
  KEEL_CHECK(*format == Format::Binary, "what was written here is of our form");
  const std::string back(again.view());
  Buffer scratch_again;
  const Result<Value> same = decode(type, Format::Binary, back, scratch_again);
  KEEL_CHECK(same.is_ok() && std::string_view(same->bytes, same->size) == text, "and comes back");
}

// Any text goes in: in binary, where it is read as something, or as it is.
void write_and_read(Oid type, const std::string& text) {
  Buffer out;
  out.append("x");
  const Result<Format> format = encode(Value(text), type, 1, out);
  KEEL_CHECK(format.is_ok() && out.view()[0] == 'x', "a text goes in");
  if (*format == Format::Text) {
    KEEL_CHECK(out.view().substr(1) == text, "as it is");
    return;
  }
  const std::string bytes(out.view().substr(1));
  Buffer scratch;
  const Result<Value> value = decode(type, Format::Binary, bytes, scratch);
  KEEL_CHECK(value.is_ok() || value.error().code() == Code::ResourceExhausted, "what goes in comes out");
}

}  // namespace
}  // namespace keel::db::postgres

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::db::postgres;
  if (size < 1) return 0;
  Oid type = fuzzed_types[data[0] % fuzzed_count];
  if (data[0] / fuzzed_count % 2 == 1 && array_of(type) != 0) type = array_of(type);
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  read_and_write(type, bytes);
  write_and_read(type, bytes);
  keel::Buffer scratch;
  (void)decode(type, Format::Text, bytes, scratch);
  return 0;
}
