#include "keel/app/log_line.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string_view>

#include "keel/base/hex.h"
#include "keel/base/scan.h"

namespace keel::app {
namespace {

using log::FieldKind;
using log::FieldView;

// Printable ASCII that neither format gives a meaning.
constexpr std::array<bool, 256> plain = [] {
  std::array<bool, 256> table{};
  for (int c = 0x20; c < 0x7f; ++c) table[static_cast<std::size_t>(c)] = c != '"' && c != '\\';
  return table;
}();

// Whether there is none but those in `text`, which is so in nearly every line.
bool is_plain(std::string_view text) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101;
  // The upper bit of a byte that is below 0x20, above 0x7e, a quote or a backslash; and, where there is one, perhaps of
  // the bytes above it.
  const auto odd = [](std::uint64_t word) {
    return (word | (word - 0x20 * ones) | (word + ones) | ((word ^ '"' * ones) - ones) |
            ((word ^ '\\' * ones) - ones)) &
           0x80 * ones;
  };
  const char* at = text.data();
  const char* const end = at + text.size();
  if (text.size() < 8) return std::all_of(at, end, [](char c) { return plain[static_cast<unsigned char>(c)]; });
  for (; end - at > 8; at += 8) {
    if (odd(scan::load64(at)) != 0) return false;
  }
  return odd(scan::load64(end - 8)) == 0;
}

struct Decoded {
  std::uint32_t point = 0;
  std::size_t bytes = 0;  // 0: not UTF-8 (RFC 3629).
};

Decoded decode_utf8(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  const std::size_t bytes = first < 0x80   ? 1
                            : first < 0xc2 ? 0
                            : first < 0xe0 ? 2
                            : first < 0xf0 ? 3
                            : first < 0xf5 ? 4
                                           : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t point = bytes == 1 ? first : first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    point = point << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  if (overlong || (point >= 0xd800 && point < 0xe000) || point > 0x10ffff) return {};
  return {point, bytes};
}

// What a terminal or a reader of lines may take for more than text.
bool is_control(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069);
}

template <class... T>
void append_formatted(Buffer& out, fmt::format_string<T...> format, T&&... values) {
  char text[64];
  const auto end = fmt::format_to_n(text, sizeof text, format, std::forward<T>(values)...);
  out.append({text, std::min(end.size, sizeof text)});
}

void append_escaped(Buffer& out, std::string_view text, LineFormat format) {
  if (is_plain(text)) return out.append(text);
  while (!text.empty()) {
    std::size_t run = 0;
    while (run < text.size() && plain[static_cast<unsigned char>(text[run])]) ++run;
    out.append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) return;
    const char c = text[0];
    const Decoded decoded = decode_utf8(text);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out.append(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
    } else if (decoded.bytes == 0) {
      if (format == LineFormat::Json) {
        out.append("\\ufffd");  // JSON has no way to say an arbitrary byte.
      } else {
        append_formatted(out, "\\x{:02x}", static_cast<unsigned char>(c));
      }
    } else if (!is_control(decoded.point)) {
      out.append(text.substr(0, decoded.bytes));
    } else if (format == LineFormat::Json) {
      append_formatted(out, "\\u{:04x}", decoded.point);
    } else {
      append_formatted(out, "\\u{{{:04x}}}", decoded.point);
    }
    text.remove_prefix(std::max<std::size_t>(decoded.bytes, 1));
  }
}

void append_quoted(Buffer& out, std::string_view text, LineFormat format) {
  if (is_plain(text)) {
    char* const at = out.reserve(text.size() + 2);
    at[0] = '"';
    copy_short(at + 1, text.data(), text.size());
    at[text.size() + 1] = '"';
    return out.commit(text.size() + 2);
  }
  out.push_back('"');
  append_escaped(out, text, format);
  out.push_back('"');
}

// In Text, quotes only where the end of a value would be in doubt.
void append_value(Buffer& out, std::string_view text, LineFormat format) {
  const bool bare = format == LineFormat::Text && !text.empty() && is_plain(text) &&
                    std::none_of(text.begin(), text.end(), [](char c) { return c == ' ' || c == '='; });
  if (bare) {
    out.append(text);
  } else {
    append_quoted(out, text, format);
  }
}

constexpr std::size_t number_bytes_max = 32;

template <class T>
void append_number(Buffer& out, T value) {
  char* const at = out.reserve(number_bytes_max);
  out.commit(static_cast<std::size_t>(std::to_chars(at, at + number_bytes_max, value).ptr - at));
}

// The point and the digits of value / unit, zeros in front; returns how many bytes.
template <std::uint64_t unit>
std::size_t put_fraction(char* at, std::uint64_t value) {
  const char* const end =
      std::to_chars(at, at + number_bytes_max, unit + value).ptr;  // As if there were a 1 in front of it.
  *at = '.';
  return static_cast<std::size_t>(end - at);
}

