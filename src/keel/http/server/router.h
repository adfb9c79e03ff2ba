// keel/http/server/router.h — chooses the handler of a request.
//
//   http::Router router;
//   router.use(http::SecurityHeaders());                        // around the routes that are added after it
//   router.get("/health", health);
//   auto api = router.group("/api", {.request_timeout = 5_s});  // a common prefix with its own options and middleware
//   api.use(limit).get("/users/{id:uint}", users, &Users::find).post("/users", users, &Users::create);
//   router.host("*.example.com").get("/", tenant);              // only for that host
//
// path.h describes patterns, and how paths are decoded. "/a" and "/a/" are different paths. Hosts are compared without
// regard to case and port. The routes of a matching host are tried first: those of an exact name before those of a name
// with "*.", and those of a longer name with "*." before those of a shorter one ("*.b.c" matches "a.b.c" and "x.a.b.c",
// but not "b.c"). Routes without a host are tried last. The router uses the first set of routes that contains the path,
// even if that set has no route for the method.
//
// handler.h describes handlers, and middleware.h describes middleware. Middleware applies to the routes that are added
// after it to the same router or group. A new group has the middleware that its router or outer group has at that time.
//
// A route for GET also serves HEAD. The response to OPTIONS has Allow; for "OPTIONS *", Allow lists the methods of all
// routes. If the path has no handler for the method, the response is 405 with Allow; for an unknown path, the response
// is 404; for an unknown method, the response is 501. If a route names the types that it consumes or produces, the
// router responds with 415 or 406 before the handler runs (route_options.h).
//
// The router's own responses pass through synchronous middleware (middleware.h). For 404, 501 and "OPTIONS *", the
// router's responses pass through the middleware of the router, but not through the middleware of its groups. A 406 or
// 415 of the router passes through the middleware of the route. The router's 405 and the router's response to OPTIONS
// pass through the middleware of one route: the route for the method in Access-Control-Request-Method or, without that
// field, the first route that was added for the path.
//
// Lifetime: objects whose member functions are handlers outlive the router; the router outlives the servers that use
//           it, and must not change while they use it.
// Threads:  add all routes before a server starts; matching is const and may run on every worker.
// Errors:   a pattern is a bug and aborts if it is malformed, if it matches the same paths as another pattern with the
//           same method, or if it gives a parameter another name than an existing pattern does; the message names both
//           routes and the places where they were added.
// Cost:     matching a request and adding a route are O(size of the path), for any number of routes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/http/server/handler.h"
#include "keel/http/server/literal_table.h"
#include "keel/http/server/middleware.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/http/server/route_options.h"

namespace keel::http {

class Group;

// The functions that add a route; Router and Group share these functions. Each function has three overloads. The first
// overload takes a function or a lambda. The second overload takes an object and its member function; if several member
// functions have that name, this overload takes the one with the parameter Request&. The third overload takes a member
// function that is const, that belongs to a base class, or that has the parameter const Request&.
template <class Self>
class Routes {
 public:
  using Where = std::source_location;

