// keel/http/server/route_options.h — options of one route, which override those of the server.
//
//   router.post("/uploads", uploads, &Uploads::take, {.body_bytes_max = 1u << 30, .streams_body = true});
//   router.get("/report", &report, {.request_timeout = 2_min});
//   router.put("/items/{id}", put_item, {.consumes = {"application/json"}, .produces = {"application/json"}});
//
// Options that are not set have the values of Limits (server.h).
//
// Lifetime: a value; the router keeps a copy with the route.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "keel/base/time.h"

namespace keel::http {

struct RouteOptions {
  // Largest decoded body, in bytes; a larger one gets 413. A higher limit costs that much memory per request, unless
  // the route streams its body.
  std::optional<std::size_t> body_bytes_max = {};
  // The deadline of a Task handler, inherited by everything that it awaits; a request that exceeds it gets 504.
  std::optional<Duration> request_timeout = {};
  // The handler starts when the head is complete and reads the body itself, piece by piece. Allowed only for Task
  // handlers.
  bool streams_body = false;
  // Media types of the bodies that the route accepts: "application/json", "text/*". A body of another type, or of none,
  // gets 415, and so does a body with a Content-Encoding, which is not decoded here. The field Accept of that response
  // lists these types; for PATCH it is Accept-Patch, which the response to OPTIONS has too. Empty: any type. A request
  // without a body passes.
  std::vector<std::string> consumes = {};
  // Media types that the route can produce, the preferred one first. If Accept allows none of them, the response is 406
  // and lists them; otherwise Request::accepted_type() is the best of them, and the response has Vary: Accept. Empty:
  // Accept is ignored.
  std::vector<std::string> produces = {};
  // The handler of PUT supports Content-Range. Otherwise a PUT with Content-Range gets 400, because the part would
  // replace the whole (RFC 9110 §14.5).
  bool partial_put = false;
};

}  // namespace keel::http
