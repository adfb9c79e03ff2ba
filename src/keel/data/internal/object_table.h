// Sources that `keel gen api` writes use this header in addition to json_fields.h. It contains the table of an object,
// whose compile-time work is done once for each number of members; the readers of members; and the search for an
// alternative.

#pragma once

#include <array>
#include <bit>
#include <concepts>
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

// Writes a member whose type is Other: its key and value, or nothing if the member is absent.
using WriteMember = void (*)(Writer& out, std::string_view key, const void* member);

// The type of a member, or of the value in an optional member. Shared code, which is compiled only once, reads and
// writes members of all types in this list except Other.
enum class Held : std::uint8_t {
  Other,  // The member's own ReadField and WriteMember are used.
  Boolean,
  Int32,
  Uint32,
  Int64,
  Uint64,
  Double,
  Float,
  String,
  Uuid,
  Timestamp,
  Date,
  Bytes,
  Strings,
  Value,
  Name  // An enum that is stored in a byte, and whose values 0, 1, … have the same order as its names.
};
using Presence = std::uint8_t;

// The names that generated code uses for the values of Held and Presence.
namespace of {

inline constexpr Held other = Held::Other;
inline constexpr Held boolean = Held::Boolean;
inline constexpr Held int32 = Held::Int32;
inline constexpr Held uint32 = Held::Uint32;
inline constexpr Held int64 = Held::Int64;
inline constexpr Held uint64 = Held::Uint64;
inline constexpr Held number = Held::Double;
inline constexpr Held small_number = Held::Float;
inline constexpr Held string = Held::String;
inline constexpr Held uuid = Held::Uuid;
inline constexpr Held timestamp = Held::Timestamp;
inline constexpr Held date = Held::Date;
inline constexpr Held bytes = Held::Bytes;
inline constexpr Held strings = Held::Strings;
inline constexpr Held any = Held::Value;
inline constexpr Held name = Held::Name;

// How a member holds its value, and whether it is required.
inline constexpr Presence present = 0;   // A T.
inline constexpr Presence optional = 1;  // A std::optional<T>, which is left out while it is empty.
inline constexpr Presence nullable = 2;  // A std::optional<T>, which is written as null while it is empty.
inline constexpr Presence patch = 3;     // A Patch<T>.
// Each of the bits below can be combined with one of the four values above. A required member that is read-only is
// required only in responses; a required member that is write-only is required only in requests.
inline constexpr Presence required = 4;
inline constexpr Presence read_only = 8;    // The member is not written into requests.
inline constexpr Presence write_only = 16;  // The member is not written into responses.

// Bounds from `least` to `most`: for the value of an integer or a number, for the number of characters of a string, or
// for the number of elements of a list.
struct Limits {
  std::int64_t least;
  std::int64_t most;
  const char* message;
};
// The rule for the values of a member: limits, or a list of allowed names.
struct Rule {
  const Limits* limits = nullptr;
  const std::string_view* names = nullptr;
  std::uint16_t count = 0;

  consteval Rule(std::nullptr_t) {}
  consteval Rule(const Limits* within) : limits(within) {}
  template <std::size_t size>
  consteval Rule(const std::string_view (&one_of)[size]) : names(one_of), count(size) {
    static_assert(size <= 256);
  }
};
inline constexpr std::int64_t no_least = INT64_MIN;
inline constexpr std::int64_t no_most = INT64_MAX;

// The map for members that the table does not list.
struct Others {
  std::size_t offset;  // The offset of the map within the object.
  // Reads the value of an unlisted member into the map; returns false if the map already has that key.
  bool (*read)(Reader& in, void* map, std::string_view key, Violations& wrong);
  void (*write)(Writer& out, const void* map);
};

}  // namespace of

// Describes a member of an object, in the form in which generated sources contain it.
struct ObjectMember {
  std::string_view key;  // The key in the form in which the Writer writes it: "\"id\":".
  std::size_t offset;
  Held held;
  Presence presence = of::present;
  of::Rule rule = nullptr;  // Used unless the type of the member is Other.
  ReadField read = nullptr;
  WriteMember write = nullptr;
  std::string_view name = {};  // The key's name without escapes; set only if the key contains escapes.
};

// The table of an object with at most 64 members; names are looked up in the same way as for a struct.
struct ObjectTable {
  ReadTable names;
  const ObjectMember* members;
};
// The table of an object with any number of members up to wide_max; unlisted members may be kept in a map.
inline constexpr std::size_t wide_max = 1024;
struct WideTable {
  const std::string_view* keys;
  const std::string_view* names;
  const std::uint16_t* slots;
  const ObjectMember* members;
  const of::Others* others;  // Null: unlisted members are skipped.
  std::uint16_t count;
  std::uint16_t slot_bits;
  bool is_strict;
};

