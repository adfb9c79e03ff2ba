// keel/contract/input.h — what a client has sent, read as a contract says: for generated code.
//
//   constexpr contract::Parameter limit = {.name = "limit", .place = contract::Place::Query};
//   contract::Input in(request);
//   in.value(limit, to.limit, &check_limit);                  // to.limit is an int, or a std::optional of one
//   in.text<&read_state>(state, contract::Form::Text, to.state);
//   KEEL_TRY_VOID(in.finish());
//   KEEL_TRY_VOID(in.json<&read_new_order>(to.body));
//
// Parameters are serialised as OpenAPI's `style` and `explode` say (3.1.1 §4.8.12). Plain values are read as they are.
// Others become the JSON that they stand for, and are read, and checked, as JSON is. So do the fields of a form.
//
// Result:   finish(): of all that is wrong, one error. 400 when a parameter is missing or cannot be read; 422 when one
//           is of its type, and not as its schema says. "errors" have a "parameter": its name, and behind it which
//           part, "tags[2]" or "filter[color]". json(), form(), text_body(): 400, 415 or 422 as Request::json() and
//           form() (http/server/input.h).
// Errors:   a name that the route does not have is a Bug (base/bug.h).
// Lifetime: of the request; views in what was read live as long as it.
// Cost:     of a plain value what it costs to find and to read it. Of others an array in the request's arena.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/result.h"
#include "keel/data/json_parse.h"
#include "keel/http/server/input.h"
#include "keel/http/server/rejection.h"
#include "keel/http/server/request.h"

namespace keel::contract {

enum class Place : std::uint8_t { Path, Query, Header, Cookie };
enum class Style : std::uint8_t { Simple, Label, Matrix, Form, SpaceDelimited, PipeDelimited, DeepObject };

struct Parameter {
  std::string_view name;
  Place place;
  Style style = Style::Form;
  bool explodes = true;
  bool is_required = false;
  std::string_view in_route = {};  // Of Place::Path: its name in the route's pattern.
};

// What a text stands for in JSON.
enum class Form : std::uint8_t {
  Text,      // A string.
  Bare,      // A number, true or false; "null" too where it may be null.
  Either,    // What it looks like: a number, true, false, null, or else a string.
  File,      // Bytes: a string in base64.
  TextList,  // Lists of these.
  BareList,
  EitherList,
  FileList,
  Json,  // It is JSON.
};
// A field of a form, or of an object in a parameter.
struct Field {
  std::string_view name;
  Form form;
};

// Of read_json() that for a T, as an argument of the templates here.
template <class T>
constexpr auto reader(void (*read)(json::Reader&, T&, Violations&)) noexcept {
  return read;
}

namespace internal {

// Where a T goes that is read: into itself, or into what may be absent.
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

class Input {
 public:
  explicit Input(http::Request& request) noexcept : request_(request) {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // A text, a bool, a number, or what has a parse(); `check` tells why it is not as its schema says, or null.
  template <class To, class T>
  void value(const Parameter& parameter, To& to, const char* (*check)(const T&)) {
    read_value<T>(parameter, to, check);
  }
  template <class To>
  void value(const Parameter& parameter, To& to) {
    read_value<typename internal::PlainOf<To>::Type>(parameter, to, nullptr);
  }
  // Everything else that is one text.
  template <auto read, class To>
  void text(const Parameter& parameter, Form form, To& to) {
    if (const auto given = find(parameter))
      read_text(parameter, form, *given, &internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }
  // `form` is that of an element.
  template <auto read, class To>
  void list(const Parameter& parameter, Form form, To& to) {
    if (const auto given = find_list(parameter, form))
      read_json(parameter, *given, &internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }
  // `fields` are those that it has by name; others are `others`.
  template <auto read, class To>
  void object(const Parameter& parameter, std::span<const Field> fields, Form others, To& to) {
    if (const auto given = find_object(parameter, fields, others))
      read_json(parameter, *given, &internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }
  Result<> finish();

  // The body. Absent: it was not sent, and need not be.
  template <auto read, class To>
  Result<> json(To& to, bool is_required = true) {
    if (!is_required && request_.body().empty()) return {};
    return read_body(&internal::ReadBy<read>::body, internal::ReadBy<read>::room(to));
  }
  template <auto read, class To>
  Result<> form(std::span<const Field> fields, Form others, To& to, bool is_required = true) {
    if (!is_required && request_.body().empty()) return {};
    return read_form(fields, others, &internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }
  template <class To>
  Result<> text_body(To& to, bool is_required = true) {
    if (!is_required && request_.body().empty()) return {};
    KEEL_TRY(const std::string_view text, read_text_body());
    internal::room_in<typename internal::PlainOf<To>::Type>(to) = text;
    return {};
  }
  // Whether the body is of this media type: "application/json", "text/*".
  bool is_body(std::string_view media_type) const noexcept;

 private:
  using ReadField = internal::ReadField;

  template <class T, class To>
  void read_value(const Parameter& parameter, To& to, const char* (*check)(const T&)) {
    const auto given = find(parameter);
    if (!given) return;
    T& room = internal::room_in<T>(to);
    if constexpr (std::same_as<T, bool>) {
      if (*given != "true" && *given != "false") return refuse(parameter, "expected true or false");
      room = *given == "true";
    } else if constexpr (TextValue<T>) {
      Result<T> parsed = T::parse(*given);
      if (!parsed) return refuse(parameter, T::expected);
      room = *std::move(parsed);
    } else if constexpr (std::integral<T> || std::floating_point<T>) {
      const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), room);
      if (error == std::errc::result_out_of_range && std::integral<T>) return reject(parameter, out_of_range);
      bool is_good = error == std::errc() && end == given->data() + given->size();
      if constexpr (std::floating_point<T>) is_good = is_good && room - room == 0;
      if (!is_good) return refuse(parameter, std::floating_point<T> ? "expected a number" : "expected an integer");
    } else {
      if (!take_text(parameter, *given)) return;
      room = *given;
    }
    if (check != nullptr) {
      if (const char* const why = check(room)) reject(parameter, why);
    }
  }

  static constexpr const char* out_of_range = "is out of range";
  std::optional<std::string_view> find(const Parameter& parameter);
  std::optional<std::string_view> find_list(const Parameter& parameter, Form element);
  std::optional<std::string_view> find_object(const Parameter& parameter, std::span<const Field> fields, Form others);
  // What it is behind its style's decoration, not decoded; nullopt when it is not there, which may be wrong.
  std::optional<std::string_view> find_raw(const Parameter& parameter);
  std::optional<std::string_view> decode(const Parameter& parameter, std::string_view raw);
  bool take_text(const Parameter& parameter, std::string_view text);
  void read_text(const Parameter& parameter, Form form, std::string_view text, ReadField read, void* value);
  void read_json(const Parameter& parameter, std::string_view json, ReadField read, void* value);
  Result<> read_body(bool (*read)(void*, std::string_view, Arena&, Violations&), void* value);
  Result<> read_form(std::span<const Field> fields, Form others, ReadField read, void* value);
  Result<std::string_view> read_text_body();
  // It cannot be read, 400; it is not as its schema says, 422.
  [[gnu::cold]] void refuse(const Parameter& parameter, std::string_view words, std::string_view part = {});
  [[gnu::cold]] void reject(const Parameter& parameter, std::string_view words, std::string_view part = {});

  static constexpr std::size_t pairs_max = 256;

  http::Request& request_;
  bool misfits_ = false;  // Of the value at hand: a text is not what it would have to be.
  Violations unreadable_;
  Violations wrong_;
};

}  // namespace keel::contract
