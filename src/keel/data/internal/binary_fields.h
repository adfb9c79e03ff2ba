// Defines how a type is read from and written as CBOR and MessagePack, based on its Fields. As for JSON (json_fields.h
// explains the types), the code that all structs share is compiled once (binary_fields.cc) and works from a table for
// each struct.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "keel/data/binary_reader.h"
#include "keel/data/binary_writer.h"
#include "keel/data/enum_names.h"
#include "keel/data/fields.h"
#include "keel/data/internal/binary_heads.h"
#include "keel/data/internal/json_fields.h"
#include "keel/data/rules.h"
#include "keel/data/tag.h"
#include "keel/data/violations.h"

namespace keel::binary::internal {

using json::internal::Form;

template <class T, class Format>
concept ReadsItself = requires(Reader<Format>& in, T& value) { read_binary(in, value); };
template <class T, class Format>
concept WritesItself = requires(Writer<Format>& out, const T& value) { write_binary(out, value); };

template <class T>
consteval void require_form() {
  static_assert(
      !std::is_pointer_v<T> && !std::is_array_v<T> && !json::internal::CharacterType<T> && !std::is_null_pointer_v<T>,
      "a pointer, a C array or a single character cannot be represented in CBOR or MessagePack: use a std::string, a "
      "std::optional, a std::vector or a std::array instead");
  static_assert(
      !std::same_as<T, std::byte>,
      "a single std::byte cannot be represented in CBOR or MessagePack: use a std::vector<std::byte> for bytes");
  static_assert(
      json::internal::is_map_key_text<T>(),
      "the key of a map must be a std::string in CBOR and MessagePack: no other type of key can be represented");
}

template <class T, class Format>
consteval Form form_of() {
  if constexpr (ReadsItself<T, Format> || WritesItself<T, Format>) return Form::Other;
  return json::internal::form_of<T>();
}

// The last entry does not belong to a field.
template <class Format, class... Field>
consteval auto forms_of(keel::internal::TypeList<Field...>) {
  return std::array<Form, sizeof...(Field) + 1>{form_of<std::remove_const_t<Field>, Format>()..., Form::Other};
}

consteval bool are_names_short(const std::string_view* names, std::size_t count, std::size_t bytes_max) {
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i].size() > bytes_max) return false;
  }
  return true;
}
// The number of bytes that can be read after the end of each key.
inline constexpr std::size_t key_slack = 16;
// The size of all keys, including their heads and the slack, or slightly more.
consteval std::size_t key_bytes(const std::string_view* names, std::size_t count) {
  std::size_t bytes = key_slack;
  for (std::size_t i = 0; i < count; ++i) bytes += names[i].size() + 2;
  return bytes;
}

// The word that word_at() reads at `at`, but with 0 for each byte after the first `size`.
constexpr std::uint64_t first_of(const char* at, std::size_t size) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t place = std::endian::native == std::endian::little ? i : 7 - i;
    word |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(at[i])) << (8 * place);
  }
  return word;
}

template <class Format>
constexpr std::size_t key_size(std::string_view name) {
  char head[2] = {};
  return Format::put_name(name.size(), head) + name.size();
}

// When a value is read without a call, at most this many bytes are examined.
inline constexpr std::size_t take_room = 9;
// A key with its head, after which key_slack more bytes can be read, and the field to which the key belongs.
struct Step {
  const char* key = nullptr;
  std::uint64_t first = 0;  // The first eight bytes of the key.
  std::uint64_t mask = 0;   // A mask of the bits of `first` that belong to the key.
  std::uint16_t size = 0;
  std::uint16_t reach = 0;  // The sum of `size` and of take_room for the value.
  std::uint8_t field = 0;
  Form form = Form::Other;
};

