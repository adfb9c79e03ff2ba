// keel/contract/input.h — for generated code: reads a request as the contract describes it.
//
//   constexpr contract::Parameter limit = {.name = "limit", .place = contract::Place::Query};
//   contract::Input in(request);
//   in.value(limit, to.limit, &check_limit);                  // to.limit is an int, or a std::optional of one
//   in.text<&read_state>(state, contract::Form::Text, to.state);
//   KEEL_TRY_VOID(in.finish());
//   KEEL_TRY_VOID(in.json<&read_new_order>(to.body));
//
// An operation describes its input by constants, which receive() interprets, so that the compiler has almost no code to
// generate for each operation:
//
//   constexpr contract::Received parameters[] = {
//       {limit, offsetof(ListOrdersRequest, limit), &contract::take_value<int>, &contract::checked<&check_limit>}};
//   constexpr contract::Asked asked = {parameters};
//
// Parameters are serialized according to OpenAPI's `style` and `explode` (3.1.1 §4.8.12). Plain values are read
// directly. Values that are not plain, and the fields of a form, are converted to the JSON that they represent, and
// then read and checked like JSON. Numbers, also those in lists, are written as in JSON: 16, 16.0 and 1.6e1 are the
// same integer; 016 and +16 are not numbers. In a header, an element of a list may be a quoted-string, and so may a
// name or a value of an object; a quoted-string may contain commas. In a header, empty elements are ignored (an empty
// text is written ""), and so are blanks around the commas. Several header fields with the same name form one list. In
// a header, if an object is written as `name,value,name,value`, an empty element in the place of a value is an empty
// value. A oneOf of a text and a list is read as the text if there is one value, and as the list if there are several.
//
// Result:   finish() returns one error that lists all violations: 400 if a parameter is missing or cannot be read, and
//           422 if all parameters can be read but at least one does not match its schema. Each of the "errors" has a
//           "parameter": the parameter's name, followed by the part that is wrong, as in "tags[2]" or "filter[color]".
//           json(), form() and text_body() return 400, 415 or 422, as Request::json() and form() do
//           (http/server/input.h).
// Errors:   a path parameter that the route does not have is a Bug (base/bug.h).
// Lifetime: that of the request; the values that were read may contain views, which are valid as long as the request.
// Threads:  the worker of the request.
// Cost:     a scalar is found and read in place; a list or an object allocates an array in the request's arena.

#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/integer_range.h"
#include "keel/base/result.h"
#include "keel/contract/parameter.h"
#include "keel/data/json_parse.h"
#include "keel/data/violations.h"
#include "keel/http/server/input.h"
#include "keel/http/server/rejection.h"
#include "keel/http/server/request.h"