template <std::size_t count, class Slot>
class ObjectMembers {
 public:
  consteval ObjectMembers() = default;
  consteval explicit ObjectMembers(const ObjectMember (&members)[count == 0 ? 1 : count]) {
    for (std::size_t i = 0; i < count; ++i) {
      const ObjectMember& member = members[i];
      members_[i] = member;
      // A key with escapes is never predicted; it is found by its name instead.
      const bool is_plain = member.name.data() == nullptr;
      keys_[i] = is_plain ? member.key : std::string_view();
      names_[i] = is_plain ? member.key.substr(1, member.key.size() - 3) : member.name;
      if ((member.presence & of::required) != 0 && i < 64) required_ |= std::uint64_t{1} << i;
      std::uint32_t slot = name_slot(names_[i], slot_bits);
      while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<Slot>(i + 1);
    }
  }

  consteval ObjectTable table(bool is_strict) const {
    static_assert(sizeof(Slot) == 1 && count <= 64);
    return {{keys_.data(), names_.data(), slots_.data(), nullptr, nullptr, required_, static_cast<std::uint8_t>(count),
             static_cast<std::uint8_t>(slot_bits), is_strict},
            members_.data()};
  }
  consteval WideTable wide_table(bool is_strict, const of::Others* others = nullptr) const {
    static_assert(sizeof(Slot) == 2 && count <= wide_max);
    return {keys_.data(),
            names_.data(),
            slots_.data(),
            members_.data(),
            others,
            static_cast<std::uint16_t>(count),
            static_cast<std::uint16_t>(slot_bits),
            is_strict};
  }

 private:
  static constexpr int slot_bits = std::bit_width(count * 4 + 3);

  std::array<std::string_view, count + 1> keys_;
  std::array<std::string_view, count + 1> names_;
  std::array<Slot, std::size_t{1} << slot_bits> slots_{};
  std::array<ObjectMember, count> members_{};
  std::uint64_t required_ = 0;
};
// For objects with at most 64 members; unlisted members are not kept.
template <std::size_t count>
using Members = ObjectMembers<count, std::uint8_t>;
template <std::size_t count>
using WideMembers = ObjectMembers<count, std::uint16_t>;

void read_object(Reader& in, const ObjectTable& table, void* object, Violations& wrong);
void read_object(Reader& in, const WideTable& table, void* object, Violations& wrong);
void write_object(Writer& out, const ObjectTable& table, const void* object);
void write_object(Writer& out, const WideTable& table, const void* object);
// Reads an object for which no members are listed.
void read_empty_object(Reader& in, bool is_strict, Violations& wrong);