  template <class F>
  Self& get(std::string_view pattern, F handler, const RouteOptions& options = {}, Where at = Where::current()) {
    return add(Method::Get, pattern, internal::make_handler(std::move(handler)), options, at);
  }
  template <class C, class R>
  Self& get(std::string_view pattern, C& object, R (C::*handler)(Request&), const RouteOptions& options = {},
            Where at = Where::current()) {
    return add(Method::Get, pattern, internal::make_handler(object, handler), options, at);
  }
  template <class C, internal::MemberFunction M>
  Self& get(std::string_view pattern, C&& object, M handler, const RouteOptions& options = {},
            Where at = Where::current()) {
    return add(Method::Get, pattern, internal::make_handler(std::forward<C>(object), handler), options, at);
  }
  template <class F>
  Self& post(std::string_view pattern, F handler, const RouteOptions& options = {}, Where at = Where::current()) {
    return add(Method::Post, pattern, internal::make_handler(std::move(handler)), options, at);
  }
  template <class C, class R>
  Self& post(std::string_view pattern, C& object, R (C::*handler)(Request&), const RouteOptions& options = {},
             Where at = Where::current()) {
    return add(Method::Post, pattern, internal::make_handler(object, handler), options, at);
  }
  template <class C, internal::MemberFunction M>
  Self& post(std::string_view pattern, C&& object, M handler, const RouteOptions& options = {},
             Where at = Where::current()) {
    return add(Method::Post, pattern, internal::make_handler(std::forward<C>(object), handler), options, at);
  }
  template <class F>
  Self& put(std::string_view pattern, F handler, const RouteOptions& options = {}, Where at = Where::current()) {
    return add(Method::Put, pattern, internal::make_handler(std::move(handler)), options, at);
  }
  template <class C, class R>
  Self& put(std::string_view pattern, C& object, R (C::*handler)(Request&), const RouteOptions& options = {},
            Where at = Where::current()) {
    return add(Method::Put, pattern, internal::make_handler(object, handler), options, at);
  }
  template <class C, internal::MemberFunction M>
  Self& put(std::string_view pattern, C&& object, M handler, const RouteOptions& options = {},
            Where at = Where::current()) {
    return add(Method::Put, pattern, internal::make_handler(std::forward<C>(object), handler), options, at);
  }
  template <class F>
  Self& patch(std::string_view pattern, F handler, const RouteOptions& options = {}, Where at = Where::current()) {
    return add(Method::Patch, pattern, internal::make_handler(std::move(handler)), options, at);
  }
  template <class C, class R>
  Self& patch(std::string_view pattern, C& object, R (C::*handler)(Request&), const RouteOptions& options = {},
              Where at = Where::current()) {
    return add(Method::Patch, pattern, internal::make_handler(object, handler), options, at);
  }
  template <class C, internal::MemberFunction M>
  Self& patch(std::string_view pattern, C&& object, M handler, const RouteOptions& options = {},
              Where at = Where::current()) {
    return add(Method::Patch, pattern, internal::make_handler(std::forward<C>(object), handler), options, at);
  }
  template <class F>
  Self& del(std::string_view pattern, F handler, const RouteOptions& options = {}, Where at = Where::current()) {
    return add(Method::Delete, pattern, internal::make_handler(std::move(handler)), options, at);
  }
  template <class C, class R>
  Self& del(std::string_view pattern, C& object, R (C::*handler)(Request&), const RouteOptions& options = {},
            Where at = Where::current()) {
    return add(Method::Delete, pattern, internal::make_handler(object, handler), options, at);
  }
  template <class C, internal::MemberFunction M>
  Self& del(std::string_view pattern, C&& object, M handler, const RouteOptions& options = {},
            Where at = Where::current()) {
    return add(Method::Delete, pattern, internal::make_handler(std::forward<C>(object), handler), options, at);
  }
  // The general function, which the functions above call.
  Self& add(Method method, std::string_view pattern, Handler handler, const RouteOptions& options = {},
            Where at = Where::current()) {
    static_cast<Self*>(this)->add_route(method, pattern, std::move(handler), options, at);
    return *static_cast<Self*>(this);
  }

  // Adds a middleware for the routes that are added after this call. `middleware` is a function, an object that
  // outlives the router, or a temporary object, which the router keeps.
  template <class M>
  Self& use(M&& middleware) {
    static_cast<Self*>(this)->use_link(Middleware::make(std::forward<M>(middleware)));
    return *static_cast<Self*>(this);
  }

 protected:
  Routes() = default;
};

class Router : public Routes<Router> {
 public:
  Router();
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // Creates a group of routes whose patterns begin with `prefix` ("/api", or empty), and which may have their own
  // middleware. An option that a route does not set has the value of the group. In the group, the pattern "" stands for
  // the prefix itself.
  Group group(std::string_view prefix, const RouteOptions& options = {});
  // Creates a group of routes that match only requests to that host: "api.example.com", or "*.example.com" for all
  // subdomains of example.com.
  Group host(std::string_view name, const RouteOptions& options = {});

  // Finds the handler of `request`, stores the result in the request, and returns it. Call this function once for each
  // request.
  const RouteMatch& match(Request& request) const;

  struct RouteName {
    Method method;
    // The pattern of the path, with the host in front of it if the route has a host: "api.example.com/users/{id}".
    std::string_view pattern;
  };
  // All routes, in the order of their indices. The views are valid as long as the router.
  std::vector<RouteName> routes() const;

