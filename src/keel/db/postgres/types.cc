#include "keel/db/postgres/types.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "keel/base/ascii.h"
#include "keel/data/uuid.h"
#include "keel/db/postgres/internal/array_text.h"
#include "keel/db/postgres/internal/calendar_text.h"
#include "keel/db/postgres/internal/inet_text.h"
#include "keel/db/postgres/internal/numeric.h"
#include "keel/db/postgres/internal/wire.h"

namespace keel::db::postgres {
namespace {

constexpr std::size_t argument_bytes_max = 0x3fff'ffff;
constexpr char jsonb_version = 1;

bool is_text(Oid type) {
  return type == oid::text || type == oid::varchar || type == oid::bpchar || type == oid::name || type == oid::json;
}

Error is_no_value(Oid type) { return wire::broken("the server sent bytes that are not a valid " + name_of(type)); }

Error invalid(int number, const std::string& text) {
  return Error::text(Code::InvalidArgument, "parameter $" + std::to_string(number) + text).from_environment();
}

Error is_taken_as(int number, const char* argument, Oid type, const char* cast) {
  return invalid(number, std::string(" is ") + argument + ", but the statement takes " + name_of(type) +
                             " there: write $" + std::to_string(number) + "::" + cast);
}

Error is_out_of_range(int number, const std::string& value, Oid type) {
  return invalid(number, ": " + value + " is not in the range of " + name_of(type));
}

Value text_value(std::string_view text) { return Value(text); }
Value blob_value(std::string_view bytes) { return Value(std::as_bytes(std::span(bytes.data(), bytes.size()))); }
Value appended_since(std::size_t start, const Buffer& scratch) { return text_value(scratch.view().substr(start)); }

// Reads a number that is the whole text.
template <class T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool read_real(std::string_view text, bool is_single, double& value) {
  if (text.find('(') != std::string_view::npos) return false;  // "nan(…)".
  if (!is_single) return read_number(text, value);
  float single = 0;
  if (!read_number(text, single)) return false;
  value = single;
  return true;
}

template <class T>
Result<Value> decode_integer(Oid type, std::string_view bytes) {
  if (bytes.size() != sizeof(T)) return is_no_value(type);
  return Value(static_cast<std::int64_t>(wire::load<T>(bytes.data())));
}

double real_of(std::string_view bytes) {
  if (bytes.size() == 4) return std::bit_cast<float>(wire::load<std::uint32_t>(bytes.data()));
  return std::bit_cast<double>(wire::load<std::uint64_t>(bytes.data()));
}

Result<Value> decode_text_format(Oid type, std::string_view bytes, Buffer& scratch) {
  switch (type) {
    case oid::boolean:
      if (bytes != "t" && bytes != "f") return is_no_value(type);
      return Value(bytes == "t");
    case oid::int2:
    case oid::int4:
    case oid::int8:
    case oid::oid: {
      std::int64_t value = 0;
      if (!read_number(bytes, value)) return is_no_value(type);
      return Value(value);
    }
    case oid::float4:
    case oid::float8: {
      double value = 0;
      if (!read_real(bytes, type == oid::float4, value)) return is_no_value(type);
      return Value(value);
    }
    case oid::bytea: {
      // The text has the format "hex", which is the server's default.
      if (!bytes.starts_with("\\x") || bytes.size() % 2 != 0) return is_no_value(type);
      const std::size_t start = scratch.size();
      char* to = scratch.reserve(bytes.size() / 2);
      for (std::size_t i = 2; i < bytes.size(); i += 2) {
        const int high = ascii::hex_value(bytes[i]);
        const int low = ascii::hex_value(bytes[i + 1]);
        if (high < 0 || low < 0) return is_no_value(type);
        *to++ = static_cast<char>(high * 16 + low);
      }
      scratch.commit(bytes.size() / 2 - 1);
      return blob_value(scratch.view().substr(start));
    }
    default:
      return text_value(bytes);
  }
}

// Appends a number as digits, for a parameter whose type is not in the table of types.h.
void append_digits(const Value& value, Buffer& out) {
  if (value.kind == ValueKind::Real) return append_real_text(value.real, false, out);
  char digits[24];
  const char* end = std::to_chars(digits, digits + sizeof digits, value.integer).ptr;
  out.append({digits, static_cast<std::size_t>(end - digits)});
}

template <class T>
Result<Format> encode_integer(std::int64_t value, Oid type, int number, Buffer& out) {
  const T narrow = static_cast<T>(value);
  if (static_cast<std::int64_t>(narrow) != value || (std::is_unsigned_v<T> && value < 0)) [[unlikely]] {
    return is_out_of_range(number, std::to_string(value), type);
  }
  wire::append(out, narrow);
  return Format::Binary;
}

void append_double(double value, Buffer& out) { wire::append(out, std::bit_cast<std::uint64_t>(value)); }
void append_float(float value, Buffer& out) { wire::append(out, std::bit_cast<std::uint32_t>(value)); }

Result<Format> encode_integer_argument(const Value& value, Oid type, int number, Buffer& out) {
  switch (type) {
    case oid::boolean:
      if (value.integer != 0 && value.integer != 1) {
        return invalid(number, " is " + std::to_string(value.integer) + ", but a boolean must be 0 or 1");
      }
      out.push_back(static_cast<char>(value.integer));
      return Format::Binary;
    case oid::int2:
      return encode_integer<std::int16_t>(value.integer, type, number, out);
    case oid::int4:
      return encode_integer<std::int32_t>(value.integer, type, number, out);
    case oid::int8:
      return encode_integer<std::int64_t>(value.integer, type, number, out);
    case oid::oid:
      return encode_integer<std::uint32_t>(value.integer, type, number, out);
    case oid::float4:
      append_float(static_cast<float>(value.integer), out);
      return Format::Binary;
    case oid::float8:
      append_double(static_cast<double>(value.integer), out);
      return Format::Binary;
    case oid::numeric: {
      char digits[24];
      const char* end = std::to_chars(digits, digits + sizeof digits, value.integer).ptr;
      const bool is_encoded = append_numeric_bytes({digits, static_cast<std::size_t>(end - digits)}, out);
      if (!is_encoded) return is_out_of_range(number, std::to_string(value.integer), type);
      return Format::Binary;
    }
    default:
      if (format_of(type) == Format::Binary) return is_taken_as(number, "an integer", type, "bigint");
      append_digits(value, out);
      return Format::Text;
  }
}

Result<Format> encode_real_argument(const Value& value, Oid type, int number, Buffer& out) {
  switch (type) {
    case oid::float8:
      append_double(value.real, out);
      return Format::Binary;
    case oid::float4:
      if (std::isfinite(value.real) && std::abs(value.real) > std::numeric_limits<float>::max()) {
        return is_out_of_range(number, std::to_string(value.real), type);
      }
      append_float(static_cast<float>(value.real), out);
      return Format::Binary;
    case oid::numeric: {
      const std::size_t start = out.size();
      append_digits(value, out);
      char digits[32];  // At most 25.
      const std::size_t size = out.view().copy(digits, sizeof digits, start);
      out.resize(start);
      if (!append_numeric_bytes({digits, size}, out)) return is_out_of_range(number, std::string(digits, size), type);
      return Format::Binary;
    }
    default:
      if (format_of(type) == Format::Binary) return is_taken_as(number, "a real", type, "double precision");
      append_digits(value, out);
      return Format::Text;
  }
}

Result<Format> encode_text_argument(std::string_view text, Oid type, Buffer& out) {
  if (format_of(type) == Format::Text) {
    out.append(text);
    return Format::Text;
  }
  const std::size_t start = out.size();
  if (encode_text(type, text, out)) return Format::Binary;
  out.resize(start);
  out.append(text);
  return Format::Text;
}

}  // namespace

bool append_element_text(Oid type, std::string_view bytes, Buffer& to) {
  switch (type) {
    case oid::boolean:
      if (bytes.size() != 1) return false;
      to.push_back(bytes[0] != 0 ? 't' : 'f');
      return true;
    case oid::int2:
      if (bytes.size() != 2) return false;
      append_digits(Value(wire::load<std::int16_t>(bytes.data())), to);
      return true;
    case oid::int4:
      if (bytes.size() != 4) return false;
      append_digits(Value(wire::load<std::int32_t>(bytes.data())), to);
      return true;
    case oid::int8:
      if (bytes.size() != 8) return false;
      append_digits(Value(wire::load<std::int64_t>(bytes.data())), to);
      return true;
    case oid::oid:
      if (bytes.size() != 4) return false;
      append_digits(Value(wire::load<std::uint32_t>(bytes.data())), to);
      return true;
    case oid::float4:
    case oid::float8:
      if (bytes.size() != (type == oid::float4 ? 4u : 8u)) return false;
      append_real_text(real_of(bytes), type == oid::float4, to);
      return true;
    case oid::uuid: {
      if (bytes.size() != 16) return false;
      std::array<std::byte, 16> id;
      std::memcpy(id.data(), bytes.data(), id.size());
      Uuid(id).write(to.reserve(Uuid::text_size));
      to.commit(Uuid::text_size);
      return true;
    }
    case oid::date:
      return append_date_text(bytes, to);
    case oid::time:
      return append_time_text(bytes, to);
    case oid::timestamp:
    case oid::timestamptz:
      return append_timestamp_text(bytes, to);
    case oid::interval:
      return append_interval_text(bytes, to);
    case oid::numeric:
      return append_numeric_text(bytes, to);
    case oid::inet:
    case oid::cidr:
      return append_inet_text(bytes, type == oid::cidr, to);
    case oid::jsonb:
      if (bytes.empty() || bytes[0] != jsonb_version) return false;
      to.append(bytes.substr(1));
      return true;
    default:
      to.append(bytes);
      return is_text(type);
  }
}

bool append_element_bytes(Oid type, std::string_view text, Buffer& to) {
  std::int64_t integer = 0;
  const auto append_integer = [&](auto narrow) {
    using T = decltype(narrow);
    if (!read_number(text, integer)) return false;
    narrow = static_cast<T>(integer);
    if (static_cast<std::int64_t>(narrow) != integer || (std::is_unsigned_v<T> && integer < 0)) return false;
    wire::append(to, narrow);
    return true;
  };
  switch (type) {
    case oid::boolean: {
      const bool is_true = text == "t" || text == "true" || text == "1";
      if (!is_true && text != "f" && text != "false" && text != "0") return false;
      to.push_back(is_true ? 1 : 0);
      return true;
    }
    case oid::int2:
      return append_integer(std::int16_t{});
    case oid::int4:
      return append_integer(std::int32_t{});
    case oid::int8:
      return append_integer(std::int64_t{});
    case oid::oid:
      return append_integer(std::uint32_t{});
    case oid::float4:
    case oid::float8: {
      double value = 0;
      if (!read_real(text, type == oid::float4, value)) return false;
      if (type == oid::float4) {
        append_float(static_cast<float>(value), to);
      } else {
        append_double(value, to);
      }
      return true;
    }
    case oid::uuid: {
      const Result<Uuid> id = Uuid::parse(text);
      if (!id) return false;
      to.append({reinterpret_cast<const char*>(id->bytes().data()), id->bytes().size()});
      return true;
    }
    case oid::date:
      return append_date_bytes(text, to);
    case oid::time:
      return append_time_bytes(text, to);
    case oid::timestamp:
    case oid::timestamptz:
      return append_timestamp_bytes(text, type == oid::timestamptz, to);
    case oid::interval:
      return append_interval_bytes(text, to);
    case oid::numeric:
      return append_numeric_bytes(text, to);
    case oid::inet:
    case oid::cidr:
      return append_inet_bytes(text, type == oid::cidr, to);
    case oid::jsonb:
      to.push_back(jsonb_version);
      to.append(text);
      return true;
    default:
      to.append(text);
      return is_text(type) || type == oid::bytea;
  }
}

Result<Value> decode(Oid type, Format format, std::string_view bytes, Buffer& scratch) {
  if (format == Format::Text) return decode_text_format(type, bytes, scratch);
  switch (type) {
    case oid::int8:
      return decode_integer<std::int64_t>(type, bytes);
    case oid::int4:
      return decode_integer<std::int32_t>(type, bytes);
    case oid::int2:
      return decode_integer<std::int16_t>(type, bytes);
    case oid::oid:
      return decode_integer<std::uint32_t>(type, bytes);
    case oid::boolean:
      if (bytes.size() != 1) return is_no_value(type);
      return Value(bytes[0] != 0);
    case oid::float8:
    case oid::float4:
      if (bytes.size() != (type == oid::float4 ? 4u : 8u)) return is_no_value(type);
      return Value(real_of(bytes));
    case oid::text:
    case oid::varchar:
    case oid::bpchar:
    case oid::name:
    case oid::json:
      return text_value(bytes);
    case oid::bytea:
      return blob_value(bytes);
    case oid::jsonb:
      if (bytes.empty() || bytes[0] != jsonb_version) return is_no_value(type);
      return text_value(bytes.substr(1));
    default:
      break;
  }
  const std::size_t start = scratch.size();
  if (const Oid element = element_of(type); element != 0) {
    const std::size_t text_max = std::max<std::size_t>(1024 * 1024, 16 * bytes.size());
    if (!append_array_text(element, bytes, text_max, scratch)) {
      if (scratch.size() - start <= text_max) return is_no_value(type);
      return Error(Code::ResourceExhausted,
                   "the text of an array is larger than 1 MiB and larger than 16 times the array's binary form")
          .from_environment();
    }
    return appended_since(start, scratch);
  }
  // A type that is not in the table of types.h is never requested in binary.
  if (format_of(type) == Format::Text) return blob_value(bytes);
  if (!append_element_text(type, bytes, scratch)) return is_no_value(type);
  return appended_since(start, scratch);
}

Result<Format> encode(const Value& value, Oid type, int number, Buffer& out) {
  switch (value.kind) {
    case ValueKind::Null:
      return Format::Binary;
    case ValueKind::Integer:
      return encode_integer_argument(value, type, number, out);
    case ValueKind::Real:
      return encode_real_argument(value, type, number, out);
    case ValueKind::Text:
    case ValueKind::Blob:
      break;
  }
  if (value.size > argument_bytes_max) {
    return Error::text(Code::ResourceExhausted, "parameter $" + std::to_string(number) +
                                                    " is larger than 1 GiB, the most that the database "
                                                    "accepts")
        .from_environment();
  }
  const std::string_view bytes(value.bytes, value.size);
  if (value.kind == ValueKind::Text) return encode_text_argument(bytes, type, out);
  if (type != oid::bytea && format_of(type) == Format::Binary) {
    return is_taken_as(number, "a blob", type, "bytea");
  }
  out.append(bytes);
  return Format::Binary;
}

Result<> encode_text(Oid type, std::string_view text, Buffer& out) {
  const Oid element = element_of(type);
  const std::size_t start = out.size();
  if (element != 0 ? append_array_bytes(element, text, out) : append_element_bytes(type, text, out)) return {};
  out.resize(start);
  return Error::text(Code::InvalidArgument, "the text is not a valid " + name_of(type)).from_environment();
}

}  // namespace keel::db::postgres
