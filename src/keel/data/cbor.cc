#include "keel/data/cbor.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <string>

#include "keel/data/internal/binary_heads.h"
#include "keel/data/json_writer.h"

namespace keel::cbor {
namespace {

using binary::Cbor;
using binary::internal::Head;
using binary::internal::Token;
using binary::internal::unknown_count;

void append_real(Buffer& out, double value) {
  if (!std::isfinite(value)) return out.append(std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
  char digits[48];
  const double size = std::abs(value);
  const bool is_plain = size == 0 || (size >= 1e-6 && size < 1e21);
  const auto format = is_plain ? std::chars_format::fixed : std::chars_format::scientific;
  const std::string_view text(digits, std::to_chars(digits, digits + sizeof digits, value, format).ptr);
  const std::size_t exponent = text.find('e');
  const std::string_view number = text.substr(0, exponent);
  out.append(number);
  if (number.find('.') == number.npos) out.append(".0");
  if (exponent == text.npos) return;
  out.append(text.substr(exponent, 2));
  const std::size_t first = text.find_first_not_of('0', exponent + 2);
  out.append(text.substr(first == text.npos ? text.size() - 1 : first));
}

void append_hex(Buffer& out, std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  out.append("h'");
  for (const char c : bytes) {
    out.push_back(digits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(digits[static_cast<unsigned char>(c) & 15]);
  }
  out.push_back('\'');
}

void append_quoted(Buffer& out, std::string_view text) { json::Writer(out).string(text); }

// Appends the value at `at`, which must be well-formed, and returns the end of the value.
const char* append(Buffer& out, const char* at, const char* end) {
  Head head;
  auto first = static_cast<unsigned char>(*at);
  at = Cbor::take(at, end, head);
  // Tags are counted in a loop and not handled by recursion, because there may be more tags than the nesting limit.
  std::size_t tags = 0;
  for (; head.token == Token::Tag; ++tags) {
    out.append(std::to_string(head.number));
    out.push_back('(');
    first = static_cast<unsigned char>(*at);
    at = Cbor::take(at, end, head);
  }
  const bool is_open = head.number == unknown_count;
  // Appends the items of a container, or the pieces of a string.
  const auto items = [&](std::uint64_t count, bool has_values, auto&& item) {
    bool is_first = true;
    for (std::uint64_t i = 0; is_open ? *at != '\xFF' : i < count; ++i) {
      if (!is_first) out.append(", ");
      is_first = false;
      at = item(at);
      if (!has_values) continue;
      out.append(": ");
      at = append(out, at, end);
    }
    if (is_open) ++at;
  };
  const auto value = [&](const char* from) { return append(out, from, end); };
  switch (head.token) {
    case Token::Unsigned:
      out.append(std::to_string(head.number));
      break;
    case Token::Negative:
      out.push_back('-');
      out.append(head.number == ~0ull ? "18446744073709551616" : std::to_string(head.number + 1));
      break;
    case Token::Bytes:
    case Token::Text: {
      if (is_open) {
        out.append("(_ ");
        items(0, false, value);
        out.push_back(')');
        break;
      }
      const std::string_view text(at, static_cast<std::size_t>(head.number));
      if (head.token == Token::Text) {
        append_quoted(out, text);
      } else {
        append_hex(out, text);
      }
      at += text.size();
      break;
    }
    case Token::Array:
      out.append(is_open ? "[_ " : "[");
      items(head.number, false, value);
      out.push_back(']');
      break;
    case Token::Map:
      out.append(is_open ? "{_ " : "{");
      items(head.number, true, value);
      out.push_back('}');
      break;
    case Token::Boolean:
      out.append(head.number != 0 ? "true" : "false");
      break;
    case Token::Null:
      out.append(first == 0xF7 ? "undefined" : "null");
      break;
    case Token::Real:
      append_real(out, std::bit_cast<double>(head.number));
      break;
    case Token::Simple:
      out.append("simple(");
      out.append(std::to_string(head.number));
      out.push_back(')');
      break;
    default:
      break;
  }
  for (; tags > 0; --tags) out.push_back(')');
  return at;
}

}  // namespace

Result<std::string> diagnose(std::string_view bytes) {
  Arena arena;
  Reader in(bytes, arena);
  in.skip();
  KEEL_TRY_VOID(in.finish());
  Buffer out;
  append(out, bytes.data(), bytes.data() + bytes.size());
  return std::string(out.view());
}

}  // namespace keel::cbor
