// The JSON names of a struct's fields, and the table in which a name is looked up.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/data/fields.h"
#include "keel/data/name_case.h"

namespace keel::json::internal {

// Writes all names in the form "\"name\":", one after the other; name i ends at ends[i].
constexpr void quote_names(const std::string_view* names, std::size_t count, Case to_case, char* to,
                           std::uint16_t* ends) {
  char* const begin = to;
  for (std::size_t i = 0; i < count; ++i) {
    *to++ = '"';
    to += change_case(names[i], to_case, to);
    *to++ = '"';
    *to++ = ':';
    ends[i] = static_cast<std::uint16_t>(to - begin);
  }
}
// Returns up to eight bytes as one number, with the first byte as the lowest.
constexpr std::uint64_t name_bytes(const char* at, std::size_t size) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = size; i-- > 0;) bytes = bytes << 8 | static_cast<unsigned char>(at[i]);
  return bytes;
}
// Makes the hash from the first eight bytes of the name (or all bytes of a shorter name), combined with the last eight
// bytes of a longer name, or with 0.
constexpr std::size_t name_slot(std::uint64_t front, std::uint64_t back, int bits) noexcept {
  return static_cast<std::size_t>(((front ^ back * 3) * 0x9E3779B97F4A7C15u) >> (64 - bits));
}
constexpr std::size_t name_slot(std::string_view name, int bits) noexcept {
  const std::size_t size = name.size();
  if (size <= 8) return name_slot(name_bytes(name.data(), size), 0, bits);
  return name_slot(name_bytes(name.data(), 8), name_bytes(name.data() + size - 8, 8), bits);
}
// Returns the index of the field with that name; `count` if no field has it. `Table` is the type of a table with the
// members names, slots, slot_bits and count.
template <class Table>
std::size_t find_field(const Table& table, std::string_view name) noexcept {
  const std::size_t mask = (std::size_t{1} << table.slot_bits) - 1;
  for (std::size_t slot = name_slot(name, table.slot_bits); table.slots[slot] != 0; slot = (slot + 1) & mask) {
    const std::size_t i = table.slots[slot] - 1u;
    if (table.names[i] == name) return i;
  }
  return table.count;
}
consteval bool are_names_plain(const std::string_view* names, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    for (const char c : names[i]) {
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) return false;
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (names[i] == names[j]) return false;
    }
  }
  return true;
}

template <class T>
struct Names {
  static constexpr std::size_t count = Fields<T>::count;
  static constexpr int slot_bits = std::bit_width(count * 4 + 3);
  static constexpr std::size_t bytes = [] {
    std::size_t size = 1;
    for (const std::string_view name : Fields<T>::names) size += 2 * name.size() + 3;
    return size;
  }();
  static constexpr std::array<char, bytes> text = [] {
    std::array<char, bytes> made{};
    std::uint16_t ends[count + 1] = {};
    quote_names(Fields<T>::names.data(), count, name_case<T>, made.data(), ends);
    return made;
  }();
  static constexpr std::array<std::string_view, count + 1> keys = [] {
    std::array<std::string_view, count + 1> made{};
    std::array<char, bytes> again{};
    std::uint16_t ends[count + 1] = {};
    quote_names(Fields<T>::names.data(), count, name_case<T>, again.data(), ends);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t begin = i == 0 ? 0 : ends[i - 1];
      made[i] = {text.data() + begin, ends[i] - begin};
    }
    return made;
  }();
  static constexpr std::array<std::string_view, count + 1> names = [] {
    std::array<std::string_view, count + 1> made{};
    for (std::size_t i = 0; i < count; ++i) made[i] = keys[i].substr(1, keys[i].size() - 3);
    return made;
  }();
  static constexpr std::array<std::uint8_t, std::size_t{1} << slot_bits> slots = [] {
    std::array<std::uint8_t, std::size_t{1} << slot_bits> made{};
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t slot = name_slot(names[i], slot_bits);
      while (made[slot] != 0) slot = (slot + 1) & (made.size() - 1);
      made[slot] = static_cast<std::uint8_t>(i + 1);
    }
    return made;
  }();
  static_assert(are_names_plain(names.data(), count),
                "two fields of a struct have the same name in JSON, or a name contains a quote, a backslash or a "
                "control character");
};

}  // namespace keel::json::internal