  // The method for which the route was added; `match` must be the match of a route.
  Method method(const RouteMatch& match) const noexcept;

  // After this call, adding a route is a bug and aborts, because per-route counters have been created. A server calls
  // this function when the server starts.
  void seal() const noexcept { is_sealed_ = true; }

 private:
  friend class Routes<Router>;
  friend class Group;
  using Links = std::vector<const Middleware*>;
  struct Route;
  struct Path;
  struct Host;

  void add_route(Method method, std::string_view pattern, Handler handler, const RouteOptions& options,
                 const std::source_location& at) {
    add_below({}, pattern, links_, method, std::move(handler), options, at);
  }
  void add_below(std::string_view host, std::string_view pattern, const Links& links, Method method, Handler handler,
                 const RouteOptions& options, const std::source_location& at);
  Path& path_of(std::string_view host, std::string_view pattern, const std::source_location& at);
  PathTree& tree_of(std::string_view host, const std::source_location& at);
  Handler own_response(Result<Response> (Router::*respond)(Request&) const);
  Result<Response> not_found(Request& request) const;
  Result<Response> not_implemented(Request& request) const;
  Result<Response> options(Request& request) const;
  Result<Response> not_allowed(Request& request) const;
  Result<Response> not_acceptable(Request& request) const;
  Result<Response> unsupported_type(Request& request) const;
  Result<Response> unsupported_coding(Request& request) const;
  Result<Response> partial_put(Request& request) const;
  Result<Response> misdirected(Request& request) const;
  void use_link(const Middleware* link);
  const Middleware* keep(const Middleware* link);

  void match_nothing(Request& request, bool has_path) const;
  void match_method(Request& request, const Path& path) const;
  std::optional<std::uint32_t> match_host(const RequestHead& head, PathParams& params) const noexcept;
  static void set_route(RouteMatch& match, const Route& route, std::uint32_t index) noexcept;
  // Makes one of the router's own handlers respond; `links` is the middleware that runs before it.
  void set_own(RouteMatch& match, const Handler& handler, const Links& links) const noexcept;
  const Handler* negotiate(Request& request, const Route& route) const;

  PathTree tree_;             // The tree of the routes without a host.
  LiteralTable exact_hosts_;  // The index of each host with an exact name.
  LiteralTable wide_hosts_;   // The index of each host that begins with "*."; the key is the name after "*.".
  std::vector<Host*> hosts_;
  // Maps the host and the pattern, as written, to the index of the path in paths_.
  LiteralTable patterns_;
  std::vector<Path*> paths_;             // The index is the id of the path in the trees.
  std::vector<Route*> routes_;           // Indexed by route.
  std::vector<const Middleware*> kept_;  // All middleware.
  Links links_;                          // The middleware of routes that are added next.
  Links own_;                            // The middleware that runs for the router's own responses.
  mutable bool is_sealed_ = false;
  unsigned methods_ = 0;           // The methods of all routes; each Method is one bit.
  std::string allow_ = "OPTIONS";  // The methods of all routes as the value of Allow.
  Handler not_found_;
  Handler options_;
  Handler not_allowed_;
  Handler not_acceptable_;
  Handler unsupported_type_;
  Handler unsupported_coding_;
  Handler partial_put_;
  Handler misdirected_;
  Handler not_implemented_;
};

// A Group adds a part of a router's routes. A Group is a value; it must not outlive the router.
class Group : public Routes<Group> {
 public:
  // Creates a group, as Router::group() does; `prefix` is appended to the prefix of this group.
  Group group(std::string_view prefix, const RouteOptions& options = {}) const;

 private:
  friend class Routes<Group>;
  friend class Router;
  Group(Router& router, std::string host, std::string prefix, Router::Links links, RouteOptions options);
  void add_route(Method method, std::string_view pattern, Handler handler, const RouteOptions& options,
                 const std::source_location& at);
  void use_link(const Middleware* link) { links_.push_back(router_->keep(link)); }

  Router* router_;
  std::string host_;
  std::string prefix_;
  Router::Links links_;
  RouteOptions options_;
};

}  // namespace keel::http
