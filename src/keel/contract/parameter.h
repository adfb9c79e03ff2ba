// keel/contract/parameter.h — for generated code: how a contract serializes parameters and forms (OpenAPI 3.1.1
// §4.8.12). Input reads parameters and forms (input.h), and Output writes them (output.h).

#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/data/json_parse.h"

namespace keel::contract {

// Where in a request a parameter stands.
enum class Place : std::uint8_t { Path, Query, Header, Cookie };
// How the value of a parameter is written (OpenAPI 3.1, 4.8.12).
enum class Style : std::uint8_t { Simple, Label, Matrix, Form, SpaceDelimited, PipeDelimited, DeepObject };

struct Parameter {
  std::string_view name;
  Place place;
  Style style = Style::Form;
  bool explodes = true;
  bool is_required = false;
  std::string_view in_route = {};  // For Place::Path, the parameter's name in the route's pattern.
};

// Which JSON value a text represents.
enum class Form : std::uint8_t {
  Text,      // A string.
  Bare,      // A number, true or false; also null, if the value may be null.
  Either,    // A number, true, false or null if the text looks like one of them; otherwise a string.
  File,      // A string that contains the file's bytes in base64.
  TextList,  // This and the next four forms are lists. The elements of a list have one of the forms above, or are JSON.
  BareList,
  EitherList,
  FileList,
  JsonList,
  Json,  // The text is JSON.
};
// A field of a form, or of an object in a parameter.
struct Field {
  std::string_view name;
  Form form;
  // In multipart/form-data, the media types that the field's part may have: "image/png, image/*". Empty: any.
  std::string_view media_types = {};
};
// A file of a form that is read as it arrives.
struct FileRule {
  std::string_view name;
  std::string_view media_types = {};  // As in Field.
  bool is_required = false;
  bool is_list = false;  // Whether several files may have this name.
  std::uint64_t bytes_min = 0;
  std::uint64_t bytes_max = UINT64_MAX;
  std::uint64_t count_min = 0;  // The smallest number of files in a list that is not empty.
  std::uint64_t count_max = UINT64_MAX;
};

// Selects the overload of read_json() for T, so that this overload can be an argument of the templates in this module.
template <class T>
constexpr auto reader(void (*read)(json::Reader&, T&, Violations&)) noexcept {
  return read;
}

namespace internal {

// Returns the place where a value of type T is stored when it is read: `to` itself, or the value in an optional `to`.
template <class T, class To>
T& room_in(To& to) {
  if constexpr (std::same_as<T, To>) {
    return to;
  } else {
    return to.emplace();
  }
}
template <class To>
struct PlainOf {
  using Type = To;
};
template <class T>
struct PlainOf<std::optional<T>> {
  using Type = T;
};

template <auto read>
struct ReadBy;
template <class T, void (*read)(json::Reader&, T&, Violations&)>
struct ReadBy<read> {
  template <class To>
  static void* room(To& to) {
    return &room_in<T>(to);
  }
  static void field(json::Reader& in, void* value, Violations& wrong) { read(in, *static_cast<T*>(value), wrong); }
  static bool body(void* value, std::string_view text, Arena& arena, Violations& wrong) {
    return json::internal::read_text(text, arena, {}, &field, value, wrong);
  }
};

using ReadField = void (*)(json::Reader& in, void* value, Violations& wrong);

}  // namespace internal

}  // namespace keel::contract
