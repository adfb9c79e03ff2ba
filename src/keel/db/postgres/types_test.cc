#include "keel/db/postgres/types.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace keel::db::postgres::types_test {
namespace {

using namespace std::string_literals;

// A value as text: 7, 1.5, 'text', x'blob'.
std::string shown(const Result<Value>& value) {
  if (!value) return std::string(value.error().message());
  switch (value->kind) {
    case ValueKind::Null:
      return "NULL";
    case ValueKind::Integer:
      return std::to_string(value->integer);
    case ValueKind::Real:
      return std::isnan(value->real) ? "nan" : std::to_string(value->real);
    case ValueKind::Text:
      return "'" + std::string(value->bytes, value->size) + "'";
    case ValueKind::Blob:
      return "x'" + std::string(value->bytes, value->size) + "'";
  }
  return {};
}
std::string read(Oid type, std::string_view bytes, Format format = Format::Binary) {
  Buffer scratch;
  scratch.append("before");
  return shown(decode(type, format, bytes, scratch));
}
// The bytes of an argument, in front of them "t" for the text format; or the error.
std::string written(const Value& value, Oid type) {
  Buffer out;
  out.append("before");
  const Result<Format> format = encode(value, type, 3, out);
  if (!format) {
    EXPECT_EQ(out.view(), "before");
    EXPECT_TRUE(format.error().is_from_environment());
    return std::string(format.error().message());
  }
  return (*format == Format::Text ? "t" : "") + std::string(out.view().substr(6));
}
// An argument, read as a column of the same type.
std::string round(const Value& value, Oid type) {
  Buffer out;
  const Result<Format> format = encode(value, type, 1, out);
  if (!format) return std::string(format.error().message());
  EXPECT_EQ(*format, Format::Binary);
  return read(type, out.view());
}

TEST(Types, are_read_as_values) {
  EXPECT_EQ(read(oid::boolean, "\x01"), "1");
  EXPECT_EQ(read(oid::boolean, "\0"s), "0");
  EXPECT_EQ(read(oid::int2, "\x80\0"s), "-32768");
  EXPECT_EQ(read(oid::int4, "\x7f\xff\xff\xff"), "2147483647");
  EXPECT_EQ(read(oid::int8, "\x80\0\0\0\0\0\0\0"s), "-9223372036854775808");
  EXPECT_EQ(read(oid::oid, "\xff\xff\xff\xff"), "4294967295");
  EXPECT_EQ(read(oid::float4, "\x3f\xc0\0\0"s), "1.500000");
  EXPECT_EQ(read(oid::float8, "\x7f\xf8\0\0\0\0\0\0"s), "nan");
  for (const Oid type : {oid::text, oid::varchar, oid::bpchar, oid::name, oid::json}) EXPECT_EQ(read(type, "é"), "'é'");
  EXPECT_EQ(read(oid::jsonb, "\x01{\"a\": 1}"), "'{\"a\": 1}'");
  EXPECT_EQ(read(oid::bytea, "\0x"s), "x'\0x'"s);
  EXPECT_EQ(read(oid::uuid, "0123456789abcdef"), "'30313233-3435-3637-3839-616263646566'");
  EXPECT_EQ(read(oid::date, "\0\0\0\0"s), "'2000-01-01'");
  EXPECT_EQ(read(oid::timestamptz, "\0\0\0\0\0\0\0\x01"s), "'2000-01-01T00:00:00.000001000Z'");
  EXPECT_EQ(read(oid::numeric, "\0\x01\0\0\0\0\0\x02\0\x01"s), "'1.00'");
  EXPECT_EQ(read(array_of(oid::int2), "\0\0\0\0\0\0\0\0\0\0\0\x15"s), "'{}'");
  EXPECT_EQ(read(99'999, "label", Format::Text), "'label'") << "an enum";
  EXPECT_EQ(read(99'999, "\0"s), "x'\0'"s);
}

TEST(Types, in_the_text_of_the_simple_protocol_are_read_as_values) {
  EXPECT_EQ(read(oid::boolean, "t", Format::Text), "1");
  EXPECT_EQ(read(oid::boolean, "f", Format::Text), "0");
  EXPECT_EQ(read(oid::boolean, "x", Format::Text), "the server sent bytes that are not a valid boolean");
  EXPECT_EQ(read(oid::int4, "-5", Format::Text), "-5");
  EXPECT_EQ(read(oid::int4, "-5x", Format::Text), "the server sent bytes that are not a valid integer");
  EXPECT_EQ(read(oid::float8, "1.5", Format::Text), "1.500000");
  EXPECT_EQ(read(oid::float8, "NaN", Format::Text), "nan");
  EXPECT_EQ(read(oid::float8, "nan(1)", Format::Text), "the server sent bytes that are not a valid double precision");
  EXPECT_EQ(read(oid::bytea, "\\x6162", Format::Text), "x'ab'");
  EXPECT_EQ(read(oid::bytea, "\\x", Format::Text), "x''");
  EXPECT_EQ(read(oid::bytea, "\\x6", Format::Text), "the server sent bytes that are not a valid bytea");
  EXPECT_EQ(read(oid::bytea, "ab", Format::Text), "the server sent bytes that are not a valid bytea");
  EXPECT_EQ(read(oid::timestamptz, "2026-01-01 00:00:00+00", Format::Text), "'2026-01-01 00:00:00+00'");
}

TEST(Types, reject_bytes_of_another_length) {
  struct Size {
    Oid type;
    std::size_t size;
  };
  for (const Size& one :
       {Size{oid::boolean, 1}, Size{oid::int2, 2}, Size{oid::int4, 4}, Size{oid::int8, 8}, Size{oid::oid, 4},
        Size{oid::float4, 4}, Size{oid::float8, 8}, Size{oid::uuid, 16}, Size{oid::date, 4}, Size{oid::time, 8},
        Size{oid::timestamp, 8}, Size{oid::timestamptz, 8}, Size{oid::interval, 16}}) {
    for (std::size_t size = 0; size < 20; ++size) {
      Buffer scratch;
      const Result<Value> value = decode(one.type, Format::Binary, std::string(size, '\0'), scratch);
      EXPECT_EQ(value.is_ok(), size == one.size) << name_of(one.type) << ' ' << size;
      EXPECT_TRUE(value.is_ok() || value.error().code() == Code::Protocol);
    }
  }
  EXPECT_EQ(read(oid::jsonb, ""), "the server sent bytes that are not a valid jsonb");
  EXPECT_EQ(read(oid::jsonb, "\x02{}"), "the server sent bytes that are not a valid jsonb");
}

TEST(Types, bound_the_text_of_an_array) {
  Buffer bytes;
  ASSERT_TRUE(encode_text(array_of(oid::numeric),
                          "{1e130000,1e130000,1e130000,1e130000,1e130000,1e130000,1e130000,"
                          "1e130000,1e130000}",
                          bytes)
                  .is_ok());
  Buffer scratch;
  EXPECT_EQ(decode(array_of(oid::numeric), Format::Binary, bytes.view(), scratch).error().code(),
            Code::ResourceExhausted);
}

TEST(Types, take_integers_in_their_range) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(round(Value(32'767), oid::int2), "32767");
  EXPECT_EQ(round(Value(-32'768), oid::int2), "-32768");
  EXPECT_EQ(round(Value(32'768), oid::int2), "parameter $1: 32768 is not in the range of smallint");
  EXPECT_EQ(round(Value(std::int64_t{2'147'483'648}), oid::int4),
            "parameter $1: 2147483648 is not in the range of integer");
  EXPECT_EQ(round(Value(std::int64_t{-2'147'483'648}), oid::int4), "-2147483648");
  EXPECT_EQ(round(Value(most), oid::int8), "9223372036854775807");
  EXPECT_EQ(round(Value(std::int64_t{4'294'967'295}), oid::oid), "4294967295");
  EXPECT_EQ(round(Value(-1), oid::oid), "parameter $1: -1 is not in the range of oid");
  EXPECT_EQ(round(Value(true), oid::boolean), "1");
  EXPECT_EQ(round(Value(2), oid::boolean), "parameter $1 is 2, but a boolean must be 0 or 1");
  EXPECT_EQ(round(Value(3), oid::float4), "3.000000");
  EXPECT_EQ(round(Value(3), oid::float8), "3.000000");
  EXPECT_EQ(round(Value(std::numeric_limits<std::int64_t>::min()), oid::numeric), "'-9223372036854775808'");
  EXPECT_EQ(round(Value(5), oid::text),
            "parameter $1 is an integer, but the statement takes text there: write $1::bigint");
  EXPECT_EQ(written(Value(5), oid::timestamptz),
            "parameter $3 is an integer, but the statement takes timestamp with time zone there: write $3::bigint");
  EXPECT_EQ(written(Value(5), 99'999), "t5") << "a domain over an integer, for example";
}

TEST(Types, take_reals) {
  EXPECT_EQ(round(Value(1.5), oid::float8), "1.500000");
  EXPECT_EQ(round(Value(1.5), oid::float4), "1.500000");
  EXPECT_EQ(round(Value(std::nan("")), oid::float4), "nan");
  EXPECT_NE(round(Value(1e300), oid::float4).find("is not in the range of real"), std::string::npos);
  EXPECT_EQ(round(Value(0.1), oid::numeric), "'0.1'");
  EXPECT_EQ(round(Value(1e20), oid::numeric), "'100000000000000000000'");
  EXPECT_EQ(round(Value(-std::numeric_limits<double>::infinity()), oid::numeric), "'-Infinity'");
  EXPECT_EQ(written(Value(0.1), oid::int4),
            "parameter $3 is a real, but the statement takes integer there: write $3::double precision");
  EXPECT_EQ(written(Value(0.5), 99'999), "t0.5");
}

TEST(Types, take_texts_in_binary_where_they_have_the_form_and_else_as_they_are) {
  EXPECT_EQ(round(Value("2026-11-24T12:00:37.250000000Z"), oid::timestamptz), "'2026-11-24T12:00:37.250000000Z'");
  EXPECT_EQ(round(Value("0192F7A8-3c1b-7d2e-9f00-6b1c2d3e4f50"), oid::uuid), "'0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50'");
  EXPECT_EQ(round(Value("1.50"), oid::numeric), "'1.50'");
  EXPECT_EQ(round(Value("{1,2}"), array_of(oid::int4)), "'{1,2}'");
  EXPECT_EQ(round(Value("12"), oid::int4), "12");
  EXPECT_EQ(round(Value("true"), oid::boolean), "1");
  EXPECT_EQ(round(Value("{}"), oid::jsonb), "'{}'");
  EXPECT_EQ(round(Value("é"), oid::text), "'é'");
  EXPECT_EQ(round(Value("\\x41"), oid::bytea), "x'\\x41'") << "the text's own bytes";
  EXPECT_EQ(written(Value("1 day"), oid::interval), "t1 day");
  EXPECT_EQ(written(Value("tomorrow"), oid::timestamptz), "ttomorrow");
  EXPECT_EQ(written(Value("12x"), oid::int4), "t12x") << "the server says what is wrong";
  EXPECT_EQ(written(Value("{1,2"), array_of(oid::int4)), "t{1,2");
  EXPECT_EQ(written(Value("happy"), 99'999), "thappy");
  EXPECT_EQ(written(Value("a\0b"s), oid::text), "a\0b"s) << "the server rejects it; it ends nothing";
}

TEST(Types, take_blobs) {
  const std::array<std::byte, 2> bytes = {std::byte{0}, std::byte{0xff}};
  EXPECT_EQ(round(Value(std::span<const std::byte>(bytes)), oid::bytea), "x'\0\xff'"s);
  EXPECT_EQ(written(Value(std::span<const std::byte>(bytes)), 99'999), "\0\xff"s) << "in the type's own format";
  EXPECT_EQ(written(Value(std::span<const std::byte>(bytes)), oid::text),
            "parameter $3 is a blob, but the statement takes text there: write $3::bytea");
}

TEST(Types, reject_an_argument_above_what_the_server_takes) {
  Value value("");
  value.size = 0x4000'0000;
  Buffer out;
  EXPECT_EQ(encode(value, oid::text, 1, out).error().code(), Code::ResourceExhausted);
}

TEST(Oids, know_arrays_formats_and_names) {
  EXPECT_EQ(array_of(oid::int4), 1007u);
  EXPECT_EQ(element_of(1007), oid::int4);
  EXPECT_EQ(array_of(99'999), 0u);
  EXPECT_EQ(element_of(oid::int4), 0u);
  EXPECT_EQ(format_of(oid::numeric), Format::Binary);
  EXPECT_EQ(format_of(1231), Format::Binary);
  EXPECT_EQ(format_of(99'999), Format::Text);
  EXPECT_EQ(format_of(oid::void_result), Format::Text);
  EXPECT_EQ(name_of(oid::timestamptz), "timestamp with time zone");
  EXPECT_EQ(name_of(1007), "integer[]");
  EXPECT_EQ(name_of(99'999), "type 99999");
}

}  // namespace
}  // namespace keel::db::postgres::types_test
