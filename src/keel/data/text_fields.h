// keel/data/text_fields.h — reads named texts, such as those of a query or a form, into structs, without code for each
// field.
//
//   struct Filter {
//     std::optional<std::string> state;
//     std::vector<std::string> tag;                          // may come several times
//     int limit = 20;
//     static constexpr std::string_view optional_fields[] = {"limit"};
//   };
//   const NamedText texts[] = {{"tag", "new"}, {"tag", "paid"}, {"limit", "50"}};
//   Filter filter;
//   Violations wrong;
//   if (!read_texts(filter, texts, wrong)) …                 // the pointer of a violation is the name
//
// The following types of fields are supported (fields.h and rules.h apply to the struct too):
//   std::string, std::string_view   UTF-8; a view of the text itself
//   bool                            "true", "1", "on" or "false", "0", "off"
//   integers, float, double         decimal; what does not fit, and NaN and infinity, are violations
//   enum                            its name (enum_names.h)
//   Uuid, Timestamp, Date, Decimal, TextValue: base/text_value.h
//   std::optional<T> of these       empty when the name is absent
//   std::vector, deque, list        of each text of this name, in order; none when the name is absent
//   your own                        const char* read_text(const NamedText& in, T& value) beside the type; it returns
//                                   what is wrong, a literal, or null
//
// Because a web page sends every input field, whether filled in or not, an empty text counts as absent, except for a
// std::string, a std::string_view and a type of your own. If a name is repeated where only one value is expected, this
// is a violation. Names that the struct does not have are skipped, unless the struct is strict.
//
// Errors:   all violations, not only the first violation (violations.h); is_malformed() is always false.
// Lifetime: views are valid as long as the texts exist.
// Cost:     one pass; heap memory only for strings and lists of the struct.

#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "keel/data/internal/json_fields.h"

