// keel/http/server/input.h — reads the input of a request into structs: Request::json(), query() and form().
//
//   struct NewOrder {
//     std::string_view customer;                                   // a view into the body: lives as the request does
//     std::vector<Line> lines;
//     void rules(keel::Check& check) const { check(lines).count(1, 100); }
//   };
//   const auto order = co_await request.json<NewOrder>();
//   const auto filter = co_await request.query<Filter>();
//   const auto upload = co_await request.form<Upload>();           // http::FormPart is a file (multipart.h)
//
//   json   the body: Content-Type is application/json or ends in +json; data/json_parse.h says how it is read.
//   query  the part after the '?'; data/text_fields.h says how it is read.
//   form   the body: application/x-www-form-urlencoded or multipart/form-data, collected as a whole; it is read like a
//          query, and a field that is an http::FormPart is a file.
//
// Result:   a T, or one error that describes everything wrong with the input (rejection.h); the response to it is a
//           problem document.
//           json   415: another Content-Type, or none, because a page of another site can make a browser send a body
//                  without Content-Type and without a preflight (CORS). 400: the body is not JSON, or has a member
//                  twice; the error names the line and the column. 422: every violation, with its JSON Pointer.
//           query  400: every violation, with its parameter.
//           form   415: another Content-Type, or none. 422: every violation, with its field.
//           A broken escape, more than 256 pairs, and a multipart body that is malformed or exceeds MultipartLimits are
//           rejected with 400.
// Errors:   calling json() or form() on a route that streams its body, or in a middleware before the body has arrived,
//           is a Bug (base/bug.h).
// Lifetime: std::string_view fields and FormParts are valid as long as the request.
// Cost:     json() costs as much as json::read(), which allocates nothing on the heap if all texts in T are views.
//           query() and form() store the fields in an array in the request's arena.

#pragma once

#include <concepts>
#include <cstddef>
#include <source_location>
#include <span>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/result.h"
#include "keel/data/json_parse.h"
#include "keel/data/text_fields.h"
#include "keel/http/server/multipart.h"
#include "keel/http/server/recording.h"
#include "keel/http/server/rejection.h"
#include "keel/http/server/request.h"

namespace keel::http::internal {

template <class T>
struct Input {
  static_assert(std::default_initializable<T>, "a struct that is read from a request needs a default constructor");

  static bool read_json(void* value, std::string_view text, Arena& arena, Violations& wrong) {
    return keel::json::read(*static_cast<T*>(value), text, arena, wrong);
  }
  static bool read_texts(void* value, const NamedText* texts, std::size_t count, Violations& wrong) {
    return keel::read_texts(*static_cast<T*>(value), {texts, count}, wrong);
  }

  static Result<T> json(Request& request, std::source_location place) {
    KEEL_RECORD_ASKED(request, Body, {}, describe_value<T>, place.function_name());
    T value{};
    KEEL_TRY_VOID(request.read_json(&read_json, &value, place));
    return value;
  }
  static Result<T> query(Request& request) {
    KEEL_RECORD_ASKED(request, Query, {}, describe_fields<T>, nullptr);
    T value{};
    KEEL_TRY_VOID(request.read_query(&read_texts, &value));
    return value;
  }
  static Result<T> form(Request& request, std::source_location place) {
    KEEL_RECORD_ASKED(request, Form, {}, describe_fields<T>, place.function_name());
    T value{};
    KEEL_TRY_VOID(request.read_form(&read_texts, &value, place));
    return value;
  }
};

}  // namespace keel::http::internal