namespace keel::contract {

class Input;
struct ReceivedForm;

// Describes a parameter, and how to read it into the struct that the operation takes.
struct Received {
  Parameter parameter;
  // The offset of the parameter's member in the struct that the operation takes.
  std::size_t offset;
  void (*take)(Input& in, const Received& received, void* member);  // One of the take_…() functions below.
  Complaint (*check)(const void* value) = nullptr;                  // For take_value(): checked<…>.
  Form form =
      // The form of the text, or of a list's elements; for an object, the form of the members that are not in `fields`.
      Form::Text;
  std::span<const Field> fields = {};
  // For a oneOf whose alternatives include a list or an object, the form of the other alternatives.
  Form single = Form::Text;
};
// A JSON body.
struct ReceivedBody {
  std::size_t offset;
  bool (*read)(void* value, std::string_view text, Arena& arena, Violations& wrong);  // body_reader<…>.
  void* (*room)(void* member) = nullptr;  // room<…> if the body is optional; else null.
  bool is_required = true;
};
// The input of an operation: its parameters and its body.
struct Asked {
  std::span<const Received> parameters = {};
  const ReceivedBody* json = nullptr;
  Result<> (*body)(Input& in, void* to) = nullptr;  // Reads a body that is neither JSON nor `form`.
  // A form that is read as it arrives (files.h); receive() does not read it.
  const ReceivedForm* form = nullptr;
};
// Reads the parameters and the body into the struct at `to`; returns the error that Input::finish() would return.
Result<> receive(http::Request& request, const Asked& asked, void* to);

class Input {
 public:
  explicit Input(http::Request& request) noexcept : request_(request) {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // Reads a text, a bool, a number, or a type that has a parse(); `check` returns the reason if a value does not match
  // its schema.
  template <class To, class T>
  void value(const Parameter& parameter, To& to, Complaint (*check)(const T&)) {
    if (const T* const read = read_value<T>(parameter, to)) {
      if (const Complaint why = check(*read)) reject(parameter, why);
    }
  }
  template <class To>
  void value(const Parameter& parameter, To& to) {
    read_value<typename internal::PlainOf<To>::Type>(parameter, to);
  }
  // Reads any other value that is written as one text.
  template <auto read, class To>
  void text(const Parameter& parameter, Form form, To& to) {
    if (const auto given = find(parameter))
      read_text(parameter, form, *given, &internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }
  // Reads a list, whose elements have the form `form`.
  template <auto read, class To>
  void list(const Parameter& parameter, Form form, To& to) {
    if (const auto given = find_list(parameter, form))
      read_json(parameter, *given, &internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }
  // Reads an object; `fields` describes the members with a known name, and all other members have the form `others`.
  template <auto read, class To>
  void object(const Parameter& parameter, std::span<const Field> fields, Form others, To& to) {
    if (const auto given = find_object(parameter, fields, others))
      read_json(parameter, *given, &internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }
  // Reads a oneOf whose alternatives are texts and a list, or texts and an object in the style deepObject. `single` is
  // the form of the texts.
  template <auto read, class To>
  void text_or_list(const Parameter& parameter, Form single, Form element, To& to) {
    if (const auto given = find_text_or_list(parameter, single, element))
      read_json(parameter, *given, &internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }
  template <auto read, class To>
  void text_or_object(const Parameter& parameter, Form single, std::span<const Field> fields, Form others, To& to) {
    if (const auto given = find_text_or_object(parameter, single, fields, others))
      read_json(parameter, *given, &internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }
  Result<> finish();

  // The body. `to` stays absent when the client did not send an optional body.
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
  // For a handler that reads the body itself: checks that the client has sent a body, and returns 400 when the request
  // has neither content nor a Content-Type. An empty body with a Content-Type, such as an empty file, counts as sent.
  Result<> streamed_body() const;
  // Whether the body has this media type: "application/json", "text/*".
  bool is_body(std::string_view media_type) const noexcept;

 private:
  friend Result<> receive(http::Request& request, const Asked& asked, void* to);
  template <class To>
  friend void take_value(Input& in, const Received& received, void* member);
  using ReadField = internal::ReadField;

  // Returns null when the parameter was not sent, or cannot be read.
  template <class T, class To>
  const T* read_value(const Parameter& parameter, To& to) {
    const auto given = find(parameter);
    if (!given) return nullptr;
    T& room = internal::room_in<T>(to);
    Complaint why;
    if constexpr (std::same_as<T, bool>) {
      if (*given != "true" && *given != "false") why = {"expected true or false", "type"};
      room = *given == "true";
    } else if constexpr (TextValue<T>) {
      Result<T> parsed = T::parse(*given);
      if (parsed) {
        room = *std::move(parsed);
      } else {
        why = {T::expected, "format"};
      }
    } else if constexpr (std::integral<T>) {
      std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t> wide = 0;
      why = read_integer(*given, wide, integer_range<T>);
      if (why) {
        refuse_number(parameter, why);
        return nullptr;
      }
      room = static_cast<T>(wide);
    } else if constexpr (std::floating_point<T>) {
      why = read_number(*given, room);
      if (why) {
        refuse_number(parameter, why);
        return nullptr;
      }
    } else {
      if (!take_text(parameter, *given)) return nullptr;
      room = *given;
    }
    if (!why) return &room;
    refuse(parameter, why);
    return nullptr;
  }

  // Numbers, also those in lists, have the grammar of JSON: no leading zero, no '+'.
  static Complaint read_integer(std::string_view text, std::int64_t& value, const IntegerRange& range);
  static Complaint read_integer(std::string_view text, std::uint64_t& value, const IntegerRange& range);
  static Complaint read_number(std::string_view text, double& value);
  static Complaint read_number(std::string_view text, float& value);
  // Reports status 422 for a number that is out of range, else 400.
  [[gnu::cold]] void refuse_number(const Parameter& parameter, Complaint why);
  std::optional<std::string_view> find(const Parameter& parameter);
  std::optional<std::string_view> find_list(const Parameter& parameter, Form element);
  std::optional<std::string_view> find_object(const Parameter& parameter, std::span<const Field> fields, Form others);
  std::optional<std::string_view> find_text_or_list(const Parameter& parameter, Form single, Form element);
  std::optional<std::string_view> find_text_or_object(const Parameter& parameter, Form single,
                                                      std::span<const Field> fields, Form others);
  // Returns the value without the prefix of its style, not yet decoded. Returns nullopt if the parameter is absent; if
  // it is required, an error is added.
  std::optional<std::string_view> find_raw(const Parameter& parameter);
  std::optional<std::string_view> decode(const Parameter& parameter, std::string_view raw);
  bool take_text(const Parameter& parameter, std::string_view text);
  void read_text(const Parameter& parameter, Form form, std::string_view text, ReadField read, void* value);
  void read_json(const Parameter& parameter, std::string_view json, ReadField read, void* value);
  Result<> read_body(bool (*read)(void*, std::string_view, Arena&, Violations&), void* value);
  Result<> receive_body(const ReceivedBody& body, void* member);
  Result<> read_form(std::span<const Field> fields, Form others, ReadField read, void* value);
  Result<std::string_view> read_text_body();
  // refuse() reports that the parameter cannot be read (400); reject() reports that the parameter does not match its
  // schema (422).
  [[gnu::cold]] void refuse(const Parameter& parameter, Complaint why, std::string_view part = {});
  [[gnu::cold]] void reject(const Parameter& parameter, Complaint why, std::string_view part = {});

  static constexpr std::size_t pairs_max = 256;

  http::Request& request_;
  bool misfits_ = false;  // True if a text in the value being read lacks the required Form.
  Violations unreadable_;
  Violations wrong_;
};

// The values of Received::take in generated code: each of these functions calls a function of Input for a member of
// type To.
template <class To>
void take_value(Input& in, const Received& received, void* member) {
  using T = typename internal::PlainOf<To>::Type;
  const T* const value = in.read_value<T>(received.parameter, *static_cast<To*>(member));
  if (value == nullptr || received.check == nullptr) return;
  if (const Complaint why = received.check(value)) in.reject(received.parameter, why);
}
template <class To, auto read>
void take_text(Input& in, const Received& received, void* member) {
  in.text<read>(received.parameter, received.form, *static_cast<To*>(member));
}
template <class To, auto read>
void take_list(Input& in, const Received& received, void* member) {
  in.list<read>(received.parameter, received.form, *static_cast<To*>(member));
}
template <class To, auto read>
void take_text_or_list(Input& in, const Received& received, void* member) {
  in.text_or_list<read>(received.parameter, received.single, received.form, *static_cast<To*>(member));
}
template <class To, auto read>
void take_text_or_object(Input& in, const Received& received, void* member) {
  in.text_or_object<read>(received.parameter, received.single, received.fields, received.form,
                          *static_cast<To*>(member));
}
template <class To, auto read>
void take_object(Input& in, const Received& received, void* member) {
  in.object<read>(received.parameter, received.fields, received.form, *static_cast<To*>(member));
}

namespace internal {
template <auto check>
struct CheckBy;
template <class T, Complaint (*check)(const T& value)>
struct CheckBy<check> {
  static Complaint call(const void* value) { return check(*static_cast<const T*>(value)); }
};
}  // namespace internal
template <auto check>
Complaint checked(const void* value) {
  return internal::CheckBy<check>::call(value);
}
// For a body.
template <auto read>
inline constexpr auto body_reader = &internal::ReadBy<read>::body;
template <class To, auto read>
void* room(void* member) {
  return internal::ReadBy<read>::room(*static_cast<To*>(member));
}
// The value of Asked::body for a body that the handler itself reads.
inline Result<> take_streamed_body(Input& in, void*) { return in.streamed_body(); }

}  // namespace keel::contract
