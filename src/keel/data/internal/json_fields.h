// Defines how a type is read from and written as JSON, based on its Fields. The code that all structs share is compiled
// once (json_fields.cc) and works from a table for each struct; in addition, there is one small function for each type
// of a field.

#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/integer_range.h"
#include "keel/base/text_value.h"
#include "keel/data/enum_names.h"
#include "keel/data/fields.h"
#include "keel/data/internal/json_names.h"
#include "keel/data/json_reader.h"
#include "keel/data/json_writer.h"
#include "keel/data/patch.h"
#include "keel/data/rules.h"
#include "keel/data/tag.h"
#include "keel/data/violations.h"

namespace keel::json::internal {

template <class T>
concept ReadsAndCollects = requires(Reader& in, T& value, Violations& wrong) { read_json(in, value, wrong); };
// `keel gen api` generates member functions, because the compiler looks these up in only one type.
template <class T>
concept ReadsByMember = requires(Reader& in, T& value, Violations& wrong) { value.read_json(in, wrong); };
template <class T>
concept WritesByMember = requires(Writer& out, const T& value) { value.write_json(out); };
template <class T>
concept ReadsItself =
    ReadsByMember<T> || ReadsAndCollects<T> || requires(Reader& in, T& value) { read_json(in, value); };
template <class T>
concept WritesItself = requires(Writer& out, const T& value) { write_json(out, value); };

template <class T>
concept CharacterType = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                        std::same_as<T, char16_t> || std::same_as<T, char32_t>;
template <class T>
concept Integer = std::integral<T> && !CharacterType<T> && !std::same_as<T, bool>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_patch = false;
template <class T>
inline constexpr bool is_patch<Patch<T>> = true;
template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t n>
inline constexpr bool is_std_array<std::array<T, n>> = true;

template <class T>
concept List = requires(T& list) {
  typename T::value_type;
  list.emplace_back();
  list.clear();
} && !std::convertible_to<const T&, std::string_view>;
template <class T>
// std::vector<bool> needs code of its own, because its elements have no addresses.
concept BoolList = List<T> && std::same_as<typename T::value_type, bool>;
template <class T>
concept Contiguous = (List<T> || is_std_array<T>) && requires(const T& list) {
  { list.data() } -> std::same_as<const typename T::value_type*>;
};
template <class T>
concept Map = requires(T& map) {
  typename T::key_type;
  typename T::mapped_type;
  map.try_emplace(std::declval<typename T::key_type>());
};

template <class T>
consteval bool is_map_key_text() {
  if constexpr (Map<T>) return std::constructible_from<typename T::key_type, std::string_view>;
  return true;
}

// Bytes are written as a string in base64.
template <class T>
inline constexpr bool is_byte_array = false;
template <std::size_t n>
inline constexpr bool is_byte_array<std::array<std::byte, n>> = true;
template <class T>
concept ByteList = List<T> && requires(T& bytes) {
  { bytes.data() } -> std::same_as<std::byte*>;
};

// Recognises a std::variant without including its header.
template <class T>
concept Variant = requires(const T& value) {
  { value.valueless_by_exception() } -> std::same_as<bool>;
  value.index();
};
template <class T>
struct AlternativesOf;
template <template <class...> class V, class... T>
struct AlternativesOf<V<T...>> {
  using List = keel::internal::TypeList<T...>;
};
template <class T>
using Alternatives = typename AlternativesOf<T>::List;

// Gives the same message wherever a type is used that cannot be represented in JSON. Classes are not examined here,
// because Fields reports the mistakes in classes.
template <class T>
consteval void require_form() {
  static_assert(!std::is_pointer_v<T> && !std::is_array_v<T> && !CharacterType<T> && !std::is_null_pointer_v<T>,
                "a pointer, a C array or a single character cannot be represented in JSON: use a std::string, a "
                "std::optional, a std::vector or a std::array instead");
  static_assert(!std::same_as<T, std::byte>,
                "a single std::byte cannot be represented in JSON: use a std::vector<std::byte> for bytes, which "
                "becomes a string in base64");
  static_assert(is_map_key_text<T>(),
                "the key of a map must be a std::string in JSON: no other type of key can be represented");
}

template <class T, class... Outer>
consteval bool holds_views();
template <class... Outer, class... T>
consteval bool any_holds_views(keel::internal::TypeList<T...>) {
  return (holds_views<std::remove_const_t<T>, Outer...>() || ...);
}
// Whether a T contains a std::string_view, which needs an arena that outlives the T.
template <class T, class... Outer>
consteval bool holds_views() {
  if constexpr (std::same_as<T, std::string_view>) {
    return true;
  } else if constexpr ((std::same_as<T, Outer> || ...) || ReadsItself<T> || TextValue<T>) {
    return false;
  } else if constexpr (is_patch<T>) {
    return holds_views<typename T::Value, Outer...>();
  } else if constexpr (Variant<T>) {
    return any_holds_views<T, Outer...>(Alternatives<T>());
  } else if constexpr (Map<T>) {
    return holds_views<std::remove_const_t<typename T::key_type>, Outer...>() ||
           holds_views<typename T::mapped_type, Outer...>();
  } else if constexpr (is_optional<T> || is_std_array<T> || List<T>) {
    return holds_views<typename T::value_type, Outer...>();
  } else if constexpr (keel::internal::MayHaveFields<T> && !std::convertible_to<const T&, std::string_view>) {
    return any_holds_views<T, Outer...>(keel::internal::FieldTypes<T>());
  } else {
    return false;
  }
}

// Reading.

using ReadField = void (*)(Reader& in, void* field, Violations& wrong);

// The types whose values are read and written without a call if the text of the value has the type's common form.
enum class Form : std::uint8_t { Other, View, String, Boolean, Int32, Uint32, Int64, Uint64, Double };

template <class T>
consteval Form form_of() {
  if constexpr (ReadsItself<T> || WritesItself<T> || TextValue<T>) {
    return Form::Other;
  } else if constexpr (std::same_as<T, std::string_view>) {
    return Form::View;
  } else if constexpr (std::same_as<T, std::string>) {
    return Form::String;
  } else if constexpr (std::same_as<T, bool>) {
    return Form::Boolean;
  } else if constexpr (Integer<T> && sizeof(T) == 4) {
    return std::is_signed_v<T> ? Form::Int32 : Form::Uint32;
  } else if constexpr (Integer<T> && sizeof(T) == 8) {
    return std::is_signed_v<T> ? Form::Int64 : Form::Uint64;
  } else if constexpr (std::same_as<T, double>) {
    return Form::Double;
  } else {
    return Form::Other;
  }
}

struct ReadTable {
  const std::string_view* keys;   // Each key, including its quotes and its colon.
  const std::string_view* names;  // Each name, without quotes.
  const std::uint8_t* slots;
  const ReadField* read;
  void (*rules)(const void* object, Check& check);  // May be null.
  std::uint64_t required;                           // One bit for each field.
  std::uint8_t count;
  std::uint8_t slot_bits;
  bool is_strict;
  const Form* forms = nullptr;  // The form of each field; null: each field has the form Other.
};

// `fields` contains the address of each field of `object`. If `tag` is not empty, the member of this name has already
// been read.
void read_object(Reader& in, const ReadTable& table, void* const* fields, const void* object, Violations& wrong,
                 std::string_view tag = {});

// Describes a list of any length.
struct ListTable {
  void* (*add)(void* list);  // Adds an element at the end of the list, and returns its address.
  ReadField read;
  Form form;
};
void read_list(Reader& in, const ListTable& table, void* list, Violations& wrong);

// Describes an array of `count` elements, each `stride` bytes long.
struct ArrayTable {
  ReadField read;
  std::size_t count;
  std::size_t stride;
  Form form;
};
void read_array(Reader& in, const ArrayTable& table, void* first, Violations& wrong);

struct VariantTable {
  std::string_view key;                  // The key of the member that contains the tag, with quotes and colon.
  std::string_view name;                 // The name of the member that contains the tag.
  const std::string_view* alternatives;  // The values of the tag.
  const ReadField* read;                 // For each alternative, a function that reads it into the variant.
  std::size_t count;
};
void read_variant(Reader& in, const VariantTable& table, void* variant, Violations& wrong);

// The number of bytes to which `text`, in base64, is decoded; an upper bound if `text` is malformed.
std::size_t decoded_size(std::string_view text) noexcept;
// Decodes `text` from base64 to `to`, and returns the number of bytes. If the text is malformed, or decodes to more
// than `size` bytes, adds a violation and returns 0.
std::size_t decode_bytes(Reader& in, std::string_view text, std::byte* to, std::size_t size, Violations& wrong);
void read_byte_array(Reader& in, std::byte* to, std::size_t size, Violations& wrong);
// Turns the problem that the Reader reports into a violation. Returns true if reading can continue: the wrong value,
// and the rest of all containers nested deeper than `depth`, have then been skipped.
[[gnu::cold]] bool collect(Reader& in, int depth, Violations& wrong);
// Reports a repeated key; its value must be the next value to be read.
[[gnu::cold]] void refuse_second(Reader& in, Violations& wrong);
// Reports a problem of a member of the object that was just left; if `member` is empty, reports a problem of that
// object or array itself.
[[gnu::cold]] void refuse_left(Reader& in, std::string_view member, Complaint why, Violations& wrong);
[[gnu::cold]] void wrong_element_count(Reader& in, std::size_t given, std::size_t count, Violations& wrong);
[[gnu::cold]] void wrong_enum_name(Reader& in, const keel::internal::EnumNames& names, Violations& wrong);
[[gnu::cold]] void wrong_name(Reader& in, std::span<const std::string_view> names, Violations& wrong);
// Reads the whole text: calls `read` for `value`, and then requires that nothing follows the value. Returns true if
// nothing is wrong.
bool read_text(std::string_view text, Arena& arena, ReaderOptions options, ReadField read, void* value,
               Violations& wrong);

using keel::internal::TakeAddresses;

template <class T>
void read_value(Reader& in, T& value, Violations& wrong);

template <class T>
void read_field(Reader& in, void* field, Violations& wrong) {
  read_value(in, *static_cast<T*>(field), wrong);
}

template <class T, class List>
struct Readers;
template <class T, class... Field>
struct Readers<T, keel::internal::TypeList<Field...>> {
  static_assert((!std::is_const_v<Field> && ...), "a const field cannot be read: remove the const");
  static_assert(keel::internal::are_optional_fields_known<T>(),
                "optional_fields names something that is not a field of its struct");
  static constexpr std::uint64_t may_be_absent = [] {
    std::uint64_t bits = keel::internal::optional_bits<T>();
    std::uint64_t bit = 1;
    ((bits |= is_optional<Field> || is_patch<Field> ? bit : 0, bit <<= 1), ...);
    return bits;
  }();
  static constexpr std::uint64_t all = sizeof...(Field) == 64 ? ~0ull : (1ull << sizeof...(Field) % 64) - 1;
  static constexpr ReadField read[] = {&read_field<Field>..., nullptr};
  static constexpr Form forms[] = {form_of<Field>()..., Form::Other};
  static constexpr auto rules = [] {
    void (*function)(const void*, Check&) = nullptr;
    if constexpr (requires(const T& object, Check& check) { object.rules(check); }) {
      function = [](const void* object, Check& check) { static_cast<const T*>(object)->rules(check); };
    }
    return function;
  }();
  static constexpr ReadTable table = {Names<T>::keys.data(),
                                      Names<T>::names.data(),
                                      Names<T>::slots.data(),
                                      read,
                                      rules,
                                      all & ~may_be_absent,
                                      static_cast<std::uint8_t>(sizeof...(Field)),
                                      static_cast<std::uint8_t>(Names<T>::slot_bits),
                                      keel::internal::is_strict<T>(),
                                      forms};
};

// Checks the tags of a variant's alternatives; reading and writing share this check.
template <class T>
consteval bool has_tag() {
  return !tag_of<T>.name.empty() && !tag_of<T>.value.empty();
}
template <class... T>
consteval bool are_tags_of_one_name() {
  const std::string_view names[] = {tag_of<T>.name...};
  return ((tag_of<T>.name == names[0]) && ...);
}
template <class... T>
consteval bool are_tags_different() {
  const std::string_view values[] = {tag_of<T>.value...};
  std::size_t equal = 0;
  for (const std::string_view one : values) ((equal += tag_of<T>.value == one ? 1 : 0), ...);
  return equal == sizeof...(T);
}
template <class T>
consteval bool is_tag_a_field() {
  for (std::size_t i = 0; i < Fields<T>::count; ++i) {
    if (Names<T>::names[i] == tag_of<T>.name) return true;
  }
  return false;
}
template <class... T>
consteval void require_tags() {
  static_assert((has_tag<T>() && ...),
                "each alternative of a std::variant needs a tag, which is the member that identifies the alternative "
                "in JSON: write into each struct static constexpr keel::Tag tag = {\"type\", \"card\"};");
  if constexpr ((has_tag<T>() && ...)) {
    static_assert(are_tags_of_one_name<T...>(),
                  "the tags of the alternatives of a std::variant must have the same name");
    static_assert(are_tags_different<T...>(), "two alternatives of a std::variant have the same tag");
    static_assert(!(is_tag_a_field<T>() || ...),
                  "the tag of an alternative has the same name as one of that alternative's fields");
  }
}

template <class T, class Variant, std::size_t index>
void read_alternative(Reader& in, void* variant, Violations& wrong) {
  T& value = static_cast<Variant*>(variant)->template emplace<index>();
  void* fields[Fields<T>::count + 1];
  fields[Fields<T>::count] = nullptr;
  Fields<T>::visit(value, TakeAddresses{fields});
  read_object(in, Readers<T, keel::internal::FieldTypes<T>>::table, fields, &value, wrong, tag_of<T>.name);
}

template <class Variant, class List>
struct VariantReaders;
template <class Variant, class First, class... Rest>
struct VariantReaders<Variant, keel::internal::TypeList<First, Rest...>> {
  static constexpr auto key = [] {
    require_tags<First, Rest...>();
    std::array<char, tag_of<First>.name.size() + 3> made{'"'};
    for (std::size_t i = 0; i < made.size() - 3; ++i) made[i + 1] = tag_of<First>.name[i];
    made[made.size() - 2] = '"';
    made[made.size() - 1] = ':';
    return made;
  }();
  static constexpr std::string_view alternatives[] = {tag_of<First>.value, tag_of<Rest>.value...};
  static constexpr auto read = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<ReadField, sizeof...(I) + 1>{&read_alternative<First, Variant, 0>,
                                                   &read_alternative<Rest, Variant, I + 1>...};
  }(std::make_index_sequence<sizeof...(Rest)>());
  static constexpr VariantTable table = {
      {key.data(), key.size()}, tag_of<First>.name, alternatives, read.data(), read.size()};
};