// Reads and checks a T.
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
void read_member(Reader& in, void* member, Violations& wrong);
// The function is not inlined, because most of its code moves the elements to a larger block. The first block has space
// for a few small elements.
template <class T>
[[gnu::noinline]] void* add_element(void* list) {
  constexpr std::size_t first_room = sizeof(T) <= 96 ? 4 : 1;
  auto& elements = *static_cast<std::vector<T>*>(list);
  if (elements.size() == elements.capacity()) elements.reserve(elements.empty() ? first_room : 2 * elements.size());
  // Without this line, the compiler would generate the code for growth twice.
  if (elements.size() == elements.capacity()) __builtin_unreachable();
  return __builtin_addressof(elements.emplace_back());
}
void read_elements(Reader& in, void* list, void* (*add)(void* list), ReadField read, Violations& wrong);
template <class T, Read<T> read>
void read_list(Reader& in, std::vector<T>& list, Violations& wrong) {
  list.clear();
  if constexpr (std::same_as<T, bool>) {
    if (!in.begin_array()) return;
    const int depth = in.depth();
    while (in.next_element()) {
      bool element = false;
      read(in, element, wrong);
      list.push_back(element);
      if (in.failed() && !collect(in, depth, wrong)) return;
    }
  } else {
    read_elements(in, &list, &add_element<T>, &read_member<T, read>, wrong);
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

// The tables read members with the following functions. There is one function for each form of member: a T; a
// std::optional<T> that must not be null if it is present; a Patch<T>; a Box<T> that must not be null; a Box<T> that
// may be null; a Patch<Box<T>>.
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
// The tables write members with the following functions. There is one function for each form of member: a T, which may
// be a std::optional that is written as null; a std::optional that is left out if it is empty; a Patch; a Box that is
// never empty; a Box that is left out if it is empty; a Box that is written as null if it is empty; a Patch<Box<T>>.
template <class T, Write<T> write>
void write_member(Writer& out, std::string_view key, const void* member) {
  out.quoted_key(key);
  write(out, *static_cast<const T*>(member));
}
template <class T, Write<T> write>
void write_optional(Writer& out, std::string_view key, const void* member) {
  const auto& value = *static_cast<const std::optional<T>*>(member);
  if (!value) return;
  out.quoted_key(key);
  write(out, *value);
}
template <class T, Write<T> write>
void write_patch(Writer& out, std::string_view key, const void* member) {
  const auto& value = *static_cast<const Patch<T>*>(member);
  if (value.is_absent()) return;
  out.quoted_key(key);
  if (value.has_value()) {
    write(out, *value);
  } else {
    out.null();
  }
}
template <class T, Write<T> write>
void write_box(Writer& out, std::string_view key, const void* member) {
  out.quoted_key(key);
  write(out, **static_cast<const Box<T>*>(member));
}
template <class T, Write<T> write>
void write_optional_box(Writer& out, std::string_view key, const void* member) {
  if (*static_cast<const Box<T>*>(member)) write_box<T, write>(out, key, member);
}
template <class T, Write<T> write>
void write_nullable_box(Writer& out, std::string_view key, const void* member) {
  const auto& value = *static_cast<const Box<T>*>(member);
  out.quoted_key(key);
  if (value) {
    write(out, *value);
  } else {
    out.null();
  }
}
template <class T, Write<T> write>
void write_patch_box(Writer& out, std::string_view key, const void* member) {
  const auto& value = *static_cast<const Patch<Box<T>>*>(member);
  if (value.is_absent()) return;
  out.quoted_key(key);
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
void write_others(Writer& out, const void* map) {
  write_members<T, write>(out, *static_cast<const std::map<std::string, T>*>(map));
}
template <class T, Write<T> write>
void write_map(Writer& out, const std::map<std::string, T>& map) {
  out.begin_object();
  write_members<T, write>(out, map);
  out.end_object();
}

// Reports why a value is wrong; does nothing if the value is valid.
inline void judge(Reader& in, Complaint why) noexcept {
  if (why) in.fail(why.message, nullptr, why.keyword);
}
inline void judge_container(Reader& in, Complaint why, Violations& wrong) {
  if (why && !in.failed()) refuse_left(in, {}, why, wrong);
}
// Counted in characters.
bool has_length(std::string_view text, std::size_t least, std::size_t most) noexcept;
// For a text of the wrong length, returns the keyword that it violates: "maxLength" if the text is too long, otherwise
// "minLength".
[[gnu::cold]] const char* length_keyword(std::string_view text, std::size_t most) noexcept;
// The calculation uses the decimal digits: 0.3 is a multiple of 0.1.
bool is_multiple(double number, double of) noexcept;
bool is_size_multiple(std::uint64_t size, double of) noexcept;
template <std::integral T>
bool is_multiple(T number, double of) noexcept {
  const auto bits = static_cast<std::uint64_t>(number);
  return is_size_multiple(number < 0 ? ~bits + 1 : bits, of);
}
// Whether all elements are different.
bool are_different(const std::vector<std::string>& list);
bool are_different(const std::vector<std::int32_t>& list);
bool are_different(const std::vector<std::int64_t>& list);
bool are_different(const std::vector<double>& list);
// Examines the elements of an enum with at most 256 values.
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

// Determines which alternative the next object is. Both functions return an index. choose_by_value() returns the index,
// in `values`, of the value that the object's member `name` has. choose_by_name() returns the index of the first of the
// `names` that is the name of a member of the object. The object is not consumed. -1: the object matches no
// alternative, and a violation was added.
int choose_by_value(Reader& in, std::string_view name, std::span<const std::string_view> values, const char* expected,
                    Violations& wrong);
// If the object has no member with any of the names, returns `otherwise`; if `otherwise` is -1, also adds a violation.
int choose_by_name(Reader& in, std::span<const std::string_view> names, int otherwise, Complaint expected,
                   Violations& wrong);
// Whether the next value is an object in which at least `least` of the names occur as members; `least` is 2 by default.
// The value stays unread.
bool has_several(Reader& in, std::span<const std::string_view> names, std::size_t least = 2);
// Rejects the next value, because its kind is not allowed.
[[gnu::cold]] void refuse_kind(Reader& in, const char* expected);

}  // namespace keel::json::internal
