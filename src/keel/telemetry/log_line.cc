#include "keel/telemetry/log_line.h"

// This file includes format.h instead of core.h: GCC and Clang give different names to a function that format_to_n of
// core.h calls, and the library has only one of these names.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string_view>

#include "keel/base/hex.h"
#include "keel/base/printable.h"
#include "keel/base/scan.h"

namespace keel::telemetry {
namespace {

using log::FieldKind;
using log::FieldView;

// Printable ASCII that has no special meaning in either format.
constexpr std::array<bool, 256> plain = [] {
  std::array<bool, 256> table{};
  for (int c = 0x20; c < 0x7f; ++c) table[static_cast<std::size_t>(c)] = c != '"' && c != '\\';
  return table;
}();

constexpr std::uint64_t ones = 0x0101010101010101;

// Sets the upper bit of each byte that is below 0x20, above 0x7e, a quote or a backslash; may also set the upper bit of
// plain bytes that follow one of these bytes.
constexpr std::uint64_t odd(std::uint64_t word) noexcept {
  return (word | (word - 0x20 * ones) | (word + ones) | ((word ^ '"' * ones) - ones) | ((word ^ '\\' * ones) - ones)) &
         0x80 * ones;
}

// Whether all bytes of `text` are plain, as in nearly every line.
bool is_plain(std::string_view text) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  if (text.size() < 8) return std::all_of(at, end, [](char c) { return plain[static_cast<unsigned char>(c)]; });
  for (; end - at > 8; at += 8) {
    if (odd(scan::load64(at)) != 0) return false;
  }
  return odd(scan::load64(end - 8)) == 0;
}

// `text` is the text of a field; the bytes after it, up to the next multiple of eight, may be read.
bool is_plain_field(std::string_view text) noexcept {
  if (text.size() >= 8 || text.empty()) return is_plain(text);
  const std::uint64_t behind = ~std::uint64_t{0} << 8 * text.size();
  return odd((scan::load64(text.data()) & ~behind) | ('a' * ones & behind)) == 0;
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
    const CodePoint decoded = first_code_point(text);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out.append(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
    } else if (decoded.bytes == 0) {
      if (format == LineFormat::Json) {
        out.append("\\ufffd");  // JSON cannot represent an arbitrary byte.
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

constexpr std::size_t number_bytes_max = 32;
// The largest size of a field, and the largest size of a line; neither size includes texts. The size of a field
// includes its key and a number. The size of a line includes the time, the marks, the trace, and the bytes that are
// written past the end of a text, because texts are copied in blocks.
constexpr std::size_t field_bytes_max = 80 + number_bytes_max;
constexpr std::size_t line_bytes_max = 384;

// The two digits of each number from 0 to 99.
constexpr std::array<char, 200> pairs = [] {
  std::array<char, 200> table{};
  for (std::size_t i = 0; i < 100; ++i) {
    table[2 * i] = static_cast<char>('0' + i / 10);
    table[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return table;
}();

char* put_pair(char* at, std::uint32_t value) noexcept {
  std::memcpy(at, &pairs[2 * value], 2);
  return at + 2;
}

char* put_digit(char* at, std::uint32_t value) noexcept {
  *at = static_cast<char>('0' + value);
  return at + 1;
}

template <class T>
char* put_number(char* at, T value) noexcept {
  return std::to_chars(at, at + number_bytes_max, value).ptr;
}

char* put_unsigned(char* at, std::uint64_t value) noexcept {
  const auto small = static_cast<std::uint32_t>(value);
  if (value < 10) return put_digit(at, small);
  if (value < 100) return put_pair(at, small);
  if (value < 1000) return put_pair(put_digit(at, small / 100), small % 100);
  return put_number(at, value);
}

template <std::size_t N>
char* put(char* at, const char (&text)[N]) noexcept {
  std::memcpy(at, text, N - 1);
  return at + N - 1;
}

char* put_seconds(char* at, std::int64_t ns) noexcept {
  const std::uint64_t size = ns < 0 ? -static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  if (ns < 0) *at++ = '-';
  at = put_unsigned(at, size / 1'000'000'000);
  const auto fraction = static_cast<std::uint32_t>(size % 1'000'000'000);
  if (fraction == 0) return at;
  *at++ = '.';
  at = put_digit(at, fraction / 100'000'000);
  at = put_pair(at, fraction / 1'000'000 % 100);
  at = put_pair(at, fraction / 10'000 % 100);
  at = put_pair(at, fraction / 100 % 100);
  at = put_pair(at, fraction % 100);
  while (at[-1] == '0') --at;
  return at;
}

// In Text, quotes are used only where the end of a value would be ambiguous.
bool is_bare(std::string_view text) noexcept {
  return !text.empty() && std::none_of(text.begin(), text.end(), [](char c) { return c == ' ' || c == '='; });
}

void append_quoted(Buffer& out, std::string_view text, LineFormat format) {
  out.push_back('"');
  append_escaped(out, text, format);
  out.push_back('"');
}

void append_key(Buffer& out, std::string_view name, std::string_view suffix, LineFormat format) {
  out.append(format == LineFormat::Json ? ",\"" : " ");
  out.append(name);
  out.append(suffix);
  out.append(format == LineFormat::Json ? "\":" : "=");
}

// Appends a value that is a text with escapes or quotes, or an error; an error also adds a second field. The key must
// have been appended before.
void append_text_value(Buffer& out, const FieldView& field, LineFormat format) {
  if (field.kind == FieldKind::String) return append_quoted(out, field.text, format);
  out.push_back('"');
  append_escaped(out, field.text, format);
  if (field.errno_value != 0) {
    char text[128];
    out.append(": ");
    append_escaped(out, strerror_r(field.errno_value, text, sizeof text), format);
  }
  out.push_back('"');
  append_key(out, field.name, "_code", format);
  const std::string_view code = to_string(field.code);
  if (format == LineFormat::Text && is_bare(code)) return out.append(code);
  append_quoted(out, code, format);
}

void append_source(Buffer& out, const std::source_location& where) {
  std::string_view file = where.file_name();
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  out.append(file);
  out.push_back(':');
  char text[number_bytes_max];
  out.append({text, static_cast<std::size_t>(put_number(text, where.line()) - text)});
}

// Appends the part of a line before the fields: time, level, component, message.
void append_opening(Buffer& out, const log::Record& record, LineFormat format) {
  if (format == LineFormat::Json) {
    out.append("\",\"level\":\"");
    out.append(log::to_string(record.level()));
    out.append("\",\"component\":\"");
    out.append(record.component());  // A Name contains no character that needs an escape.
    out.append("\",\"message\":");
    append_quoted(out, record.message(), format);
  } else {
    static constexpr std::string_view levels[] = {" TRACE ", " DEBUG ", " INFO  ", " WARN  ", " ERROR ", " FATAL "};
    out.append(levels[static_cast<std::size_t>(record.level())]);
    out.append(record.component());
    out.append(": ");
    append_escaped(out, record.message(), format);
  }
}

}  // namespace

[[gnu::cold]] const LineFormatter::Key& LineFormatter::keep_key(const FieldView& field) {
  Buffer made;
  append_key(made, field.name, {}, format_);
  if (field.kind == FieldKind::String && format_ == LineFormat::Json) made.push_back('"');
  Key& key = keys_.place(field.key);
  key.bytes = static_cast<std::uint8_t>(made.size());
  std::memcpy(key.text, made.data(), made.size());
  return key;
}

// The text before the value; in JSON it includes the opening quote if the value is a text.
[[gnu::always_inline]] inline const LineFormatter::Key& LineFormatter::key_of(const FieldView& field) {
  const Key* const key = keys_.find(field.key, [](const Key&) { return true; });
  return key != nullptr ? *key : keep_key(field);
}

// Null for a text that is too long to be kept.
[[gnu::cold]] const LineFormatter::Opening* LineFormatter::keep_opening(std::uint64_t id, const log::Record& record) {
  Buffer made;
  append_opening(made, record, format_);
  if (made.size() > sizeof Opening::text) return nullptr;
  Opening& opening = openings_.place(id);
  opening.component = record.component().data();
  opening.level = record.level();
  opening.bytes = static_cast<std::uint8_t>(made.size());
  std::memcpy(opening.text, made.data(), made.size());
  return &opening;
}

[[gnu::always_inline]] inline const LineFormatter::Opening* LineFormatter::opening_of(const log::Record& record) {
  const std::string_view message = record.message();
  const std::uint64_t id = reinterpret_cast<std::uintptr_t>(message.data()) << 16 | (message.size() & 0xffff);
  const char* const component = record.component().data();
  const Level level = record.level();
  const Opening* const opening =
      openings_.find(id, [&](const Opening& kept) { return kept.component == component && kept.level == level; });
  return opening != nullptr ? opening : keep_opening(id, record);
}

char* LineFormatter::put_time(char* at, std::int64_t wall_ns) {
  std::int64_t second = wall_ns / 1'000'000'000;
  std::int64_t rest = wall_ns % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --second;
  }
  if (second != second_) [[unlikely]] {
    const time_t time = second;
    tm parts{};
    gmtime_r(&time, &parts);
    *fmt::format_to_n(second_text_, sizeof second_text_ - 1, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
                      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec)
         .out = '\0';
    second_ = second;
  }
  std::memcpy(at, second_text_, 19);
  at[19] = '.';
  const auto micros = static_cast<std::uint32_t>(rest) / 1000;
  at = put_pair(at + 20, micros / 10'000);
  at = put_pair(at, micros / 100 % 100);
  at = put_pair(at, micros % 100);
  *at = 'Z';
  return at + 1;
}

void LineFormatter::append(Buffer& out, const log::Record& record) {
  const bool is_json = format_ == LineFormat::Json;
  const std::size_t room =
      line_bytes_max + record.bytes() + static_cast<std::size_t>(record.field_count()) * field_bytes_max;
  char* at = out.reserve(room);
  // Values without a maximum size are appended separately.
  const auto aside = [&](auto&& append_it) {
    out.resize(static_cast<std::size_t>(at - out.data()));
    append_it();
    at = out.reserve(room);
  };
  if (is_json) at = put(at, "{\"time\":\"");
  at = put_time(at, record.wall_ns());
  if (const Opening* const opening = opening_of(record)) [[likely]] {
    copy_short(at, opening->text, opening->bytes);
    at += opening->bytes;
  } else {
    aside([&] { append_opening(out, record, format_); });
  }
  record.for_each([&](const FieldView& field) {
    const Key& key = key_of(field);
    std::memcpy(at, key.text, 16);
    if (key.bytes > 16) std::memcpy(at + 16, key.text + 16, sizeof key.text - 16);
    at += key.bytes;
    switch (field.kind) {
      case FieldKind::Bool:
        at = field.word != 0 ? put(at, "true") : put(at, "false");
        break;
      case FieldKind::Int:
        at = static_cast<std::int64_t>(field.word) < 0 ? put_number(at, static_cast<std::int64_t>(field.word))
                                                       : put_unsigned(at, field.word);
        break;
      case FieldKind::Uint:
        at = put_unsigned(at, field.word);
        break;
      case FieldKind::Double:
        at = std::isfinite(field.number) ? put_number(at, field.number) : put(at, "null");
        break;
      case FieldKind::Duration:
        at = put_seconds(at, static_cast<std::int64_t>(field.word));
        break;
      case FieldKind::String:
        if (is_plain_field(field.text) && (is_json || is_bare(field.text))) [[likely]] {
          if (field.text.size() > 8) {
            copy_short(at, field.text.data(), field.text.size());
          } else if (!field.text.empty()) {
            std::memcpy(at, field.text.data(), 8);
          }
          at += field.text.size();
          if (is_json) *at++ = '"';
          break;
        }
        if (is_json) --at;
        [[fallthrough]];
      case FieldKind::Error:
        // Takes a copy, so that the field stays in registers.
        aside([this, &out, copy = field] { append_text_value(out, copy, format_); });
        break;
    }
  });
  if (record.level() >= source_level_) {
    aside([&] {
      out.append(is_json ? ",\"source\":\"" : " source=");
      append_source(out, record.where());
      if (is_json) out.push_back('"');
    });
  }
  if (const log::TraceId trace = record.trace()) {
    at = is_json ? put(at, ",\"trace\":\"") : put(at, " trace=");
    at = write_hex(write_hex(at, trace.high), trace.low);
    if (is_json) *at++ = '"';
  }
  if (is_json) *at++ = '}';
  *at++ = '\n';
  out.resize(static_cast<std::size_t>(at - out.data()));
}

}  // namespace keel::telemetry