template <Integer T>
void read_integer(Reader& in, T& value) {
  if constexpr (std::is_signed_v<T>) {
    value = static_cast<T>(in.int64(integer_range<T>));
  } else {
    value = static_cast<T>(in.uint64(integer_range<T>));
  }
}

void read_float(Reader& in, float& value);

template <class T>
void read_value(Reader& in, T& value, Violations& wrong) {
  require_form<T>();
  if constexpr (ReadsByMember<T>) {
    value.read_json(in, wrong);
  } else if constexpr (ReadsAndCollects<T>) {
    read_json(in, value, wrong);
  } else if constexpr (ReadsItself<T>) {
    read_json(in, value);
  } else if constexpr (TextValue<T>) {
    value = in.value<T>();
  } else if constexpr (std::same_as<T, bool>) {
    value = in.boolean();
  } else if constexpr (Integer<T>) {
    read_integer(in, value);
  } else if constexpr (std::same_as<T, float>) {
    read_float(in, value);
  } else if constexpr (std::floating_point<T>) {
    value = static_cast<T>(in.number());
  } else if constexpr (std::is_enum_v<T>) {
    const auto found = enum_value<T>(in.string());
    if (found) {
      value = *found;
    } else if (!in.failed()) {
      wrong_enum_name(in, keel::internal::EnumTable<T>::names, wrong);
    }
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::string_view>) {
    value = in.string();
  } else if constexpr (is_optional<T>) {
    if (in.try_null()) {
      value.reset();
    } else {
      read_value(in, value.emplace(), wrong);
    }
  } else if constexpr (is_patch<T>) {
    if (in.try_null()) {
      value.set_null();
    } else {
      read_value(in, value.emplace(), wrong);
    }
  } else if constexpr (Variant<T>) {
    read_variant(in, VariantReaders<T, Alternatives<T>>::table, &value, wrong);
  } else if constexpr (is_byte_array<T>) {
    read_byte_array(in, value.data(), value.size(), wrong);
  } else if constexpr (ByteList<T>) {
    const std::string_view text = in.string();
    value.resize(decoded_size(text));
    value.resize(decode_bytes(in, text, value.data(), value.size(), wrong));
  } else if constexpr (is_std_array<T>) {
    using Element = typename T::value_type;
    static constexpr ArrayTable table = {&read_field<Element>, std::tuple_size_v<T>, sizeof(Element),
                                         form_of<Element>()};
    read_array(in, table, value.data(), wrong);
  } else if constexpr (Map<T>) {
    value.clear();
    if (!in.begin_object()) return;
    const int depth = in.depth();
    while (const auto key = in.next_key()) {
      if constexpr (is_map_key_text<T>()) {  // For any other type of key, only the error of require_form() is reported.
        const auto [at, is_new] = value.try_emplace(typename T::key_type(*key));
        if (!is_new) return refuse_second(in, wrong);
        read_value(in, at->second, wrong);
        if (in.failed() && !collect(in, depth, wrong)) return;
      }
    }
  } else if constexpr (BoolList<T>) {
    value.clear();
    if (!in.begin_array()) return;
    const int depth = in.depth();
    while (in.next_element()) {
      value.push_back(in.boolean());
      if (in.failed() && !collect(in, depth, wrong)) return;
    }
  } else if constexpr (List<T>) {
    using Element = typename T::value_type;
    value.clear();
    static constexpr ListTable table = {
        [](void* list) -> void* { return __builtin_addressof(static_cast<T*>(list)->emplace_back()); },
        &read_field<Element>, form_of<Element>()};
    read_list(in, table, &value, wrong);
    // For any other type, only the error of require_form() is reported.
  } else if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
    void* fields[Fields<T>::count + 1];
    fields[Fields<T>::count] = nullptr;
    Fields<T>::visit(value, TakeAddresses{fields});
    read_object(in, Readers<T, keel::internal::FieldTypes<T>>::table, fields, &value, wrong);
  }
}

