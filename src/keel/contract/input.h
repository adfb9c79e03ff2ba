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
// Numbers are written as in JSON, alone as in a list: 16, 16.0 and 1.6e1 are one integer, 016 and +16 are none. An
// element of a list in a header may be a quoted-string, which may have commas.
//
// Result:   finish(): of all that is wrong, one error. 400 when a parameter is missing or cannot be read; 422 when one
//           is of its type, and not as its schema says. "errors" have a "parameter": its name, and behind it which
//           part, "tags[2]" or "filter[color]". json(), form(), text_body(): 400, 415 or 422 as Request::json() and
//           form() (http/server/input.h).
// Errors:   a name that the route does not have is a Bug (base/bug.h).
// Lifetime: of the request; views in what was read live as long as it.
// Threads:  the worker of the request.
// Cost:     of a plain value what it costs to find and to read it. Of others an array in the request's arena.

#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/result.h"
#include "keel/contract/parameter.h"
#include "keel/data/json_parse.h"
#include "keel/data/violations.h"
#include "keel/http/server/input.h"
#include "keel/http/server/rejection.h"
#include "keel/http/server/request.h"

namespace keel::contract {

class Input {
 public:
  explicit Input(http::Request& request) noexcept : request_(request) {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // A text, a bool, a number, or what has a parse(); `check` tells why it is not as its schema says.
  template <class To, class T>
  void value(const Parameter& parameter, To& to, Complaint (*check)(const T&)) {
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
  // That a body which its handler reads has been sent: 400 when the request has neither content nor a Content-Type. A
  // body of no bytes that has a type, an empty file, is one.
  Result<> streamed_body() const;
  // Whether the body is of this media type: "application/json", "text/*".
  bool is_body(std::string_view media_type) const noexcept;

 private:
  using ReadField = internal::ReadField;

  template <class T, class To>
  void read_value(const Parameter& parameter, To& to, Complaint (*check)(const T&)) {
    const auto given = find(parameter);
    if (!given) return;
    T& room = internal::room_in<T>(to);
    if constexpr (std::same_as<T, bool>) {
      if (*given != "true" && *given != "false") return refuse(parameter, {"expected true or false", "type"});
      room = *given == "true";
    } else if constexpr (TextValue<T>) {
      Result<T> parsed = T::parse(*given);
      if (!parsed) return refuse(parameter, {T::expected, "format"});
      room = *std::move(parsed);
    } else if constexpr (std::integral<T>) {
      std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t> wide = 0;
      Complaint why = read_integer(*given, wide);
      if (!why && !std::in_range<T>(wide)) why = {"number out of range", "format"};
      if (why) return refuse_number(parameter, why);
      room = static_cast<T>(wide);
    } else if constexpr (std::floating_point<T>) {
      if (const Complaint why = read_number(*given, room)) return refuse_number(parameter, why);
    } else {
      if (!take_text(parameter, *given)) return;
      room = *given;
    }
    if (check != nullptr) {
      if (const Complaint why = check(room)) reject(parameter, why);
    }
  }

  // As JSON has numbers, in lists and alone: no leading zero, no '+'.
  static Complaint read_integer(std::string_view text, std::int64_t& value);
  static Complaint read_integer(std::string_view text, std::uint64_t& value);
  static Complaint read_number(std::string_view text, double& value);
  static Complaint read_number(std::string_view text, float& value);
  // 422 for one that is out of range, else 400.
  [[gnu::cold]] void refuse_number(const Parameter& parameter, Complaint why);
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
  [[gnu::cold]] void refuse(const Parameter& parameter, Complaint why, std::string_view part = {});
  [[gnu::cold]] void reject(const Parameter& parameter, Complaint why, std::string_view part = {});

  static constexpr std::size_t pairs_max = 256;

  http::Request& request_;
  bool misfits_ = false;  // Of the value at hand: a text is not what it would have to be.
  Violations unreadable_;
  Violations wrong_;
};

}  // namespace keel::contract