// The keys of a struct with their heads, and the order in which they are written: shorter keys first, keys of the same
// length in the order of their bytes (RFC 8949 §4.2.1).
template <class T, class Format>
struct Keys {
  using Names = json::internal::Names<T>;
  static constexpr std::size_t count = Names::count;
  static_assert(are_names_short(Names::names.data(), count, Format::name_bytes_max),
                "the name of a field must have at most 255 bytes in CBOR and MessagePack");
  static constexpr std::size_t bytes = key_bytes(Names::names.data(), count);
  static constexpr std::array<char, bytes> text = [] {
    std::array<char, bytes> made{};
    char* to = made.data();
    for (std::size_t i = 0; i < count; ++i) {
      to += Format::put_name(Names::names[i].size(), to);
      for (const char c : Names::names[i]) *to++ = c;
    }
    return made;
  }();
  // The members in the order in which they are written, followed by an entry without a key.
  static constexpr std::array<Step, count + 1> steps = [] {
    std::array<Step, count + 1> made{};
    const auto forms = forms_of<Format>(keel::internal::FieldTypes<T>());
    const char* key = text.data();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = key_size<Format>(Names::names[i]);
      made[i] = {key,
                 first_of(key, 8),
                 size < 8 ? first_of("\xFF\xFF\xFF\xFF\xFF\xFF\xFF", size) : ~std::uint64_t{0},
                 static_cast<std::uint16_t>(size),
                 static_cast<std::uint16_t>(size + take_room),
                 static_cast<std::uint8_t>(i),
                 forms[i]};
      key += size;
    }
    std::sort(made.begin(), made.end() - 1, [](const Step& a, const Step& b) {
      const std::string_view one = Names::names[a.field];
      const std::string_view other = Names::names[b.field];
      return one.size() != other.size() ? one.size() < other.size() : one < other;
    });
    made[count].field = static_cast<std::uint8_t>(count);
    return made;
  }();
  // For each field, the position of its step.
  static constexpr std::array<std::uint8_t, count + 1> places = [] {
    std::array<std::uint8_t, count + 1> made{};
    for (std::size_t place = 0; place < count; ++place) made[steps[place].field] = static_cast<std::uint8_t>(place);
    made[count] = static_cast<std::uint8_t>(count);
    return made;
  }();
};

template <class Format>
using ReadField = void (*)(Reader<Format>& in, void* field, Violations& wrong);
template <class Format>
using WriteField = void (*)(Writer<Format>& out, const void* field);

template <class Format>
struct ReadTable {
  const Step* steps;
  const std::string_view* names;
  const std::uint8_t* places;
  const std::uint8_t* slots;
  const ReadField<Format>* read;
  void (*rules)(const void* object, Check& check);  // Or null.
  std::uint64_t all;                                // One bit for each field, as in `required`.
  std::uint64_t required;
  std::uint8_t count;
  std::uint8_t slot_bits;
  bool is_strict;
};
template <class Format>
struct ListTable {
  void* (*add)(void* list);  // Adds an element at the end of the list, and returns its address.
  ReadField<Format> read;
  Form form;
};
template <class Format>
struct ArrayTable {
  ReadField<Format> read;
  std::size_t count;
  std::size_t stride;
  Form form;
};
template <class Format>
struct MapTable {
  void* (*add)(void* map, std::string_view key);  // Returns null if the map already contains `key`.
  ReadField<Format> read;
};
template <class Format>
struct VariantTable {
  std::string_view name;                 // The name of the member that contains the tag.
  const std::string_view* alternatives;  // The values of the tag.
  const ReadField<Format>* read;         // For each alternative, a function that reads it into the variant.
  std::size_t count;
};
template <class Format>
struct WriteTable {
  const Step* steps;
  const std::string_view* names;
  const WriteField<Format>* write;
  // Null if no field can be absent; otherwise, for each field, null or a function.
  bool (*const* is_absent)(const void* field);
  std::size_t count;
};
template <class Format>
struct ElementTable {
  WriteField<Format> write;
  std::size_t stride;
  Form form;
};

// Reads and writes by means of tables; a friend of Reader and Writer.
template <class Format>
class Access {
 public:
  using In = Reader<Format>;
  using Out = Writer<Format>;

