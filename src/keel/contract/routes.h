// keel/contract/routes.h — where the routes of a contract go: for generated code.
//
//   void Products::add_routes(keel::contract::Routes routes);
//   products.add_routes(router);                     // or a group, "/v1"
//
// Lifetime: a value that views the router.

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "keel/http/server/handler.h"
#include "keel/http/server/router.h"

namespace keel::contract {

class Routes {
 public:
  Routes(http::Router& router) : group_(router.group("")) {}
  Routes(const http::Group& group) : group_(group) {}
  // Those below it.
  Routes below(std::string_view prefix) const { return Routes(group_.group(prefix)); }

  // `answer` is called with `handler`, which outlives the router.
  template <class H>
  void add(http::Method method, std::string_view pattern, H& handler,
           Task<http::Response> (*answer)(H&, http::Request&), const http::RouteOptions& options = {}) const {
    http::Handler made;
    made.later = [&handler, answer](http::Request& request) { return answer(handler, request); };
    http::Group(group_).add(method, pattern, std::move(made), options);
  }
  // The same routes, with this around those that are added.
  template <class M>
  Routes with(M middleware) const {
    Routes routes(*this);
    routes.group_ = routes.group_.group("");
    routes.group_.use(std::move(middleware));
    return routes;
  }
  const http::Group& group() const noexcept { return group_; }

 private:
  http::Group group_;
};

}  // namespace keel::contract
