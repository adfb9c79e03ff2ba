#include "keel/data/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "keel/base/ascii.h"
#include "keel/base/bug.h"
#include "keel/data/base64.h"
#include "keel/data/internal/json_text.h"
#include "keel/data/utf8.h"

namespace keel::json {

using internal::plain_run;
using internal::put;

namespace {

// Writes a number with up to four decimals, in the form that people usually write: 36, 97.25, -1200.5. Returns null,
// and writes nothing, if the number has another form. The result is the shortest text, and is equal to that of
// std::to_chars: a number with this few digits has no other text of the same length that reads as the same double, and
// no shorter text with an exponent.
char* put_short_number(char* to, double value) noexcept {
  const double size = std::fabs(value);
  if (!(size >= 0.01 && size < 1e9)) return nullptr;
  const auto scaled = static_cast<std::int64_t>(size * 1e4 + 0.5);
  if (static_cast<double>(scaled) / 1e4 != size) return nullptr;
  const std::int64_t whole = scaled / 10'000;
  auto fraction = static_cast<unsigned>(scaled % 10'000);
  // If the number ends with zeros, a text with an exponent may be shorter.
  if (fraction == 0 && whole >= 100'000) return nullptr;
  *to = '-';
  to += value < 0 ? 1 : 0;
  to = std::to_chars(to, to + 20, whole).ptr;
  if (fraction == 0) return to;
  *to++ = '.';
  int digits = 4;
  for (; fraction % 10 == 0; --digits) fraction /= 10;
  for (int i = digits - 1; i >= 0; --i, fraction /= 10) to[i] = static_cast<char>('0' + fraction % 10);
  return to + digits;
}

}  // namespace

char* internal::put_number(char* to, double value) noexcept {
  if (!std::isfinite(value)) return put(to, "null");
  char* const end = put_short_number(to, value);
  return end != nullptr ? end : std::to_chars(to, to + 32, value).ptr;
}

char* Writer::open(std::size_t bytes) {
  KEEL_DEXPECT(depth_ > 0 || place_ == Place::First, "a second value is written, but a JSON text can contain only one");
  const bool comma = place_ == Place::Next;
  place_ = Place::Next;
  char* to = out_.reserve(bytes + 1);
  if (comma) *to++ = ',';
  return to;
}

Writer& Writer::begin(char bracket) {
  char* to = open(1);
  *to++ = bracket;
  close(to);
  ++depth_;
  place_ = Place::First;
  return *this;
}

Writer& Writer::end(char bracket) {
  KEEL_DEXPECT(depth_ > 0 && place_ != Place::Value,
               "a JSON object or array is ended before it was begun, or directly after a key");
  --depth_;
  out_.push_back(bracket);
  place_ = Place::Next;
  return *this;
}

Writer& Writer::key(std::string_view name) {
  KEEL_DEXPECT(depth_ > 0 && place_ != Place::Value,
               "a JSON key is written outside of an object, or directly after a key");
  string(name);
  out_.push_back(':');
  place_ = Place::Value;
  return *this;
}

Writer& Writer::quoted_key(std::string_view key) {
  KEEL_DEXPECT(depth_ > 0 && place_ != Place::Value,
               "a JSON key is written outside of an object, or directly after a key");
  close(put(open(key.size()), key));
  place_ = Place::Value;
  return *this;
}

Writer& Writer::string(std::string_view text) {
  const std::size_t clean = plain_run(text.data(), text.size());
  if (clean != text.size()) [[unlikely]] {
    close(open(0));
    quote_slow(text, clean);
    return *this;
  }
  char* to = open(text.size() + 2);
  *to++ = '"';
  to = put(to, text);
  *to++ = '"';
  close(to);
  return *this;
}

void Writer::quote_slow(std::string_view text, std::size_t clean) {
  const char* at = text.data();
  const char* const end = at + text.size();
  out_.push_back('"');
  for (;;) {
    out_.append({at, clean});
    at += clean;
    if (at == end) break;
    const auto byte = static_cast<std::uint8_t>(*at);
    if (byte >= 0x80) {
      const char* const first = at;
      int length = 0;
      while (at != end && static_cast<std::uint8_t>(*at) >= 0x80 && (length = utf8::sequence_length(at, end)) != 0) {
        at += length;
      }
      out_.append({first, at});
      if (length == 0) {
        out_.append(utf8::replacement);
        ++at;
      }
    } else {
      char* to = out_.reserve(6);
      *to++ = '\\';
      switch (byte) {
        case '"':
        case '\\':
          *to++ = *at;
          break;
        case '\b':
          *to++ = 'b';
          break;
        case '\f':
          *to++ = 'f';
          break;
        case '\n':
          *to++ = 'n';
          break;
        case '\r':
          *to++ = 'r';
          break;
        case '\t':
          *to++ = 't';
          break;
        default:
          to = put(to, "u00");
          *to++ = ascii::hex_lower[byte >> 4];
          *to++ = ascii::hex_lower[byte & 15];
      }
      close(to);
      ++at;
    }
    clean = plain_run(at, static_cast<std::size_t>(end - at));
  }
  out_.push_back('"');
}

Writer& Writer::base64(std::span<const std::byte> bytes) {
  char* to = open(keel::base64::encoded_size(bytes.size(), keel::base64::Form::Standard) + 2);
  *to++ = '"';
  to = keel::base64::encode(to, bytes, keel::base64::Form::Standard);
  *to++ = '"';
  close(to);
  return *this;
}

Writer& Writer::integer(std::int64_t value) {
  char* to = open(20);
  close(std::to_chars(to, to + 20, value).ptr);
  return *this;
}

Writer& Writer::unsigned_integer(std::uint64_t value) {
  char* to = open(20);
  close(std::to_chars(to, to + 20, value).ptr);
  return *this;
}

Writer& Writer::number(double value) {
  close(internal::put_number(open(32), value));
  return *this;
}

Writer& Writer::raw(std::string_view json) {
  close(put(open(json.size()), json));
  return *this;
}

}  // namespace keel::json