  // `fields` contains the address of each field of `object`. If `tag` is not empty, it names a member that is skipped,
  // because the value of this member has already been read.
  static void read_object(In& in, const ReadTable<Format>& table, void* const* fields, const void* object,
                          Violations& wrong, std::string_view tag = {});
  static void read_list(In& in, const ListTable<Format>& table, void* list, Violations& wrong);
  static void read_array(In& in, const ArrayTable<Format>& table, void* first, Violations& wrong);
  static void read_map(In& in, const MapTable<Format>& table, void* map, Violations& wrong);
  static void read_variant(In& in, const VariantTable<Format>& table, void* variant, Violations& wrong);
  static void read_byte_array(In& in, std::byte* to, std::size_t size, Violations& wrong);
  static void read_float(In& in, float& value);
  static void wrong_enum_name(In& in, const keel::internal::EnumNames& names, Violations& wrong);
  // Reads the whole document: calls `read` for `value`, and requires that the document ends after the value. Returns
  // true if nothing is wrong.
  static bool read_whole(std::string_view bytes, Arena& arena, ReaderOptions options, ReadField<Format> read,
                         void* value, Violations& wrong);

  // The functions below are for code that reads and writes without a table, such as the code of Record.
  static const char*& position(In& in) noexcept { return in.at_; }
  static const char* end(const In& in) noexcept { return in.end_; }
  static int& depth(In& in) noexcept { return in.depth_; }
  static int depth_max(const In& in) noexcept { return in.depth_max_; }
  // Clears the problem that the Reader has reported.
  static void forget(In& in) noexcept { in.message_ = nullptr; }
  // Call this function after code other than the Reader has read the value in [begin, behind).
  static void took(In& in, const char* begin, const char* behind) noexcept {
    in.value_ = begin;
    in.at_ = behind;
    in.due_ = nullptr;
  }
  static Buffer& buffer(Out& out) noexcept { return out.out_; }
  // Reports the Reader's problem again, for the value that begins at `begin`, and clears the problem in the Reader.
  static void tell_at(In& in, const char* begin, const char* where);

  static void write_object(Out& out, const WriteTable<Format>& table, void* const* fields, Tag tag = {});
  static void write_elements(Out& out, const ElementTable<Format>& table, const void* first, std::size_t count);

 private:
  using Level = typename Reader<Format>::Level;
  static bool collect(In& in, const char* begin, int depth, Violations& wrong);
  static void refuse(In& in, const char* begin, int depth, std::string_view words, Violations& wrong);
  static void add_violation(In& in, std::string_view field, std::string_view words, Violations& wrong,
                            const Check::Element& element = {}, std::string_view keyword = {});
  static Violation violation_of(const In& in, std::string_view words);
  static std::string path_of(const In& in);
  static Level* begin(In& in, bool is_object);
  static int depth_of(const In& in, const Level& level) noexcept { return static_cast<int>(&level - in.level_) + 1; }
  static bool is_next(In& in, std::uint64_t& left);
  static std::size_t take_other_key(In& in, const ReadTable<Format>& table, std::string_view tag, bool& is_tagged,
                                    Violations& wrong);
  static bool find_place(In& in, const char* where);
  // The state of an object while it is read.
  struct Progress {
    std::size_t passed;      // How many members, from the first on, came in the order of the table's steps.
    std::size_t violations;  // The number of violations that were found before this object.
    std::uint64_t wrong;     // The members with a violation: one bit for each field.
  };
  static bool read_member(In& in, const ReadTable<Format>& table, const Step& step, void* const* fields,
                          const char* key_at, const char* at, Level& level, std::uint64_t& wrong_ones,
                          Violations& wrong);
  static void read_rest(In& in, const ReadTable<Format>& table, void* const* fields, const void* object,
                        Violations& wrong, std::string_view tag, Progress progress);
  static void read_elements(In& in, const ArrayTable<Format>& table, std::byte* element, std::size_t count,
                            Violations& wrong);
  static void write_some(Out& out, const WriteTable<Format>& table, void* const* fields, Tag tag);
  struct Judge;
};
extern template class Access<Cbor>;
extern template class Access<MessagePack>;

template <class Format, class T>
void read_value(Reader<Format>& in, T& value, Violations& wrong);
template <class Format, class T>
void read_field(Reader<Format>& in, void* field, Violations& wrong) {
  read_value(in, *static_cast<T*>(field), wrong);
}

