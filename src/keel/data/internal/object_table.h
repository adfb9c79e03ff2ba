// What the sources that `keel gen api` writes are made of, beside json_fields.h: the table of an object, whose work at
// compile time is once for a number of members; how a member is read; and the look ahead for alternatives.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/box.h"
#include "keel/data/internal/json_fields.h"
#include "keel/data/json_reader.h"
#include "keel/data/json_writer.h"
#include "keel/data/patch.h"
#include "keel/data/violations.h"

namespace keel::json::internal {

// A member of an object, as a source has it.
struct ObjectMember {
  std::string_view key;  // As the Writer has it, "\"id\":".
  ReadField read;
  bool is_required = false;
  std::string_view name = {};  // When the key has escapes: without them.
};
inline constexpr bool required = true;

// Of any number of members up to wide_max; what is none of them may go into a map.
inline constexpr std::size_t wide_max = 1024;
struct WideTable {
  const std::string_view* keys;
  const std::string_view* names;
  const std::uint16_t* slots;
  const ReadField* read;
  const bool* is_required;
  // Reads the value of another member into the map, which is the field behind the last; false when it has that key.
  bool (*read_other)(Reader& in, void* map, std::string_view key, Violations& wrong);  // Or null: they are passed over.
  std::uint16_t count;
  std::uint16_t slot_bits;
  bool is_strict;
};

template <std::size_t count, class Slot>
class ObjectMembers {
 public:
  consteval explicit ObjectMembers(const ObjectMember (&members)[count]) {
    for (std::size_t i = 0; i < count; ++i) {
      const ObjectMember& member = members[i];
      // A key with escapes is never likely: it is found by its name.
      const bool is_plain = member.name.data() == nullptr;
      keys_[i] = is_plain ? member.key : std::string_view();
      names_[i] = is_plain ? member.key.substr(1, member.key.size() - 3) : member.name;
      read_[i] = member.read;
      is_required_[i] = member.is_required;
      if (member.is_required && i < 64) required_ |= std::uint64_t{1} << i;
      std::uint32_t slot = name_slot(names_[i], slot_bits);
      while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<Slot>(i + 1);
    }
  }

  consteval ReadTable table(bool is_strict) const {
    static_assert(sizeof(Slot) == 1 && count <= 64);
    return {keys_.data(),
            names_.data(),
            slots_.data(),
            read_.data(),
            nullptr,
            required_,
            static_cast<std::uint8_t>(count),
            static_cast<std::uint8_t>(slot_bits),
            is_strict};
  }
  consteval WideTable wide_table(bool is_strict, decltype(WideTable::read_other) read_other = nullptr) const {
    static_assert(sizeof(Slot) == 2 && count <= wide_max);
    return {keys_.data(),
            names_.data(),
            slots_.data(),
            read_.data(),
            is_required_.data(),
            read_other,
            static_cast<std::uint16_t>(count),
            static_cast<std::uint16_t>(slot_bits),
            is_strict};
  }

 private:
  static constexpr int slot_bits = std::bit_width(count * 4 + 3);