// Writing.

using WriteField = void (*)(Writer& out, const void* field);

struct WriteTable {
  const std::string_view* keys;
  const WriteField* write;
  // Null if no field can be absent; otherwise, for each field, null or a function.
  bool (*const* is_absent)(const void* field);
  std::size_t count;
  const Form* forms = nullptr;  // The form of each field; null: each field has the form Other.
};

void write_object(Writer& out, const WriteTable& table, void* const* fields, Tag tag = {});

// Describes `count` consecutive elements, each `stride` bytes long.
struct ElementTable {
  WriteField write;
  std::size_t stride;
  Form form;
};
void write_elements(Writer& out, const ElementTable& table, const void* first, std::size_t count);
[[noreturn, gnu::cold]] void throw_valueless();
void write_float(Writer& out, float value);
[[noreturn, gnu::cold]] void throw_nameless(std::int64_t value);

template <class T>
void write_value(Writer& out, const T& value);

template <class T>
void write_field(Writer& out, const void* field) {
  write_value(out, *static_cast<const T*>(field));
}
template <class T>
bool is_absent_field(const void* field) {
  return static_cast<const T*>(field)->is_absent();
}
template <class T>
consteval auto absence() {
  bool (*function)(const void*) = nullptr;
  if constexpr (is_patch<T>) function = &is_absent_field<T>;
  return function;
}

