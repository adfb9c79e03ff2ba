#include "keel/db/postgres/copy_text.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

namespace keel::db::postgres {
namespace {

constexpr std::size_t value_bytes_max = 0x3fff'ffff;  // The server's limit: 1 GiB less one byte.

// The character that represents `c` after a backslash; 0 if `c` needs no backslash.
constexpr char escape_of(char c) noexcept {
  switch (c) {
    case '\\':
      return '\\';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    case '\v':
      return 'v';
    default:
      return 0;
  }
}

void append_text(Buffer& to, std::string_view text) {
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && escape_of(text[plain]) == 0) ++plain;
    to.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    to.push_back('\\');
    to.push_back(escape_of(text.front()));
    text.remove_prefix(1);
  }
}

void append_blob(Buffer& to, std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  to.append("\\\\x");
  char* at = to.reserve(2 * bytes.size());
  for (const char c : bytes) {
    *at++ = digits[static_cast<unsigned char>(c) >> 4];
    *at++ = digits[static_cast<unsigned char>(c) & 15];
  }
  to.commit(2 * bytes.size());
}

template <class T>
void append_number(Buffer& to, T value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  to.append({text, static_cast<std::size_t>(end.ptr - text)});
}

void append_real(Buffer& to, double value) {
  if (std::isnan(value)) return to.append("NaN");
  if (std::isinf(value)) return to.append(value < 0 ? "-Infinity" : "Infinity");
  append_number(to, value);
}

}  // namespace

Result<> append_copy_row(Buffer& to, std::span<const Value> values) {
  const std::size_t before = to.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = values[i];
    if (i != 0) to.push_back('\t');
    const bool has_bytes = value.kind >= ValueKind::Text;
    const std::string_view bytes = has_bytes ? std::string_view(value.bytes, value.size) : std::string_view();
    if (bytes.size() > value_bytes_max / 2) {
      to.resize(before);
      return fail(Code::ResourceExhausted, "a value is larger than PostgreSQL accepts");
    }
    switch (value.kind) {
      case ValueKind::Null:
        to.append("\\N");
        break;
      case ValueKind::Integer:
        append_number(to, value.integer);
        break;
      case ValueKind::Real:
        append_real(to, value.real);
        break;
      case ValueKind::Text:
        if (!bytes.empty() && std::memchr(bytes.data(), 0, bytes.size()) != nullptr) {
          to.resize(before);
          return Error::text(Code::InvalidArgument, "column " + std::to_string(i + 1) +
                                                        ": a text contains a zero byte, which PostgreSQL cannot "
                                                        "store");
        }
        append_text(to, bytes);
        break;
      case ValueKind::Blob:
        append_blob(to, bytes);
        break;
    }
  }
  to.push_back('\n');
  return {};
}

}  // namespace keel::db::postgres
