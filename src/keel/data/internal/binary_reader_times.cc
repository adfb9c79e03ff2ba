// Reads the values of a binary::Reader that are written differently in each format: Timestamp and Uuid.

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "keel/data/binary_reader.h"
#include "keel/data/internal/binary_heads.h"

namespace keel::binary {
namespace {

using internal::Head;
using internal::Token;

constexpr std::uint64_t tag_text_time = 0;
constexpr std::uint64_t tag_time = 1;
constexpr std::uint64_t tag_uuid = 37;

}  // namespace

// Reads a time in seconds; its tag has already been read, and begins at `begin`.
template <class Format>
Timestamp Reader<Format>::seconds(const char* begin) {
  const Kind kind = peek();
  Head head;
  if (kind == Kind::Number) Format::take(at_, end_, head);
  const bool is_real = kind == Kind::Number && head.token == Token::Real;
  const double real = is_real ? number() : 0;
  const double floor = std::floor(real);
  std::int64_t whole = 0;
  if (kind == Kind::Number && !is_real) {
    bool is_negative = false;
    std::uint64_t magnitude = 0;
    integer(is_negative, magnitude, nullptr);
    constexpr std::int64_t beyond = std::numeric_limits<std::int64_t>::max();
    whole = magnitude < std::uint64_t{beyond} ? static_cast<std::int64_t>(magnitude) : beyond;
    if (is_negative) whole = -1 - whole;
  }
  value_ = begin;
  if (failed()) return {};
  constexpr std::int64_t first = Timestamp::first().unix_seconds();
  constexpr std::int64_t last = Timestamp::last().unix_seconds();
  if (kind != Kind::Number ||
      (is_real && !(floor >= static_cast<double>(first) && floor <= static_cast<double>(last))) || whole < first ||
      whole > last) {
    mismatch(kind == Kind::Number ? "number out of range" : Timestamp::expected, "format");
    return {};
  }
  if (!is_real) return Timestamp::from_unix_seconds(whole);
  return Timestamp::from_unix_seconds(static_cast<std::int64_t>(floor)) +
         Duration::nanoseconds(static_cast<std::int64_t>(std::llround((real - floor) * 1e9)));
}

// Reads a timestamp of MessagePack; its head has already been read, and ends at `behind`.
template <class Format>
Timestamp Reader<Format>::extension_time(std::uint64_t size, const char* behind) {
  if (size > static_cast<std::uint64_t>(end_ - behind)) {
    malformed("a length is larger than the bytes that follow");
    return {};
  }
  std::int64_t seconds = 0;
  std::uint32_t ns = 0;
  if (size == 4) {
    seconds = internal::big_endian<std::uint32_t>(behind);
  } else if (size == 8) {
    const auto both = internal::big_endian<std::uint64_t>(behind);
    seconds = static_cast<std::int64_t>(both & 0x3'FFFF'FFFF);
    ns = static_cast<std::uint32_t>(both >> 34);
  } else if (size == 12) {
    ns = internal::big_endian<std::uint32_t>(behind);
    seconds = static_cast<std::int64_t>(internal::big_endian<std::uint64_t>(behind + 4));
  } else {
    mismatch(Timestamp::expected, "format");
    return {};
  }
  if (ns > 999'999'999 || seconds < Timestamp::first().unix_seconds() || seconds > Timestamp::last().unix_seconds()) {
    mismatch("number out of range", "format");
    return {};
  }
  at_ = behind + size;
  return Timestamp::from_unix_seconds(seconds) + Duration::nanoseconds(ns);
}

template <class Format>
Timestamp Reader<Format>::timestamp() {
  if (!is_due()) return {};
  const char* const begin = at_;
  Head head;
  const char* const behind = Format::take(at_, end_, head);
  if (behind != nullptr && head.token == Token::Extension && head.extension == -1) {
    return extension_time(head.number, behind);
  }
  if (behind != nullptr && head.token == Token::Tag) {
    if (head.number == tag_time || head.number == tag_text_time) at_ = behind;
    if (head.number == tag_time) return seconds(begin);
  }
  const Kind kind = peek();
  std::string_view text;
  if (kind == Kind::String) text = string();
  value_ = begin;
  if (failed()) return {};
  const Result<Timestamp> time = Timestamp::parse(text);
  if (time) return *time;
  mismatch(Timestamp::expected, "format");
  return {};
}

template <class Format>
Uuid Reader<Format>::uuid() {
  if (!is_due()) return {};
  Head head;
  const char* const begin = at_;
  const char* const behind = Format::take(at_, end_, head);
  if (behind != nullptr && head.token == Token::Tag && head.number == tag_uuid) at_ = behind;
  const Kind kind = peek();
  value_ = begin;
  if (failed()) return {};
  if (kind == Kind::String && at_ == begin) return value<Uuid>();
  if (kind == Kind::Bytes) {
    const std::span<const std::byte> bytes = this->bytes();
    value_ = begin;
    if (failed()) return {};
    if (bytes.size() == 16) {
      std::array<std::byte, 16> id;
      std::memcpy(id.data(), bytes.data(), 16);
      return Uuid(id);
    }
  }
  mismatch(Uuid::expected, "format");
  return {};
}

template Timestamp Reader<Cbor>::seconds(const char* begin);
template Timestamp Reader<MessagePack>::seconds(const char* begin);
template Timestamp Reader<Cbor>::extension_time(std::uint64_t size, const char* behind);
template Timestamp Reader<MessagePack>::extension_time(std::uint64_t size, const char* behind);
template Timestamp Reader<Cbor>::timestamp();
template Timestamp Reader<MessagePack>::timestamp();
template Uuid Reader<Cbor>::uuid();
template Uuid Reader<MessagePack>::uuid();

}  // namespace keel::binary