template <class T, class List>
struct Writers;
template <class T, class... Field>
struct Writers<T, keel::internal::TypeList<Field...>> {
  static constexpr WriteField write[] = {&write_field<std::remove_const_t<Field>>..., nullptr};
  static constexpr bool (*is_absent[])(const void*) = {absence<std::remove_const_t<Field>>()..., nullptr};
  static constexpr Form forms[] = {form_of<std::remove_const_t<Field>>()..., Form::Other};
  static constexpr WriteTable table = {Names<T>::keys.data(), write,
                                       (is_patch<std::remove_const_t<Field>> || ...) ? is_absent : nullptr,
                                       sizeof...(Field), forms};
};

template <class Variant>
using WriteAlternative = void (*)(Writer& out, const Variant& variant);
template <class T, class Variant>
void write_alternative(Writer& out, const Variant& variant) {
  void* fields[Fields<T>::count + 1];
  fields[Fields<T>::count] = nullptr;
  Fields<T>::visit(get<T>(variant), TakeAddresses{fields});
  write_object(out, Writers<T, keel::internal::FieldTypes<T>>::table, fields, tag_of<T>);
}

template <class T>
void write_value(Writer& out, const T& value) {
  require_form<T>();
  if constexpr (WritesByMember<T>) {
    value.write_json(out);
  } else if constexpr (WritesItself<T>) {
    write_json(out, value);
  } else if constexpr (TextValue<T>) {
    out.string(value.text());
  } else if constexpr (std::same_as<T, bool>) {
    out.boolean(value);
  } else if constexpr (Integer<T>) {
    if constexpr (std::is_signed_v<T>) {
      out.integer(value);
    } else {
      out.unsigned_integer(value);
    }
  } else if constexpr (std::same_as<T, float>) {
    write_float(out, value);
  } else if constexpr (std::floating_point<T>) {
    out.number(static_cast<double>(value));
  } else if constexpr (std::is_enum_v<T>) {
    const std::string_view name = enum_name(value);
    if (name.empty()) throw_nameless(static_cast<std::int64_t>(value));
    out.string(name);
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    out.string(value);
  } else if constexpr (is_optional<T> || is_patch<T>) {
    if (value.has_value()) {
      write_value(out, *value);
    } else {
      out.null();
    }
  } else if constexpr (Map<T>) {
    out.begin_object();
    for (const auto& [key, element] : value) {
      out.key(key);
      write_value(out, element);
    }
    out.end_object();
  } else if constexpr (Variant<T>) {
    if (value.valueless_by_exception()) throw_valueless();
    [&]<class... A>(keel::internal::TypeList<A...>) {
      require_tags<A...>();
      static constexpr WriteAlternative<T> write[] = {&write_alternative<A, T>...};
      write[value.index()](out, value);
    }(Alternatives<T>());
  } else if constexpr (is_byte_array<T> || ByteList<T>) {
    out.base64(value);
  } else if constexpr (Contiguous<T>) {
    using Element = std::remove_cv_t<typename T::value_type>;
    static constexpr ElementTable table = {&write_field<Element>, sizeof(Element), form_of<Element>()};
    write_elements(out, table, value.data(), value.size());
  } else if constexpr (List<T> || is_std_array<T>) {
    out.begin_array();
    for (const auto& element : value) write_value<typename T::value_type>(out, element);
    out.end_array();
    // For any other type, only the error of require_form() is reported.
  } else if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
    void* fields[Fields<T>::count + 1];
    fields[Fields<T>::count] = nullptr;
    Fields<T>::visit(value, TakeAddresses{fields});
    write_object(out, Writers<T, keel::internal::FieldTypes<T>>::table, fields);
  }
}

}  // namespace keel::json::internal
