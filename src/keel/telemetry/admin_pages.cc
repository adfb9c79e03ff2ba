#include "keel/telemetry/admin_pages.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "keel/base/check.h"
#include "keel/task/resume_on.h"

namespace keel::telemetry {
namespace {

bool wants_text(http::Request& request) {
  const auto format = request.query_param<std::string_view>("format");
  return format && *format == "text";
}

http::Response not_kept(http::Response response) { return std::move(response).header("Cache-Control", "no-store"); }

}  // namespace

struct AdminPages::Route {
  Route(std::string of, std::optional<ThreadPool>& pool) : path(std::move(of)), waiting(pool) {}

  http::Response respond(http::Request& request) { return not_kept(handler(request)); }

  http::Response show(http::Request& request) {
    const bool is_text = wants_text(request) && page.text;
    return response(made(is_text), is_text);
  }
  Task<http::Response> wait(http::Request& request) {
    const bool is_text = wants_text(request) && page.text;
    if (!waiting) waiting.emplace(ThreadPoolOptions{.name = "reports", .threads = 1, .queue_max = 8});
    Executor& home = *(co_await this_task()).executor;
    co_await resume_on(*waiting);
    Buffer body = made(is_text);
    co_await resume_on(home);
    co_return response(std::move(body), is_text);
  }

  Buffer made(bool is_text) {
    Buffer body;
    is_text ? page.text(body) : page.json(body);
    return body;
  }
  static http::Response response(Buffer body, bool is_text) {
    return not_kept(http::Response::body(http::Status::Ok, std::move(body),
                                         is_text ? "text/plain; charset=utf-8" : "application/json"));
  }

  const std::string path;
  std::optional<ThreadPool>& waiting;
  AdminPage page;
  Function<http::Response(http::Request&)> handler;
};

// The pages of one router.
struct AdminPages::List {
  http::Response show(http::Request&) { return not_kept(http::Response::text(http::Status::Ok, text)); }
  void add(const Route& route) {
    text += route.path;
    if (route.page.text) text += "    " + route.path + "?format=text";
    text += '\n';
  }

  std::string text = "The pages of this listener, and their versions for people:\n\n";
};

AdminPages::AdminPages() = default;
AdminPages::~AdminPages() = default;

AdminPages::Route& AdminPages::add_route(std::string path) {
  KEEL_CHECK(std::ranges::none_of(routes_, [&](const auto& route) { return route->path == path; }),
             "each admin page must have a different path");
  return *routes_.emplace_back(std::make_unique<Route>(std::move(path), waiting_));
}

void AdminPages::add(AdminPage page) { add_route(page.path).page = std::move(page); }

void AdminPages::add(std::string path, Function<http::Response(http::Request&)> page) {
  add_route(std::move(path)).handler = std::move(page);
}

void AdminPages::mount(http::Router& router, Which which) {
  List& list = *lists_.emplace_back(std::make_unique<List>());
  bool has_root = false;
  for (const auto& route : routes_) {
    if (which == Which::ForProbes && route->path.starts_with("/admin/")) continue;
    list.add(*route);
    has_root = has_root || route->path == "/";
    if (route->handler) {
      router.get(route->path, *route, &Route::respond);
    } else if (route->page.waits) {
      router.get(route->path, *route, &Route::wait);
    } else {
      router.get(route->path, *route, &Route::show);
    }
  }
  if (!has_root) router.get("/", list, &List::show);
}

std::string AdminPages::paths() const {
  std::string all;
  for (const auto& route : routes_) {
    if (!all.empty()) all += ' ';
    all += route->path;
  }
  return all;
}

}  // namespace keel::telemetry
