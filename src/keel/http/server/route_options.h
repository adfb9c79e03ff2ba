// keel/http/server/route_options.h — options of one route, which override those of the server.
//
//   router.post("/uploads", uploads, &Uploads::take, {.body_bytes_max = 1u << 30, .streams_body = true});
//   router.get("/report", &report, {.request_timeout = 2_min});
//   router.put("/items/{id}", put_item, {.consumes = {"application/json"}, .produces = {"application/json"}});
//
// For an option that is not set, the value in Limits applies (server.h).
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
  // The largest decoded body in bytes; a larger one is rejected with 413. A higher limit allows a request to use that
  // much memory, unless the route streams its body.
  std::optional<std::size_t> body_bytes_max = {};
  // The time limit of a handler that returns a Task; everything that the task awaits inherits the deadline. A request
  // that exceeds this limit gets 504.
  std::optional<Duration> request_timeout = {};
  // The handler starts when the head is complete, and reads the body itself, piece by piece. Allowed only for handlers
  // that return a Task.
  bool streams_body = false;
  // Media types of the bodies that the route accepts: "application/json", "text/*". A body of another type or without a
  // type is rejected with 415; so is a body with a Content-Encoding, because the router does not decode it. The 415
  // lists the accepted types in the field Accept; for PATCH, it lists them in Accept-Patch, which the response to
  // OPTIONS has as well.
  // Empty: any type. A request without a body is accepted.
  std::vector<std::string> consumes = {};
  // Media types that the route can produce, in the order of preference. If Accept allows none of these types, the
  // response is a 406 that lists the types. If Accept allows at least one type, Request::accepted_type() returns the
  // best type, and the response has Accept in Vary.
  // Empty: Accept is ignored.
  std::vector<std::string> produces = {};
  // Whether the handler of PUT supports Content-Range. If false, a PUT with Content-Range is rejected with 400, because
  // the part would replace the whole resource (RFC 9110 §14.5).
  bool partial_put = false;
};

}  // namespace keel::http