using keel::internal::TakeAddresses;

template <class Format, class T, class List>
struct Readers;
template <class Format, class T, class... Field>
struct Readers<Format, T, keel::internal::TypeList<Field...>> {
  static_assert((!std::is_const_v<Field> && ...), "a const field cannot be read: remove the const");
  static_assert(keel::internal::are_optional_fields_known<T>(),
                "optional_fields names something that is not a field of its struct");
  static constexpr std::uint64_t may_be_absent = [] {
    std::uint64_t bits = keel::internal::optional_bits<T>();
    std::uint64_t bit = 1;
    ((bits |= json::internal::is_optional<Field> || json::internal::is_patch<Field> ? bit : 0, bit <<= 1), ...);
    return bits;
  }();
  static constexpr std::uint64_t all = sizeof...(Field) == 64 ? ~0ull : (1ull << sizeof...(Field) % 64) - 1;
  static constexpr ReadField<Format> read[] = {&read_field<Format, Field>..., nullptr};
  static constexpr auto rules = [] {
    void (*function)(const void*, Check&) = nullptr;
    if constexpr (requires(const T& object, Check& check) { object.rules(check); }) {
      function = [](const void* object, Check& check) { static_cast<const T*>(object)->rules(check); };
    }
    return function;
  }();
  using Names = json::internal::Names<T>;
  static constexpr ReadTable<Format> table = {Keys<T, Format>::steps.data(),
                                              Names::names.data(),
                                              Keys<T, Format>::places.data(),
                                              Names::slots.data(),
                                              read,
                                              rules,
                                              all,
                                              all & ~may_be_absent,
                                              static_cast<std::uint8_t>(sizeof...(Field)),
                                              static_cast<std::uint8_t>(Names::slot_bits),
                                              keel::internal::is_strict<T>()};
};

template <class Format, class T>
void read_struct(Reader<Format>& in, T& value, Violations& wrong, std::string_view tag = {}) {
  void* fields[Fields<T>::count + 1];
  fields[Fields<T>::count] = nullptr;
  Fields<T>::visit(value, TakeAddresses{fields});
  Access<Format>::read_object(in, Readers<Format, T, keel::internal::FieldTypes<T>>::table, fields, &value, wrong, tag);
}
template <class Format, class T, class Variant, std::size_t index>
void read_alternative(Reader<Format>& in, void* variant, Violations& wrong) {
  read_struct(in, static_cast<Variant*>(variant)->template emplace<index>(), wrong, tag_of<T>.name);
}
template <class Format, class Variant, class List>
struct VariantReaders;
template <class Format, class Variant, class... T>
struct VariantReaders<Format, Variant, keel::internal::TypeList<T...>> {
  static constexpr std::string_view alternatives[] = {tag_of<T>.value...};
  static constexpr auto read = []<std::size_t... I>(std::index_sequence<I...>) {
    json::internal::require_tags<T...>();
    return std::array<ReadField<Format>, sizeof...(I)>{&read_alternative<Format, T, Variant, I>...};
  }(std::index_sequence_for<T...>());
  static constexpr std::string_view name = [] {
    const std::string_view names[] = {tag_of<T>.name...};
    return names[0];
  }();
  static constexpr VariantTable<Format> table = {name, alternatives, read.data(), read.size()};
};