namespace keel {

// A name and a text: a parameter of a query, or a field of a form.
struct NamedText {
  std::string_view name;
  std::string_view text;
  const void* source = nullptr;  // For a read_text() that must know where the text comes from.
  // Whether the text is the content of an uploaded file; types that expect a text reject a file.
  bool is_file = false;
};

namespace internal {

template <class T>
concept ReadsText = requires(const NamedText& in, T& value) {
  { read_text(in, value) } -> std::same_as<const char*>;
};

// The reason why a text does not have the form of its type.
struct TextFault {
  std::string words;
  std::string_view keyword = {};
  [[gnu::cold]] bool set(std::string_view why, std::string_view of) {
    words = why;
    keyword = of;
    return false;
  }
};
// Reads the text into the field. Returns false if the text does not have the form of the type.
using ReadText = bool (*)(const NamedText& in, void* field, TextFault& fault);

struct TextTable {
  const std::string_view* names;
  const std::uint8_t* slots;
  const ReadText* read;
  void (*rules)(const void* object, Check& check);  // May be null.
  std::uint64_t required;                           // One bit for each field; the same holds for the masks below.
  std::uint64_t lists;
  std::uint64_t takes_empty;
  std::uint8_t count;
  std::uint8_t slot_bits;
  bool is_strict;
};

bool read_texts(std::span<const NamedText> texts, const TextTable& table, void* const* fields, const void* object,
                Violations& wrong);

bool read_string(const NamedText& in, std::string_view& value, TextFault& fault);
bool read_boolean(std::string_view text, bool& value, TextFault& fault);
bool refuse_integer(std::string_view text, const IntegerRange& range, TextFault& fault);
bool read_floating(std::string_view text, double& value, TextFault& fault);
bool read_floating(std::string_view text, float& value, TextFault& fault);
[[gnu::cold]] void wrong_name(const EnumNames& names, TextFault& fault);

template <class T>
concept TextList = json::internal::List<T> && !ReadsText<T> && !TextValue<T>;

template <class T>
bool read_one_text(const NamedText& in, T& value, TextFault& fault) {
  if constexpr (json::internal::is_optional<T>) {
    if (read_one_text(in, value.emplace(), fault)) return true;
    value.reset();
    return false;
  } else if constexpr (ReadsText<T>) {
    const char* const problem = read_text(in, value);
    if (problem != nullptr) fault.set(problem, {});
    return problem == nullptr;
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::string_view>) {
    std::string_view text;
    if (!read_string(in, text, fault)) return false;
    value = text;
    return true;
  } else if constexpr (TextValue<T>) {
    Result<T> parsed = T::parse(in.text);
    if (parsed) {
      value = *std::move(parsed);
    } else {
      fault.set(T::expected, "format");
    }
    return parsed.has_value();
  } else if constexpr (std::same_as<T, bool>) {
    return read_boolean(in.text, value, fault);
  } else if constexpr (json::internal::Integer<T>) {
    const auto [end, error] = std::from_chars(in.text.data(), in.text.data() + in.text.size(), value);
    if (error == std::errc() && end == in.text.data() + in.text.size()) return true;
    return refuse_integer(in.text, integer_range<T>, fault);
  } else if constexpr (std::same_as<T, float> || std::same_as<T, double>) {
    return read_floating(in.text, value, fault);
  } else if constexpr (std::is_enum_v<T>) {
    const auto found = enum_value<T>(in.text);
    if (found) {
      value = *found;
    } else {
      wrong_name(EnumTable<T>::names, fault);
    }
    return found.has_value();
  } else {
    static_assert(
        ReadsText<T>,
        "a field of a query or a form must be text, a bool, a number, an enum, a type with parse() and text(), or a "
        "std::optional or a std::vector of one of these: send a struct, a map and the like as JSON");
    return false;
  }
}

template <class T>
bool read_text_field(const NamedText& in, void* field, TextFault& fault) {
  if constexpr (TextList<T>) {
    if constexpr (std::same_as<typename T::value_type, bool>) {
      bool value = false;
      const bool is_good = read_one_text(in, value, fault);
      static_cast<T*>(field)->push_back(value);
      return is_good;
    } else {
      return read_one_text(in, static_cast<T*>(field)->emplace_back(), fault);
    }
  } else {
    return read_one_text(in, *static_cast<T*>(field), fault);
  }
}

template <class T>
consteval bool takes_empty_text() {
  if constexpr (json::internal::is_optional<T> || TextList<T>) {
    return takes_empty_text<typename T::value_type>();
  } else {
    return std::same_as<T, std::string> || std::same_as<T, std::string_view> || ReadsText<T>;
  }
}

template <class T, class List>
struct TextReaders;
template <class T, class... Field>
struct TextReaders<T, TypeList<Field...>> {
  using Json = json::internal::Readers<T, TypeList<Field...>>;
  using Names = json::internal::Names<T>;
  static constexpr std::uint64_t bits(std::initializer_list<bool> of_fields) {
    std::uint64_t bits = 0;
    std::uint64_t bit = 1;
    for (const bool is_set : of_fields) {
      if (is_set) bits |= bit;
      bit <<= 1;
    }
    return bits;
  }
  static constexpr std::uint64_t lists = bits({TextList<Field>...});
  static constexpr ReadText read[] = {&read_text_field<Field>..., nullptr};
  static constexpr TextTable table = {Names::names.data(),
                                      Names::slots.data(),
                                      read,
                                      Json::rules,
                                      Json::all & ~Json::may_be_absent & ~lists,
                                      lists,
                                      bits({takes_empty_text<Field>()...}),
                                      static_cast<std::uint8_t>(sizeof...(Field)),
                                      static_cast<std::uint8_t>(Names::slot_bits),
                                      is_strict<T>()};
};

}  // namespace internal

// Reads the texts into `value`, which must be equal to T() before the call. Returns false if `wrong` has violations;
// even then, all valid values have been read. The function clears `wrong` first.
template <class T>
bool read_texts(T& value, std::span<const NamedText> texts, Violations& wrong) {
  value = T();
  void* fields[Fields<T>::count + 1];
  Fields<T>::visit(value, json::internal::TakeAddresses{fields});
  return internal::read_texts(texts, internal::TextReaders<T, internal::FieldTypes<T>>::table, fields, &value, wrong);
}

}  // namespace keel
