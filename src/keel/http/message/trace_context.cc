#include "keel/http/message/trace_context.h"

#include "keel/base/ascii.h"
#include "keel/base/hex.h"
#include "keel/http/message/fields.h"

namespace keel::http {
namespace {

// Accepts only lowercase hexadecimal digits; `value` is set to the last 64 bits of the number.
bool read_hex(std::string_view digits, std::uint64_t& value) noexcept {
  value = 0;
  for (const char c : digits) {
    const int digit = ascii::hex_value(c);
    if (digit < 0 || ascii::is_upper(c)) return false;
    value = value << 4 | static_cast<std::uint64_t>(digit);
  }
  return true;
}

void append_hex(Buffer& out, std::uint64_t value) {
  write_hex(out.reserve(hex_digits), value);
  out.commit(hex_digits);
}

}  // namespace

std::optional<log::TraceId> parse_traceparent(std::string_view value) noexcept {
  constexpr std::size_t size = 55;  // The length of a value of version 00; values of later versions may be longer.
  if (value.size() < size || value[2] != '-' || value[35] != '-' || value[52] != '-') return std::nullopt;
  std::uint64_t version = 0;
  std::uint64_t caller = 0;
  std::uint64_t flags = 0;
  log::TraceId trace;
  if (!read_hex(value.substr(0, 2), version) || !read_hex(value.substr(3, 16), trace.high) ||
      !read_hex(value.substr(19, 16), trace.low) || !read_hex(value.substr(36, 16), caller) ||
      !read_hex(value.substr(53, 2), flags)) {
    return std::nullopt;
  }
  if (version == 0xff || !trace || caller == 0) return std::nullopt;
  if (value.size() != size && (version == 0 || value[size] != '-')) return std::nullopt;
  return trace;
}

void append_traceparent(Buffer& out, log::TraceId trace, std::uint64_t caller) {
  out.append("traceparent: 00-");
  append_hex(out, trace.high);
  append_hex(out, trace.low);
  out.push_back('-');
  append_hex(out, caller);
  out.append("-01\r\n");
}

}  // namespace keel::http
