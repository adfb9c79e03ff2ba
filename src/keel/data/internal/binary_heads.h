// Reads and writes the first bytes of a value of CBOR or MessagePack: its kind, and its number, length or count.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "keel/data/binary_reader.h"

namespace keel::binary {
namespace internal {

enum class Token : std::uint8_t {
  Unsigned,
  Negative,  // The value is -1 - `number`.
  Bytes,     // `number` bytes follow; the same holds for Text and Extension.
  Text,
  Array,  // `number` elements follow.
  Map,    // `number` pairs follow.
  Tag,
  Extension,  // An extension of MessagePack; its type is stored in `extension`.
  Boolean,
  Null,
  Real,    // `number` contains the bits of a double.
  Simple,  // Any other simple value of CBOR.
  Break,
};

struct Head {
  Token token = Token::Null;
  std::uint64_t number = 0;
  std::int8_t extension = 0;
};
inline constexpr std::uint64_t unknown_count = ~std::uint64_t{0};

template <class T>
[[gnu::always_inline]] inline T big_endian(const char* at) noexcept {
  T value = 0;
  std::memcpy(&value, at, sizeof value);
  if constexpr (std::endian::native == std::endian::little && sizeof value > 1) {
    if constexpr (sizeof value == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof value == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof value == 8) value = __builtin_bswap64(value);
  }
  return value;
}
template <class T>
[[gnu::always_inline]] inline char* put_big_endian(char* at, T value) noexcept {
  if constexpr (std::endian::native == std::endian::little && sizeof value > 1) {
    if constexpr (sizeof value == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof value == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof value == 8) value = __builtin_bswap64(value);
  }
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

inline std::uint64_t bits_of(double value) noexcept { return std::bit_cast<std::uint64_t>(value); }
// IEEE 754 binary16.
inline double half(std::uint16_t bits) noexcept {
  const auto sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const auto exponent = static_cast<std::uint32_t>(bits >> 10 & 31);
  const auto fraction = static_cast<std::uint32_t>(bits & 1023);
  if (exponent == 0) return (sign != 0 ? -0x1p-24 : 0x1p-24) * fraction;
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace internal

// `take` returns the end of the head that begins at `at`; null if the bytes end within the head, or if the head is
// invalid. `at` must be before `end`. `put` writes a head of at most 9 bytes in its shortest form, and returns the end
// of the head.
struct Cbor {
  static constexpr std::string_view name = "CBOR";
  static constexpr bool has_indefinite = true;

  [[gnu::always_inline]] static const char* take(const char* at, const char* end, internal::Head& head) noexcept {
    const auto first = static_cast<std::uint8_t>(*at);
    const unsigned low = first & 31;
    if (first >> 5 == 7) return take_long(at, end, head);
    head.token = static_cast<internal::Token>(first >> 5);
    head.number = low;
    if (low < 24) return at + 1;
    if (low > 27 || end - at < 9) return take_long(at, end, head);
    head.number = internal::big_endian<std::uint64_t>(at + 1) >> (64 - (8 << (low - 24)));
    return head.number == internal::unknown_count ? take_long(at, end, head) : at + 1 + (1 << (low - 24));
  }

  // Returns the end of the value at `at` if the value is a number, true, false or nil; otherwise null. At least nine
  // bytes must be readable.
  [[gnu::always_inline]] static const char* pass_number(const char* at, unsigned first) noexcept {
    if (first < 0x40) {
      const unsigned low = first & 31;
      return low < 24 ? at + 1 : low <= 27 ? at + 1 + (1u << (low - 24)) : nullptr;
    }
    if (first < 0xF4 || first == 0xF8 || first > 0xFB) return nullptr;
    return first < 0xF8 ? at + 1 : at + 1 + (1u << (first - 0xF8));
  }

  // Reads an integer that is encoded in its shortest form and fits into an int64; returns null for any other value. At
  // least nine bytes must be readable.
  [[gnu::always_inline]] static const char* take_count(const char* at, std::uint64_t& number) noexcept {
    const auto first = static_cast<std::uint8_t>(*at);
    const unsigned low = first & 31;
    if (first > 0x3A) return nullptr;
    // A mask in which either all bits are set, or none.
    const std::uint64_t sign = -static_cast<std::uint64_t>(first >> 5);
    if (low < 24) {
      number = low ^ sign;
      return at + 1;
    }
    if (low > 26) return nullptr;
    const std::size_t size = std::size_t{1} << (low - 24);
    number = internal::big_endian<std::uint64_t>(at + 1) >> (64 - 8 * size) ^ sign;
    return at + 1 + size;
  }

  static char* put(char* at, internal::Token token, std::uint64_t number) noexcept {
    const auto major = static_cast<unsigned>(token) << 5;
    if (number < 24) {
      *at = static_cast<char>(major | number);
      return at + 1;
    }
    if (number <= 0xFF) {
      *at = static_cast<char>(major | 24);
      at[1] = static_cast<char>(number);
      return at + 2;
    }
    if (number <= 0xFFFF) {
      *at = static_cast<char>(major | 25);
      return internal::put_big_endian(at + 1, static_cast<std::uint16_t>(number));
    }
    if (number <= 0xFFFF'FFFF) {
      *at = static_cast<char>(major | 26);
      return internal::put_big_endian(at + 1, static_cast<std::uint32_t>(number));
    }
    *at = static_cast<char>(major | 27);
    return internal::put_big_endian(at + 1, number);
  }
  static constexpr char false_byte = '\xF4';
  static constexpr char true_byte = '\xF5';
  static constexpr char null_byte = '\xF6';
  static constexpr char double_byte = '\xFB';
  // For each kind of value: the first byte of an empty value, and the number N for which the lengths or counts from 0
  // to N - 1 have a head of one byte.
  static constexpr unsigned text_byte = 0x60;
  static constexpr unsigned text_heads = 24;
  static constexpr unsigned array_byte = 0x80;
  static constexpr unsigned map_byte = 0xA0;
  static constexpr unsigned container_heads = 24;

  // Writes the head of a text that is a compile-time name.
  static constexpr std::size_t put_name(std::size_t size, char* to) noexcept {
    if (size < 24) {
      to[0] = static_cast<char>(0x60 + size);
      return 1;
    }
    to[0] = '\x78';
    to[1] = static_cast<char>(size);
    return 2;
  }
  static constexpr std::size_t name_bytes_max = 255;

 private:
  // The major types of CBOR have the same numbers as the tokens.
  static_assert(static_cast<int>(internal::Token::Unsigned) == 0 && static_cast<int>(internal::Token::Tag) == 6);
  [[gnu::noinline]] static const char* take_long(const char* at, const char* end, internal::Head& head) noexcept {
    using internal::Token;
    const auto first = static_cast<std::uint8_t>(*at++);
    const unsigned low = first & 31;
    std::uint64_t number = low;
    if (low >= 24) {
      if (low > 27) return take_open(first, at, head);
      const auto size = std::ptrdiff_t{1} << (low - 24);
      if (end - at < size) return nullptr;
      if (low == 24) number = static_cast<std::uint8_t>(*at);
      if (low == 25) number = internal::big_endian<std::uint16_t>(at);
      if (low == 26) number = internal::big_endian<std::uint32_t>(at);
      if (low == 27) number = internal::big_endian<std::uint64_t>(at);
      at += size;
    }
    head.token = first >> 5 == 7 ? Token::Simple : static_cast<Token>(first >> 5);
    head.number = number;
    if (first >> 5 == 7) return take_simple(low, at, head);
    // The largest count is rejected, because it stands for an unknown count.
    return number == internal::unknown_count && first >> 5 >= 2 && first >> 5 <= 5 ? nullptr : at;
  }
  static const char* take_simple(unsigned low, const char* at, internal::Head& head) noexcept {
    using internal::Token;
    switch (low) {
      case 20:
      case 21:
        head = {Token::Boolean, low - 20};
        return at;
      case 22:
      case 23:
        head.token = Token::Null;
        return at;
      case 24:
        return head.number < 32 ? nullptr : at;
      case 25:
        head = {Token::Real, internal::bits_of(internal::half(static_cast<std::uint16_t>(head.number)))};
        return at;
      case 26:
        head = {Token::Real, internal::bits_of(std::bit_cast<float>(static_cast<std::uint32_t>(head.number)))};
        return at;
      case 27:
        head.token = Token::Real;
        return at;
      default:
        return at;
    }
  }
  // The values 28 to 30 are reserved; 31 is the stop code ("break"), or begins a value that ends with the stop code.
  static const char* take_open(std::uint8_t first, const char* at, internal::Head& head) noexcept {
    using internal::Token;
    if ((first & 31) != 31) return nullptr;
    switch (first >> 5) {
      case 2:
        head = {Token::Bytes, internal::unknown_count};
        return at;
      case 3:
        head = {Token::Text, internal::unknown_count};
        return at;
      case 4:
        head = {Token::Array, internal::unknown_count};
        return at;
      case 5:
        head = {Token::Map, internal::unknown_count};
        return at;
      case 7:
        head = {Token::Break, 0};
        return at;
      default:
        return nullptr;
    }
  }
};

struct MessagePack {
  static constexpr std::string_view name = "MessagePack";
  static constexpr bool has_indefinite = false;

  [[gnu::always_inline]] static const char* take(const char* at, const char* end, internal::Head& head) noexcept {
    using internal::Token;
    const auto first = static_cast<std::uint8_t>(*at++);
    if (first < 0x80) {
      head = {Token::Unsigned, first};
    } else if (first < 0x90) {
      head = {Token::Map, first & 15u};
    } else if (first < 0xA0) {
      head = {Token::Array, first & 15u};
    } else if (first < 0xC0) {
      head = {Token::Text, first & 31u};
    } else if (first >= 0xE0) {
      head = {Token::Negative, static_cast<std::uint64_t>(0xFF - first)};
    } else {
      return take_long(first, at, end, head);
    }
    return at;
  }

  [[gnu::always_inline]] static const char* pass_number(const char* at, unsigned first) noexcept {
    if (first < 0x80 || first >= 0xE0 || first == 0xC0 || first == 0xC2 || first == 0xC3) return at + 1;
    if (first < 0xCA || first > 0xD3) return nullptr;
    return at + 1 + (first < 0xCC ? 4u << (first - 0xCA) : 1u << (first & 3));
  }
  [[gnu::always_inline]] static const char* take_count(const char* at, std::uint64_t& number) noexcept {
    const auto first = static_cast<std::uint8_t>(*at);
    if (first < 0x80 || first >= 0xE0) {
      number = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(first)});
      return at + 1;
    }
    if (first < 0xCC || first > 0xCE) return nullptr;
    number = internal::big_endian<std::uint64_t>(at + 1) >> (64 - (8u << (first - 0xCC)));
    return at + 1 + (1u << (first - 0xCC));
  }

  static char* put(char* at, internal::Token token, std::uint64_t number) noexcept {
    using internal::Token;
    switch (token) {
      case Token::Unsigned:
        if (number < 0x80) {
          *at = static_cast<char>(number);
          return at + 1;
        }
        return put_sized(at, number, 0xCC, 0xCD, 0xCE, 0xCF);
      case Token::Negative:
        if (number < 32) {
          *at = static_cast<char>(0xFF - number);
          return at + 1;
        }
        return put_negative(at, number);
      case Token::Text:
        if (number < 32) {
          *at = static_cast<char>(0xA0 | number);
          return at + 1;
        }
        return put_sized(at, number, 0xD9, 0xDA, 0xDB, 0);
      case Token::Bytes:
        return put_sized(at, number, 0xC4, 0xC5, 0xC6, 0);
      case Token::Array:
      case Token::Map: {
        const bool is_map = token == Token::Map;
        if (number < 16) {
          *at = static_cast<char>((is_map ? 0x80u : 0x90u) | number);
          return at + 1;
        }
        if (number <= 0xFFFF) {
          *at = is_map ? '\xDE' : '\xDC';
          return internal::put_big_endian(at + 1, static_cast<std::uint16_t>(number));
        }
        *at = is_map ? '\xDF' : '\xDD';
        return internal::put_big_endian(at + 1, static_cast<std::uint32_t>(number));
      }
      default:
        return at;
    }
  }
  static constexpr char false_byte = '\xC2';
  static constexpr char true_byte = '\xC3';
  static constexpr char null_byte = '\xC0';
  static constexpr char double_byte = '\xCB';
  static constexpr unsigned text_byte = 0xA0;
  static constexpr unsigned text_heads = 32;
  static constexpr unsigned array_byte = 0x90;
  static constexpr unsigned map_byte = 0x80;
  static constexpr unsigned container_heads = 16;

  static constexpr std::size_t put_name(std::size_t size, char* to) noexcept {
    if (size < 32) {
      to[0] = static_cast<char>(0xA0 + size);
      return 1;
    }
    to[0] = '\xD9';
    to[1] = static_cast<char>(size);
    return 2;
  }
  static constexpr std::size_t name_bytes_max = 255;

 private:
  static char* put_sized(char* at, std::uint64_t number, int one, int two, int four, int eight) noexcept {
    if (number <= 0xFF) {
      *at = static_cast<char>(one);
      at[1] = static_cast<char>(number);
      return at + 2;
    }
    if (number <= 0xFFFF) {
      *at = static_cast<char>(two);
      return internal::put_big_endian(at + 1, static_cast<std::uint16_t>(number));
    }
    if (number <= 0xFFFF'FFFF || eight == 0) {
      *at = static_cast<char>(four);
      return internal::put_big_endian(at + 1, static_cast<std::uint32_t>(number));
    }
    *at = static_cast<char>(eight);
    return internal::put_big_endian(at + 1, number);
  }
  static char* put_negative(char* at, std::uint64_t number) noexcept {
    const std::uint64_t bits = ~number;  // -1 - number.
    if (number <= 0x7F) {
      *at = '\xD0';
      at[1] = static_cast<char>(bits);
      return at + 2;
    }
    if (number <= 0x7FFF) {
      *at = '\xD1';
      return internal::put_big_endian(at + 1, static_cast<std::uint16_t>(bits));
    }
    if (number <= 0x7FFF'FFFF) {
      *at = '\xD2';
      return internal::put_big_endian(at + 1, static_cast<std::uint32_t>(bits));
    }
    *at = '\xD3';
    return internal::put_big_endian(at + 1, bits);
  }
  static const char* take_long(std::uint8_t first, const char* at, const char* end, internal::Head& head) noexcept {
    using internal::Token;
    // For each first byte from 0xC0 on: the number of bytes that follow the first byte; 0xFF for a first byte that is
    // never used.
    static constexpr std::uint8_t sizes[32] = {0, 0xFF, 0, 0, 1, 2, 4, 1, 2, 4, 4, 8, 1, 2, 4, 8,
                                               1, 2,    4, 8, 0, 0, 0, 0, 0, 1, 2, 4, 2, 4, 2, 4};
    const std::uint8_t size = sizes[first - 0xC0];
    if (size == 0xFF || end - at < size) return nullptr;
    std::uint64_t number = 0;
    if (size == 1) number = static_cast<std::uint8_t>(*at);
    if (size == 2) number = internal::big_endian<std::uint16_t>(at);
    if (size == 4) number = internal::big_endian<std::uint32_t>(at);
    if (size == 8) number = internal::big_endian<std::uint64_t>(at);
    at += size;
    switch (first) {
      case 0xC0:
        head = {Token::Null, 0};
        return at;
      case 0xC2:
      case 0xC3:
        head = {Token::Boolean, first - 0xC2u};
        return at;
      case 0xC4:
      case 0xC5:
      case 0xC6:
        head = {Token::Bytes, number};
        return at;
      case 0xC7:
      case 0xC8:
      case 0xC9:
        return take_extension(number, at, end, head);
      case 0xCA:
        head = {Token::Real, internal::bits_of(std::bit_cast<float>(static_cast<std::uint32_t>(number)))};
        return at;
      case 0xCB:
        head = {Token::Real, number};
        return at;
      case 0xCC:
      case 0xCD:
      case 0xCE:
      case 0xCF:
        head = {Token::Unsigned, number};
        return at;
      case 0xD0:
      case 0xD1:
      case 0xD2:
      case 0xD3: {
        const int shift = 64 - 8 * size;
        const auto value = static_cast<std::int64_t>(number << shift) >> shift;
        head = value < 0 ? internal::Head{Token::Negative, ~static_cast<std::uint64_t>(value)}
                         : internal::Head{Token::Unsigned, static_cast<std::uint64_t>(value)};
        return at;
      }
      case 0xD4:
      case 0xD5:
      case 0xD6:
      case 0xD7:
      case 0xD8:
        return take_extension(std::uint64_t{1} << (first - 0xD4), at, end, head);
      case 0xD9:
      case 0xDA:
      case 0xDB:
        head = {Token::Text, number};
        return at;
      case 0xDC:
      case 0xDD:
        head = {Token::Array, number};
        return at;
      default:
        head = {Token::Map, number};
        return at;
    }
  }
  static const char* take_extension(std::uint64_t size, const char* at, const char* end,
                                    internal::Head& head) noexcept {
    if (at == end) return nullptr;
    head = {internal::Token::Extension, size, static_cast<std::int8_t>(*at)};
    return at + 1;
  }
};

}  // namespace keel::binary