  std::array<std::string_view, count + 1> keys_;
  std::array<std::string_view, count + 1> names_;
  std::array<Slot, std::size_t{1} << slot_bits> slots_{};
  std::array<ReadField, count + 1> read_{};
  std::array<bool, count + 1> is_required_{};
  std::uint64_t required_ = 0;
};
// Of at most 64 members, whose other members are not kept.
template <std::size_t count>
using Members = ObjectMembers<count, std::uint8_t>;
template <std::size_t count>
using WideMembers = ObjectMembers<count, std::uint16_t>;

void read_wide_object(Reader& in, const WideTable& table, void* const* fields, Violations& wrong);
// Of one without members.
void read_empty_object(Reader& in, bool is_strict, Violations& wrong);

// How a T is read, checks included.
template <class T>
using Read = void (*)(Reader& in, T& value, Violations& wrong);

template <class T>
void read_itself(Reader& in, T& value, Violations& wrong) {
  value.read_json(in, wrong);
}
template <class T, Read<T> read>
void read_nullable(Reader& in, std::optional<T>& value, Violations& wrong) {
  if (in.try_null()) {
    value.reset();
  } else {
    read(in, value.emplace(), wrong);
  }
}
template <class T, Read<T> read>
void read_list(Reader& in, std::vector<T>& list, Violations& wrong) {
  list.clear();
  if (!in.begin_array()) return;
  const int depth = in.depth();
  while (in.next_element()) {
    if constexpr (std::same_as<T, bool>) {
      bool element = false;
      read(in, element, wrong);
      list.push_back(element);
    } else {
      read(in, list.emplace_back(), wrong);
    }
    if (in.failed() && !collect(in, depth, wrong)) return;
  }
}
template <class T, Read<T> read>
void read_map(Reader& in, std::map<std::string, T>& map, Violations& wrong) {
  map.clear();
  if (!in.begin_object()) return;
  const int depth = in.depth();
  while (const auto key = in.next_key()) {
    const auto [at, is_new] = map.try_emplace(std::string(*key));
    if (!is_new) return refuse_second(in, wrong);
    read(in, at->second, wrong);
    if (in.failed() && !collect(in, depth, wrong)) return;
  }
}
template <class T, Read<T> read>
bool read_other(Reader& in, void* map, std::string_view key, Violations& wrong) {
  const auto [at, is_new] = static_cast<std::map<std::string, T>*>(map)->try_emplace(std::string(key));
  if (is_new) read(in, at->second, wrong);
  return is_new;
}

// For the tables: a T; a std::optional<T> that is not null when it comes; a Patch<T>; a Box<T> that is not null, and
// one that may be; a Patch<Box<T>>.
template <class T, Read<T> read>
void read_member(Reader& in, void* member, Violations& wrong) {
  read(in, *static_cast<T*>(member), wrong);
}
template <class T, Read<T> read>
void read_optional(Reader& in, void* member, Violations& wrong) {
  read(in, static_cast<std::optional<T>*>(member)->emplace(), wrong);
}
template <class T, Read<T> read>
void read_patch(Reader& in, void* member, Violations& wrong) {
  Patch<T>& patch = *static_cast<Patch<T>*>(member);
  if (in.try_null()) {
    patch.set_null();
  } else {
    read(in, patch.emplace(), wrong);
  }
}
template <class T, Read<T> read>
void read_box(Reader& in, void* member, Violations& wrong) {
  read(in, static_cast<Box<T>*>(member)->emplace(), wrong);
}
template <class T, Read<T> read>
void read_nullable_box(Reader& in, void* member, Violations& wrong) {
  Box<T>& box = *static_cast<Box<T>*>(member);
  if (in.try_null()) {
    box.reset();
  } else {
    read(in, box.emplace(), wrong);
  }
}
template <class T, Read<T> read>
void read_patch_box(Reader& in, void* member, Violations& wrong) {
  Patch<Box<T>>& patch = *static_cast<Patch<Box<T>>*>(member);
  if (in.try_null()) {
    patch.set_null();
  } else {
    read(in, patch.emplace().emplace(), wrong);
  }
}

template <class T>
using Write = void (*)(Writer& out, const T& value);
template <class T>
void write_itself(Writer& out, const T& value) {
  value.write_json(out);
}
template <class T, Write<T> write>
void write_nullable(Writer& out, const std::optional<T>& value) {
  if (value) {
    write(out, *value);
  } else {
    out.null();
  }
}
template <class T, Write<T> write>
void write_patch(Writer& out, const Patch<T>& value) {
  if (value.has_value()) {
    write(out, *value);
  } else {
    out.null();
  }
}
template <class T, Write<T> write>
void write_nullable_box(Writer& out, const Box<T>& value) {
  if (value) {
    write(out, *value);
  } else {
    out.null();
  }
}
template <class T, Write<T> write>
void write_patch_box(Writer& out, const Patch<Box<T>>& value) {
  if (value.has_value()) {
    write(out, **value);
  } else {
    out.null();
  }
}
template <class T, Write<T> write>
void write_list(Writer& out, const std::vector<T>& list) {
  out.begin_array();
  for (const auto& element : list) write(out, element);
  out.end_array();
}
template <class T, Write<T> write>
void write_members(Writer& out, const std::map<std::string, T>& map) {
  for (const auto& [key, value] : map) {
    out.key(key);
    write(out, value);
  }
}
template <class T, Write<T> write>
void write_map(Writer& out, const std::map<std::string, T>& map) {
  out.begin_object();
  write_members<T, write>(out, map);
  out.end_object();
}

// Null, or why a value is not right.
inline void judge(Reader& in, const char* why) noexcept {
  if (why != nullptr) in.fail(why);
}
inline void judge_container(Reader& in, const char* why, Violations& wrong) {
  if (why != nullptr && !in.failed()) refuse_left(in, {}, why, wrong);
}
// In characters.
bool has_length(std::string_view text, std::size_t least, std::size_t most) noexcept;
// In decimal: 0.3 is a multiple of 0.1.
bool is_multiple(double number, double of) noexcept;
// Whether no two elements are equal.
bool are_different(const std::vector<std::string>& list);
bool are_different(const std::vector<std::int32_t>& list);
bool are_different(const std::vector<std::int64_t>& list);
bool are_different(const std::vector<double>& list);
// Of an enum with at most 256 values.
template <class E>
  requires std::is_enum_v<E>
bool are_different(const std::vector<E>& list) noexcept {
  std::uint64_t seen[4] = {};
  for (const E element : list) {
    const auto value = static_cast<std::size_t>(element) & 255;
    if ((seen[value / 64] >> value % 64 & 1) != 0) return false;
    seen[value / 64] |= std::uint64_t{1} << value % 64;
  }
  return true;
}

// Which alternative the object ahead is: the number of the value of its member `name` among `values`, or of the first
// of `names` that it has as a member. The object is due again then. -1 when it is none, which has been told.
int choose_by_value(Reader& in, std::string_view name, std::span<const std::string_view> values, const char* expected,
                    Violations& wrong);
// With an `otherwise` that is not -1 it is that when it has none of them.
int choose_by_name(Reader& in, std::span<const std::string_view> names, int otherwise, const char* expected,
                   Violations& wrong);
// For the value that is due, which is of none of the kinds that it may have.
[[gnu::cold]] void refuse_kind(Reader& in, const char* expected);

}  // namespace keel::json::internal
