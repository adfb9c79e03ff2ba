// keel/http/server/cbor.h — bodies in CBOR (RFC 8949, application/cbor) as structs, alone or as an alternative to JSON.
//
//   Result<http::Response> store(http::Request& request) {
//     KEEL_TRY(const Reading reading, http::read_json_or_cbor<Reading>(request));    // as Content-Type says
//     return http::json_or_cbor(request, http::Status::Created, reading);            // as Accept asks
//   }
//
// For a route that uses only CBOR, call read_cbor() and cbor_response(). One description of a struct serves both forms;
// data/cbor.h defines how the struct is written. Problem documents are always JSON (RFC 9457).
//
// Result:   read_…: a T, or one error that describes everything wrong with the body (rejection.h); its response is a
//           problem document. 415: the Content-Type is neither application/cbor nor a type that ends in +cbor, or the
//           body has a content coding; Accept (for PATCH, Accept-Patch) names the accepted types. 400: the body is not
//           CBOR; the detail names the byte. 422: the body has violations; each is listed with its JSON Pointer.
//           read_json_or_cbor() treats a body without a Content-Type as JSON, so the body is rejected. json_or_cbor()
//           returns a response in the form that Accept prefers, or in JSON if Accept has no preference, and adds Accept
//           to Vary. The response is a 406 if the client accepts neither form. Parameters of media types are ignored,
//           except the weight.
// Errors:   calling read_… on a route that streams its body, or in a middleware before the body has arrived, is a Bug
//           (base/bug.h).
// Lifetime: std::string_view fields are valid as long as the request.
// Threads:  the worker of the request.
// Cost:     that of cbor::read() and cbor::write(); no heap allocation if T consists of views. `keel api init` does not
//           record the types that the functions of this header read and write.

#pragma once

#include <source_location>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/data/cbor.h"
#include "keel/data/json_write.h"
#include "keel/http/message/status.h"
#include "keel/http/server/input.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/http/server/stage.h"

namespace keel::http {

namespace internal {

using ReadBinary = bool (*)(void* value, std::string_view bytes, Arena& arena, Violations& wrong);
Result<> read_cbor_body(Request& request, ReadBinary read, void* value, std::source_location place);

// Whether Content-Type is application/cbor or ends in +cbor.
bool has_cbor(const Request& request) noexcept;

enum class BodyForm : std::uint8_t { Json, Cbor, Neither };
// What Accept prefers.
BodyForm accepted_form(Request& request);
Response not_acceptable();

template <class T>
bool read_binary_value(void* value, std::string_view bytes, Arena& arena, Violations& wrong) {
  return keel::cbor::read(*static_cast<T*>(value), bytes, arena, wrong);
}

}  // namespace internal

// Reads the body as CBOR.
template <class T>
Result<T> read_cbor(Request& request, std::source_location place = std::source_location::current()) {
  T value{};
  KEEL_TRY_VOID(internal::read_cbor_body(request, &internal::read_binary_value<T>, &value, place));
  return value;
}

// Reads the body as CBOR if Content-Type says so, and otherwise as JSON, like Request::json().
template <class T>
Result<T> read_json_or_cbor(Request& request, std::source_location place = std::source_location::current()) {
  if (internal::has_cbor(request)) return read_cbor<T>(request, place);
  return request.json<T>(place);
}

// `value` as application/cbor.
template <class T>
Response cbor_response(Status status, const T& value) {
  const StageTimer timer(stage::serialize);
  Buffer bytes;
  keel::cbor::write(bytes, value);
  return Response::body(status, std::move(bytes), "application/cbor");
}

// A response with `value` in the form that the client prefers.
template <class T>
Response json_or_cbor(Request& request, Status status, const T& value) {
  const internal::BodyForm form = internal::accepted_form(request);
  if (form == internal::BodyForm::Neither) return internal::not_acceptable();
  Response response = form == internal::BodyForm::Cbor ? cbor_response(status, value) : Response::json(status, value);
  response.vary("Accept");
  return response;
}
template <class T>
Response json_or_cbor(Request& request, const T& value) {
  return json_or_cbor(request, Status::Ok, value);
}

}  // namespace keel::http
