#include "keel/data/base64.h"

#include <array>
#include <cstdio>

namespace keel::base64 {
namespace {

constexpr bool is_url(Form form) noexcept { return form == Form::Url || form == Form::UrlPadded; }
constexpr bool is_padded(Form form) noexcept { return form == Form::Standard || form == Form::UrlPadded; }

constexpr char standard_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr char url_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::uint8_t none = 0xff;

consteval std::array<std::uint8_t, 256> values_of(const char* digits) {
  std::array<std::uint8_t, 256> values;
  values.fill(none);
  for (std::uint8_t i = 0; i < 64; ++i) values[static_cast<unsigned char>(digits[i])] = i;
  return values;
}
constexpr std::array<std::uint8_t, 256> standard_values = values_of(standard_digits);
constexpr std::array<std::uint8_t, 256> url_values = values_of(url_digits);

Error wrong(std::size_t at, const char* what) noexcept {
  char text[128];
  const int size = std::snprintf(text, sizeof text, "base64: byte %zu %s", at, what);
  return Error::text(Code::InvalidArgument, {text, static_cast<std::size_t>(size)});
}

std::string_view without_padding(std::string_view text) noexcept {
  if (text.size() % 4 != 0) return text;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  return text;
}

}  // namespace

std::size_t encoded_size(std::size_t bytes, Form form) noexcept {
  if (is_padded(form)) return (bytes / 3 + (bytes % 3 != 0 ? 1 : 0)) * 4;
  return bytes / 3 * 4 + (bytes % 3 != 0 ? bytes % 3 + 1 : 0);
}

std::size_t decoded_size(std::string_view text) noexcept {
  const std::size_t digits = without_padding(text).size();
  return digits / 4 * 3 + (digits % 4) * 3 / 4;
}

char* encode(char* to, std::span<const std::byte> bytes, Form form) noexcept {
  const char* const digits = is_url(form) ? url_digits : standard_digits;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  for (; left >= 3; left -= 3, at += 3, to += 4) {
    const std::uint32_t word = std::uint32_t{at[0]} << 16 | std::uint32_t{at[1]} << 8 | at[2];
    to[0] = digits[word >> 18];
    to[1] = digits[word >> 12 & 63];
    to[2] = digits[word >> 6 & 63];
    to[3] = digits[word & 63];
  }
  if (left == 0) return to;
  const std::uint32_t word = std::uint32_t{at[0]} << 16 | (left == 2 ? std::uint32_t{at[1]} << 8 : 0);
  *to++ = digits[word >> 18];
  *to++ = digits[word >> 12 & 63];
  if (left == 2) *to++ = digits[word >> 6 & 63];
  if (!is_padded(form)) return to;
  if (left == 1) *to++ = '=';
  *to++ = '=';
  return to;
}

void encode(Buffer& to, std::span<const std::byte> bytes, Form form) {
  const std::size_t size = encoded_size(bytes.size(), form);
  encode(to.reserve(size), bytes, form);
  to.commit(size);
}

std::string encode(std::span<const std::byte> bytes, Form form) {
  std::string text(encoded_size(bytes.size(), form), '\0');
  encode(text.data(), bytes, form);
  return text;
}

std::string encode(std::string_view bytes, Form form) {
  return encode(std::as_bytes(std::span(bytes.data(), bytes.size())), form);
}

Result<std::size_t> decode(std::string_view text, std::span<std::byte> out, Form form) noexcept {
  const std::array<std::uint8_t, 256>& values = is_url(form) ? url_values : standard_values;
  const std::string_view digits = is_padded(form) ? without_padding(text) : text;
  const std::size_t size = decoded_size(digits);
  if (out.size() < size) return fail(Code::ResourceExhausted, "base64: the output is too small for the decoded bytes");
  const auto value = [&](std::size_t at) { return std::uint32_t{values[static_cast<unsigned char>(digits[at])]}; };
  const auto first_wrong = [&](std::size_t from) {
    while (value(from) != none) ++from;
    return wrong(from,
                 digits[from] == '=' ? "is padding, which is not allowed at this position" : "is not in the alphabet");
  };

  std::byte* to = out.data();
  const std::size_t whole = digits.size() / 4 * 4;
  for (std::size_t at = 0; at < whole; at += 4, to += 3) {
    const std::uint32_t a = value(at);
    const std::uint32_t b = value(at + 1);
    const std::uint32_t c = value(at + 2);
    const std::uint32_t d = value(at + 3);
    if (((a | b | c | d) & 0xc0) != 0) [[unlikely]]
      return first_wrong(at);
    const std::uint32_t word = a << 18 | b << 12 | c << 6 | d;
    to[0] = static_cast<std::byte>(word >> 16);
    to[1] = static_cast<std::byte>(word >> 8);
    to[2] = static_cast<std::byte>(word);
  }
  const std::size_t rest = digits.size() - whole;
  for (std::size_t at = whole; at < digits.size(); ++at) {
    if (value(at) == none) return first_wrong(at);
  }
  if (rest == 1)
    return wrong(digits.size(),
                 "is missing: the last group has one character, which holds only 6 of the 8 bits of a byte");
  if (is_padded(form) && text.size() % 4 != 0) return wrong(text.size(), "is missing: this form must end with padding");
  if (rest == 0) return size;
  const std::uint32_t word = value(whole) << 18 | value(whole + 1) << 12 | (rest == 3 ? value(whole + 2) << 6 : 0);
  if ((word & (rest == 3 ? 0xff : 0xffff)) != 0) {
    return wrong(digits.size() - 1, "has bits that go beyond the last byte; these must be zero");
  }
  to[0] = static_cast<std::byte>(word >> 16);
  if (rest == 3) to[1] = static_cast<std::byte>(word >> 8);
  return size;
}

Result<std::size_t> decode(std::string_view text, Buffer& out, Form form) {
  const std::size_t room = decoded_size(text);
  auto* const to = reinterpret_cast<std::byte*>(out.reserve(room));
  KEEL_TRY(const std::size_t size, decode(text, std::span(to, room), form));
  out.commit(size);
  return size;
}

Result<std::string> decode(std::string_view text, Form form) {
  std::string bytes(decoded_size(text), '\0');
  KEEL_TRY(const std::size_t size, decode(text, std::as_writable_bytes(std::span(bytes.data(), bytes.size())), form));
  bytes.resize(size);
  return bytes;
}

}  // namespace keel::base64
