// keel/http/server/route_match.h — the route of one request, and the state of the middleware around its handler.
//
// Router::match() fills in the RouteMatch of a request, which the Request keeps until its response has been made.
// Everything in it belongs to the router, except for the values of the parameters, which are in the path of the
// request: they are offsets, so that they remain valid when the bytes of the request move (PathParams::rebase).
//
// Lifetime: a value; the router outlives it.
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
  // The handler of the response; not null after Router::match(), because the router has handlers of its own for
  // everything else.
  const Handler* handler = nullptr;
  // The options of the route; not null after Router::match(): without a route, these options override nothing of the
  // server's.
  const RouteOptions* options = nullptr;
  // The number of the route, for metrics; the number routes().size() stands for requests without a route.
  std::uint32_t index = 0;
  // False: the handler is one of the router's own (404, 405, 406, 415, 501, OPTIONS), which are synchronous.
  bool is_route = false;
  // There is middleware of the second form around the handler.
  bool is_around = false;
  // The pattern of the path, with its host; empty when the path is unknown.
  std::string_view pattern;
  // The methods of the path, for 405 and OPTIONS; otherwise empty.
  std::string_view allow;
  // The type of RouteOptions::produces that was negotiated; empty when the route names none.
  std::string_view accepted_type;
  // The options of the route that one of the router's own responses describes: for 406 or 415 the route that rejects
  // the request, for OPTIONS the PATCH of the path.
  const RouteOptions* told = nullptr;
  // The middleware of the first form in front of the handler, outermost first. The first `passed` of them have let the
  // request pass and have not seen its response yet.
  const Middleware* const* links = nullptr;
  std::uint32_t link_count = 0;
  std::uint32_t passed = 0;
  PathParams params;
};

}  // namespace keel::http
