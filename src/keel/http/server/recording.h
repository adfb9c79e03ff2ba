// keel/http/server/recording.h — records what handlers read from requests and what they respond with; `keel api init`
// uses these records, which are made while the tests of a service run.
//
// If KEEL_RECORD_CONTRACT is defined, json(), query(), form(), path_param() and query_param() of a Request, and
// Response::json(), report to the recorder the type with which they are called. The macro must be defined for all
// sources of a program, or for none of them. If KEEL_RECORD_CONTRACT is not defined, the functions of Request and
// Response contain no code for recording, and a server reports only its responses to the recorder.
//
// Threads: set `active` before servers start; all workers call the recorder.
// Cost:    without a recorder, a load and a branch for each response.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#ifdef KEEL_RECORD_CONTRACT
#include "keel/data/json_schema.h"
#endif

namespace keel::json {
class Schemas;
}

namespace keel::http {

class Request;
class Response;
class Router;

// Receives the types and responses of routes; a test derives from it.
class Recorder {
 public:
  enum class Part : std::uint8_t { Body, Query, Form, PathParameter, QueryParameter };
  // Adds a type to `schemas`. Returns the schema of the type as JSON; for a query or a form, returns the list of the
  // type's fields.
  using Describe = std::string (*)(json::Schemas& schemas);

  // The recorder that receives the reports; null: none. The recorder must outlive the servers and their responses.
  static inline Recorder* active = nullptr;

  // Reports that a handler has read a part of the request as `type`. `name` is the name of the parameter; `function` is
  // the name of the handler as the compiler writes it, or null.
  virtual void asks(const Request& request, Part part, std::string_view name, Describe type, const char* function) = 0;
  // Returns the text "application/json", at an address that from then on identifies this type.
  virtual std::string_view content_type_of(Describe type) = 0;
  // Reports the response to a request, as it is sent, but without the fields that the server adds.
  virtual void responds(const Request& request, const Response& response) = 0;
  // Reports the routes of a service; only requests of these routes are recorded.
  virtual void serves(const Router& router) = 0;

 protected:
  ~Recorder() = default;
};

#ifdef KEEL_RECORD_CONTRACT
namespace internal {

template <class T>
std::string describe_value(json::Schemas& schemas) {
  return schemas.add<T>();
}
template <class T>
std::string describe_fields(json::Schemas& schemas) {
  std::string list;
  for (const json::Schemas::Field& field : schemas.fields<T>()) {
    list += (list.empty() ? "{\"name\":" : ",{\"name\":") + json::write(field.name) +
            ",\"required\":" + (field.is_required ? "true" : "false") + ",\"schema\":" + field.schema + '}';
  }
  return '[' + list + ']';
}

}  // namespace internal

// Reports the type that a part of a request is read as.
#define KEEL_RECORD_ASKED(request, part, name, describe, function)                        \
  if (::keel::http::Recorder::active != nullptr)                                          \
  ::keel::http::Recorder::active->asks(request, ::keel::http::Recorder::Part::part, name, \
                                       &::keel::http::internal::describe, function)
// Reports the type from which a response is made.
#define KEEL_RECORD_TYPE(content_type, describe) \
  if (::keel::http::Recorder::active != nullptr) \
  content_type = ::keel::http::Recorder::active->content_type_of(&::keel::http::internal::describe)
#else
#define KEEL_RECORD_ASKED(request, part, name, describe, function) static_cast<void>(0)
#define KEEL_RECORD_TYPE(content_type, describe) static_cast<void>(0)
#endif

}  // namespace keel::http