template <class Format, class T>
void read_value(Reader<Format>& in, T& value, Violations& wrong) {
  require_form<T>();
  using Core = Access<Format>;
  if constexpr (ReadsItself<T, Format>) {
    read_binary(in, value);
  } else if constexpr (std::same_as<T, Timestamp>) {
    value = in.timestamp();
  } else if constexpr (std::same_as<T, Uuid>) {
    value = in.uuid();
  } else if constexpr (TextValue<T>) {
    value = in.template value<T>();
  } else if constexpr (std::same_as<T, bool>) {
    value = in.boolean();
  } else if constexpr (json::internal::Integer<T>) {
    if constexpr (std::is_signed_v<T>) {
      value = static_cast<T>(in.int64(integer_range<T>));
    } else {
      value = static_cast<T>(in.uint64(integer_range<T>));
    }
  } else if constexpr (std::same_as<T, float>) {
    Core::read_float(in, value);
  } else if constexpr (std::floating_point<T>) {
    value = static_cast<T>(in.number());
  } else if constexpr (std::is_enum_v<T>) {
    const auto found = enum_value<T>(in.string());
    if (found) {
      value = *found;
    } else if (!in.failed()) {
      Core::wrong_enum_name(in, keel::internal::EnumTable<T>::names, wrong);
    }
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::string_view>) {
    value = in.string();
  } else if constexpr (json::internal::is_optional<T>) {
    if (in.try_null()) {
      value.reset();
    } else {
      read_value(in, value.emplace(), wrong);
    }
  } else if constexpr (json::internal::is_patch<T>) {
    if (in.try_null()) {
      value.set_null();
    } else {
      read_value(in, value.emplace(), wrong);
    }
  } else if constexpr (json::internal::Variant<T>) {
    Core::read_variant(in, VariantReaders<Format, T, json::internal::Alternatives<T>>::table, &value, wrong);
  } else if constexpr (json::internal::is_byte_array<T>) {
    Core::read_byte_array(in, value.data(), value.size(), wrong);
  } else if constexpr (json::internal::ByteList<T>) {
    const std::span<const std::byte> bytes = in.bytes();
    value.assign(bytes.begin(), bytes.end());
  } else if constexpr (json::internal::is_std_array<T>) {
    using Element = typename T::value_type;
    static constexpr ArrayTable<Format> table = {&read_field<Format, Element>, std::tuple_size_v<T>, sizeof(Element),
                                                 form_of<Element, Format>()};
    Core::read_array(in, table, value.data(), wrong);
  } else if constexpr (json::internal::Map<T>) {
    using Element = typename T::mapped_type;
    value.clear();
    static constexpr MapTable<Format> table = {[](void* map, std::string_view key) -> void* {
                                                 const auto [at, is_new] =
                                                     static_cast<T*>(map)->try_emplace(typename T::key_type(key));
                                                 return is_new ? __builtin_addressof(at->second) : nullptr;
                                               },
                                               &read_field<Format, Element>};
    Core::read_map(in, table, &value, wrong);
  } else if constexpr (json::internal::BoolList<T>) {
    std::vector<unsigned char> flags;  // The elements of a std::vector<bool> have no addresses.
    static constexpr ListTable<Format> table = {
        [](void* list) -> void* { return &static_cast<std::vector<unsigned char>*>(list)->emplace_back(); },
        [](Reader<Format>& reader, void* flag, Violations&) {
          *static_cast<unsigned char*>(flag) = reader.boolean() ? 1 : 0;
        },
        Form::Other};
    Core::read_list(in, table, &flags, wrong);
    value.assign(flags.begin(), flags.end());
  } else if constexpr (json::internal::List<T>) {
    using Element = typename T::value_type;
    value.clear();
    static constexpr ListTable<Format> table = {
        [](void* list) -> void* { return __builtin_addressof(static_cast<T*>(list)->emplace_back()); },
        &read_field<Format, Element>, form_of<Element, Format>()};
    Core::read_list(in, table, &value, wrong);
  } else {
    read_struct(in, value, wrong);
  }
}

// Writing.

template <class Format, class T>
void write_value(Writer<Format>& out, const T& value);
template <class Format, class T>
void write_field(Writer<Format>& out, const void* field) {
  write_value(out, *static_cast<const T*>(field));
}

template <class Format, class T, class List>
struct Writers;
template <class Format, class T, class... Field>
struct Writers<Format, T, keel::internal::TypeList<Field...>> {
  static constexpr WriteField<Format> write[] = {&write_field<Format, std::remove_const_t<Field>>..., nullptr};
  static constexpr bool (*is_absent[])(const void*) = {json::internal::absence<std::remove_const_t<Field>>()...,
                                                       nullptr};
  static constexpr WriteTable<Format> table = {
      Keys<T, Format>::steps.data(), json::internal::Names<T>::names.data(), write,
      (json::internal::is_patch<std::remove_const_t<Field>> || ...) ? is_absent : nullptr, sizeof...(Field)};
};

