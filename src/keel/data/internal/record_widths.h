// Gives the numbers in a Record the types that they have in the struct from which the Record was made. The types have
// to be restored because the Record was made from CBOR, which does not keep the widths of numbers.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/data/fields.h"
#include "keel/data/internal/binary_fields.h"
#include "keel/data/record.h"

namespace keel {

// `to` must have been made from the fields of `from`, so that the elements of lists have the same order.
struct Record::Widths {
  template <class T>
  static void keep_fields(const T& from, const Record& to) {
    if constexpr (std::same_as<T, Record>) {
      for (const Field field : from) keep_value(field.value, to.find(field.name));
    } else if constexpr (has_fields<T>()) {
      each_field(from, to);
    }
  }

 private:
  template <class T>
  static constexpr bool has_fields() {
    return std::is_class_v<T> && !binary::internal::WritesItself<T, binary::Cbor> && !json::internal::Variant<T> &&
           !json::internal::Map<T>;
  }
  template <class T>
  static constexpr bool is_number() {
    return std::is_arithmetic_v<T> && !std::same_as<T, bool> && !std::same_as<T, double>;
  }
  // Whether the elements of a list of this type already have the right type in a Record.
  template <class T>
  static constexpr bool has_no_width() {
    return std::is_arithmetic_v<T> ? !is_number<T>() : std::is_enum_v<T> || is_text<T>();
  }
  template <class T>
  static constexpr bool is_text() {
    return std::convertible_to<const T&, std::string_view> || std::same_as<T, Timestamp> ||
           std::same_as<T, keel::Uuid> || TextValue<T>;
  }

  // `of` is either a Record or a Value.
  template <class T, class Of>
  static void each_field(const T& from, const Of& of) {
    Fields<T>::visit(from, [&of](const auto&... field) {
      [[maybe_unused]] std::size_t i = 0;
      (keep(field, of.find(json::internal::Names<T>::names[i++])), ...);
    });
  }

  // `to` is null if the Record does not have this value; then nothing is done.
  template <class T>
  static void keep(const T& from, const Value* to) {
    if constexpr (is_number<T>()) {
      if (to == nullptr) return;
      // Integers of all types are stored in the same way, so only the type is replaced.
      const_cast<Value*>(to)->bytes_[0] = static_cast<unsigned char>(Input(from).scalar_.kind());
    } else if constexpr (std::same_as<T, Record>) {
      for (const Field field : from) keep_value(field.value, to == nullptr ? to : to->find(field.name));
    } else if constexpr (has_no_width<T>() || binary::internal::WritesItself<T, binary::Cbor>) {
    } else if constexpr (json::internal::is_optional<T> || json::internal::is_patch<T>) {
      if (from.has_value()) keep(*from, to);
    } else if constexpr (json::internal::Variant<T>) {
      keep_alternative(from, to, json::internal::Alternatives<T>());
    } else if constexpr (json::internal::Map<T>) {
      if constexpr (!has_no_width<typename T::mapped_type>()) {
        for (const auto& [key, value] : from) keep(value, to == nullptr ? to : to->find(key));
      }
    } else if constexpr (json::internal::is_byte_array<T> || json::internal::ByteList<T>) {
    } else if constexpr (json::internal::List<T> || json::internal::is_std_array<T>) {
      if constexpr (!has_no_width<typename T::value_type>()) {
        if (to == nullptr) return;
        const Value* at = to->elements().data();
        for (const auto& element : from) keep(element, at++);
      }
    } else if (to != nullptr) {
      each_field(from, *to);
    }
  }
  template <class Variant, class... T>
  static void keep_alternative(const Variant& from, const Value* to, keel::internal::TypeList<T...>) {
    using std::get;  // Without this declaration, `get` would mean Record::get().
    std::size_t i = 0;
    ((i++ == from.index() ? keep(get<T>(from), to) : void()), ...);
  }
  static void keep_value(const Value& from, const Value* to) {
    if (to == nullptr) return;
    switch (from.kind()) {
      case Kind::Array:
        for (std::size_t i = 0; i < from.size(); ++i) keep_value(from.elements()[i], &to->elements()[i]);
        break;
      case Kind::Record:
        for (const Field field : from) keep_value(field.value, to->find(field.name));
        break;
      default:
        if (from.kind() >= Kind::Int8 && from.kind() <= Kind::Double)
          const_cast<Value*>(to)->bytes_[0] = from.bytes_[0];
    }
  }
};

}  // namespace keel
