#include "keel/http/router.h"

#include <string>
#include <utility>

#include "keel/base/check.h"
#include "keel/http/problem.h"

namespace keel::http {
namespace {

const RouteOptions no_options;

}  // namespace

struct Router::Route {
  Method method;
  const Path* path;
  RouteOptions options;
  Handler handler;
  // The middleware that was in use when the route was added, and the handler behind it.
  std::vector<const Middleware*> chain;
  Handler inner;
};

struct Router::Path {
  std::string pattern;
  Route* by_method[method_count] = {};
  std::uint32_t index_by_method[method_count] = {};
  std::string allow;  // "GET, HEAD, OPTIONS"
};

Task<Response> Next::operator()(Request& request) const {
  if (at_ != end_) return (**at_)(request, Next(at_ + 1, end_, *handler_));
  if (handler_->later) return handler_->later(request);
  return answer_at_once(request, *handler_);
}

Task<Response> Next::answer_at_once(Request& request, const Handler& handler) { co_return handler.at_once(request); }

Router::Router() {
  not_found_.at_once = [](Request&) -> Result<Response> {
    return refuse(Status::NotFound, "nothing is served at this path");
  };
  not_implemented_.at_once = [](Request&) -> Result<Response> {
    return refuse(Status::NotImplemented, "this method is not known here");
  };
  options_.at_once = [this](Request& request) -> Result<Response> { return options(request); };
  not_allowed_.at_once = [this](Request& request) -> Result<Response> { return not_allowed(request); };
}

Router::~Router() {
  for (Route* route : routes_) delete route;
  for (Path* path : paths_) delete path;
  for (Middleware* middleware : middleware_) delete middleware;
}

Router& Router::add(Method method, std::string_view pattern, Handler handler, const RouteOptions& options) {
  KEEL_CHECK(method != Method::Other && method != Method::Connect, "a route has a method of its own");
  KEEL_CHECK(!options.streams_body || handler.later, "a handler that reads its body as it arrives returns a Task");
  Path* path = nullptr;
  for (Path* known : paths_) {
    if (known->pattern == pattern) path = known;
  }
  if (path == nullptr) {
    const auto added = tree_.add(pattern, static_cast<std::uint32_t>(paths_.size()));
    if (!added) check_failed(__FILE__, __LINE__, std::string(pattern).c_str(), added.error().describe().c_str());
    path = new Path{std::string(pattern), {}, {}, {}};
    paths_.push_back(path);
  }
  auto& slot = path->by_method[static_cast<int>(method)];
  if (slot != nullptr) {
    check_failed(__FILE__, __LINE__, path->pattern.c_str(), "a path has one handler for each method");
  }
  auto* route = new Route{method, path, options, {}, {}, {}};
  if (middleware_.empty()) {
    route->handler = std::move(handler);
  } else {
    route->inner = std::move(handler);
    route->chain.assign(middleware_.begin(), middleware_.end());
    route->handler.later = [route](Request& request) {
      const Middleware* const* begin = route->chain.data();
      return Next(begin, begin + route->chain.size(), route->inner)(request);
    };
  }
  slot = route;
  path->index_by_method[static_cast<int>(method)] = static_cast<std::uint32_t>(routes_.size());
  routes_.push_back(route);

  path->allow.clear();
  for (int i = 0; i < method_count; ++i) {
    if (path->by_method[i] == nullptr) continue;
    path->allow += to_string(static_cast<Method>(i));
    path->allow += ", ";
    const bool also_head =
        static_cast<Method>(i) == Method::Get && path->by_method[static_cast<int>(Method::Head)] == nullptr;
    if (also_head) path->allow += "HEAD, ";
  }
  if (path->by_method[static_cast<int>(Method::Options)] == nullptr) {
    path->allow += "OPTIONS";
  } else {
    path->allow.resize(path->allow.size() - 2);
  }
  return *this;
}

Router& Router::use(Task<Response> (*middleware)(Request&, Next)) { return use_any(Middleware(middleware)); }

Router& Router::use_any(Middleware middleware) {
  middleware_.push_back(new Middleware(std::move(middleware)));
  return *this;
}

Router::Match Router::match(Request& request) const noexcept {
  const auto unmatched = static_cast<std::uint32_t>(routes_.size());
  const RequestHead& head = *request.head_;
  if (head.method() == Method::Other || head.method() == Method::Connect)
    return {&not_implemented_, &no_options, unmatched, false};
  if (head.form() == TargetForm::Asterisk) return {&options_, &no_options, unmatched, false};
  const auto id = tree_.match(head.path(), request.params_);
  if (!id) return {&not_found_, &no_options, unmatched, false};
  const Path& path = *paths_[*id];
  request.route_ = path.pattern;
  int method = static_cast<int>(head.method());
  if (path.by_method[method] == nullptr && head.method() == Method::Head) method = static_cast<int>(Method::Get);
  if (path.by_method[method] != nullptr) {
    const Route& route = *path.by_method[method];
    return {&route.handler, &route.options, path.index_by_method[method], true};
  }
  request.allow_ = path.allow;
  return {head.method() == Method::Options ? &options_ : &not_allowed_, &no_options, unmatched, false};
}

Result<Response> Router::options(Request& request) const {
  // For "*" the methods of the server as a whole (RFC 9110 §9.3.7).
  const std::string_view allow =
      request.allow_.empty() ? std::string_view("GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS") : request.allow_;
  return Response(Status::NoContent).header("Allow", allow);
}

Result<Response> Router::not_allowed(Request& request) const {
  return refuse(Status::MethodNotAllowed, "this path is not served for this method").header("Allow", request.allow_);
}

std::vector<Router::RouteName> Router::routes() const {
  std::vector<RouteName> names;
  for (const Route* route : routes_) names.push_back({route->method, route->path->pattern});
  return names;
}

}  // namespace keel::http