void append_seconds(Buffer& out, std::int64_t ns) {
  const std::uint64_t size = ns < 0 ? -static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  if (ns < 0) out.push_back('-');
  append_number(out, size / 1'000'000'000);
  const std::uint64_t fraction = size % 1'000'000'000;
  if (fraction == 0) return;
  char* const at = out.reserve(number_bytes_max);
  std::size_t used = put_fraction<1'000'000'000>(at, fraction);
  while (at[used - 1] == '0') --used;
  out.commit(used);
}

// name=value or ,"name":value, and for an error a second one.
void append_field(Buffer& out, const FieldView& field, LineFormat format) {
  const auto key = [&](std::string_view suffix) {
    const bool is_json = format == LineFormat::Json;
    char* const begin = out.reserve(field.name.size() + suffix.size() + 4);
    char* at = begin;
    const auto put = [&at](std::string_view text) {
      copy_short(at, text.data(), text.size());
      at += text.size();
    };
    if (is_json) *at++ = ',';
    *at++ = is_json ? '"' : ' ';
    put(field.name);
    put(suffix);
    if (is_json) *at++ = '"';
    *at++ = is_json ? ':' : '=';
    out.commit(static_cast<std::size_t>(at - begin));
  };
  key("");
  switch (field.kind) {
    case FieldKind::Bool:
      out.append(field.word != 0 ? "true" : "false");
      break;
    case FieldKind::Int:
      append_number(out, static_cast<std::int64_t>(field.word));
      break;
    case FieldKind::Uint:
      append_number(out, field.word);
      break;
    case FieldKind::Double:
      if (std::isfinite(field.number)) {
        append_number(out, field.number);
      } else {
        out.append("null");
      }
      break;
    case FieldKind::Duration:
      append_seconds(out, static_cast<std::int64_t>(field.word));
      break;
    case FieldKind::String:
      append_value(out, field.text, format);
      break;
    case FieldKind::Error: {
      out.push_back('"');
      append_escaped(out, field.text, format);
      if (field.errno_value != 0) {
        char text[128];
        out.append(": ");
        append_escaped(out, strerror_r(field.errno_value, text, sizeof text), format);
      }
      out.push_back('"');
      key("_code");
      append_value(out, to_string(field.code), format);
      break;
    }
  }
}

void append_source(Buffer& out, const std::source_location& where) {
  std::string_view file = where.file_name();
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  out.append(file);
  out.push_back(':');
  append_number(out, where.line());
}

void append_trace(Buffer& out, const log::TraceId& id) {
  write_hex(write_hex(out.reserve(2 * hex_digits), id.high), id.low);
  out.commit(2 * hex_digits);
}

}  // namespace

void LineFormatter::append(Buffer& out, const log::Record& record) {
  if (format_ == LineFormat::Json) {
    append_json(out, record);
  } else {
    append_text(out, record);
  }
}

void LineFormatter::append_time(Buffer& out, std::int64_t wall_ns) {
  std::int64_t second = wall_ns / 1'000'000'000;
  std::int64_t rest = wall_ns % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --second;
  }
  if (second != second_) {
    const time_t at = second;
    tm parts{};
    gmtime_r(&at, &parts);
    *fmt::format_to_n(second_text_, sizeof second_text_ - 1, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
                      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec)
         .out = '\0';
    second_ = second;
  }
  char* const at = out.reserve(19 + number_bytes_max);
  std::memcpy(at, second_text_, 19);
  put_fraction<1'000'000>(at + 19, static_cast<std::uint64_t>(rest / 1000));
  at[26] = 'Z';
  out.commit(27);
}

void LineFormatter::append_json(Buffer& out, const log::Record& record) {
  out.append("{\"time\":\"");
  append_time(out, record.wall_ns());
  out.append("\",\"level\":\"");
  out.append(log::to_string(record.level()));
  out.append("\",\"component\":\"");
  out.append(record.component());  // Nothing in a Name wants escaping.
  out.append("\",\"message\":");
  append_quoted(out, record.message(), format_);
  record.for_each([&out](const FieldView& field) { append_field(out, field, LineFormat::Json); });
  if (record.level() >= source_level_) {
    out.append(",\"source\":\"");
    append_source(out, record.where());
    out.push_back('"');
  }
  if (const log::TraceId trace = record.trace()) {
    out.append(",\"trace\":\"");
    append_trace(out, trace);
    out.push_back('"');
  }
  out.append("}\n");
}

void LineFormatter::append_text(Buffer& out, const log::Record& record) {
  static constexpr std::string_view levels[] = {" TRACE ", " DEBUG ", " INFO  ", " WARN  ", " ERROR ", " FATAL "};
  append_time(out, record.wall_ns());
  out.append(levels[static_cast<std::size_t>(record.level())]);
  out.append(record.component());
  out.append(": ");
  append_escaped(out, record.message(), format_);
  record.for_each([&out](const FieldView& field) { append_field(out, field, LineFormat::Text); });
  if (record.level() >= source_level_) {
    out.append(" source=");
    append_source(out, record.where());
  }
  if (const log::TraceId trace = record.trace()) {
    out.append(" trace=");
    append_trace(out, trace);
  }
  out.push_back('\n');
}

}  // namespace keel::app
