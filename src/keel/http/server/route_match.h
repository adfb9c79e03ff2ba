// keel/http/server/route_match.h — the route of one request, and the state of the middleware around its handler.
//
// Router::match() fills the RouteMatch of a request; the Request keeps it until the response has been made. Everything
// in a RouteMatch belongs to the router, except the values of the parameters, which are parts of the request's path.
// The values are stored as offsets, so that they stay valid when the bytes of the request move (PathParams::rebase).
//
// Lifetime: a value; the router must outlive it.
// Threads:  the worker of the request.

#pragma once

#include <cstdint>
#include <string_view>

#include "keel/http/server/path.h"

namespace keel::http {

class Middleware;
struct Handler;
struct RouteOptions;

struct RouteMatch {
  // The handler that responds; not null after Router::match(), because the router has its own handlers for requests
  // without a route.
  const Handler* handler = nullptr;
  // The options of the route; not null after Router::match(): for a request without a route, these are options that
  // override nothing.
  const RouteOptions* options = nullptr;
  // The index of the route, for metrics; for a request without a route, it is routes().size().
  std::uint32_t index = 0;
  // False if the handler is one of the router's own handlers (404, 405, 406, 415, 501, OPTIONS), all of which are
  // synchronous.
  bool is_route = false;
  // Whether middleware of the second form surrounds the handler.
  bool is_around = false;
  // The pattern of the path, after its host if it has one; empty if the path is unknown.
  std::string_view pattern;
  // The methods of the path, for a 405 and for OPTIONS; otherwise empty.
  std::string_view allow;
  // The type in RouteOptions::produces that was negotiated; empty if the route has no such list.
  std::string_view accepted_type;
  // For one of the router's own responses, the options of the route that the response describes: for a 406 or 415, the
  // route that rejects the request; for OPTIONS, the PATCH route of the same path.
  const RouteOptions* told = nullptr;
  // The middleware of the first form that runs before the handler, outermost first. For the first `passed` links,
  // before() has let the request pass, and after() has not run yet.
  const Middleware* const* links = nullptr;
  std::uint32_t link_count = 0;
  std::uint32_t passed = 0;
  PathParams params;
};

}  // namespace keel::http