template <class Format, class T>
void write_struct(Writer<Format>& out, const T& value, Tag tag = {}) {
  void* fields[Fields<T>::count + 1];
  fields[Fields<T>::count] = nullptr;
  Fields<T>::visit(value, TakeAddresses{fields});
  Access<Format>::write_object(out, Writers<Format, T, keel::internal::FieldTypes<T>>::table, fields, tag);
}
template <class Format, class Variant>
using WriteAlternative = void (*)(Writer<Format>& out, const Variant& variant);
template <class Format, class T, class Variant>
void write_alternative(Writer<Format>& out, const Variant& variant) {
  write_struct(out, get<T>(variant), tag_of<T>);
}

template <class Format, class T>
void write_map(Writer<Format>& out, const T& map) {
  using Entry = const typename T::value_type*;
  std::vector<Entry> entries;
  entries.reserve(map.size());
  for (const auto& entry : map) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](Entry a, Entry b) {
    const std::string_view one = a->first;
    const std::string_view other = b->first;
    return one.size() != other.size() ? one.size() < other.size() : one < other;
  });
  out.begin_object(entries.size());
  for (const Entry entry : entries) {
    out.key(entry->first);
    write_value(out, entry->second);
  }
}

template <class Format, class T>
void write_value(Writer<Format>& out, const T& value) {
  require_form<T>();
  if constexpr (WritesItself<T, Format>) {
    write_binary(out, value);
  } else if constexpr (std::same_as<T, Timestamp>) {
    out.timestamp(value);
  } else if constexpr (std::same_as<T, Uuid>) {
    out.uuid(value);
  } else if constexpr (std::same_as<T, Date>) {
    out.date(value);
  } else if constexpr (TextValue<T>) {
    out.string(value.text());
  } else if constexpr (std::same_as<T, bool>) {
    out.boolean(value);
  } else if constexpr (json::internal::Integer<T>) {
    if constexpr (std::is_signed_v<T>) {
      out.integer(value);
    } else {
      out.unsigned_integer(value);
    }
  } else if constexpr (std::same_as<T, float>) {
    out.single(value);
  } else if constexpr (std::floating_point<T>) {
    out.number(static_cast<double>(value));
  } else if constexpr (std::is_enum_v<T>) {
    const std::string_view name = enum_name(value);
    if (name.empty()) json::internal::throw_nameless(static_cast<std::int64_t>(value));
    out.string(name);
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    out.string(value);
  } else if constexpr (json::internal::is_optional<T> || json::internal::is_patch<T>) {
    if (value.has_value()) {
      write_value(out, *value);
    } else {
      out.null();
    }
  } else if constexpr (json::internal::Map<T>) {
    write_map(out, value);
  } else if constexpr (json::internal::Variant<T>) {
    if (value.valueless_by_exception()) json::internal::throw_valueless();
    [&]<class... A>(keel::internal::TypeList<A...>) {
      json::internal::require_tags<A...>();
      static constexpr WriteAlternative<Format, T> write[] = {&write_alternative<Format, A, T>...};
      write[value.index()](out, value);
    }(json::internal::Alternatives<T>());
  } else if constexpr (json::internal::is_byte_array<T> || json::internal::ByteList<T>) {
    out.bytes(value);
  } else if constexpr (json::internal::Contiguous<T>) {
    using Element = std::remove_cv_t<typename T::value_type>;
    static constexpr ElementTable<Format> table = {&write_field<Format, Element>, sizeof(Element),
                                                   form_of<Element, Format>()};
    Access<Format>::write_elements(out, table, value.data(), value.size());
  } else if constexpr (json::internal::List<T> || json::internal::is_std_array<T>) {
    out.begin_array(static_cast<std::size_t>(std::distance(value.begin(), value.end())));
    for (const auto& element : value) write_value<Format, typename T::value_type>(out, element);
  } else {
    write_struct(out, value);
  }
}

}  // namespace keel::binary::internal
