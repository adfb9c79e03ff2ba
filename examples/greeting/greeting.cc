#include "greeting.h"

#include <algorithm>

#include "keel/http/server/problem.h"
#include "keel/task/timing.h"

namespace greeting {

using namespace keel;

void Greeter::mount(http::Router& router) {
  router.get("/hello/{name}", *this, &Greeter::hello).post("/hello", *this, &Greeter::hello_all);
  router.get("/later/{seconds}", *this, &Greeter::later);
}

Result<http::Response> Greeter::hello(http::Request& request) {
  KEEL_TRY(const std::string_view name, request.path_param<std::string_view>("name"));
  if (name == "Nobody") return fail(Code::NotFound, "there is nobody of this name");
  return http::Response::text(http::Status::Ok, greeting_ + ", " + std::string(name) + "!");
}

// A name in each line.
http::Response Greeter::hello_all(http::Request& request) {
  std::string text;
  for (std::string_view rest = request.body(); !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    text += greeting_ + ", " + std::string(name) + "!\n";
  }
  if (text.empty()) return http::refuse(http::Status::UnprocessableContent, "the body has a name in each line");
  return http::Response::text(http::Status::Ok, text);
}

Task<http::Response> Greeter::later(http::Request& request) {
  const auto seconds = co_await request.path_param<int>("seconds");
  co_await sleep_for(Duration::seconds(seconds));
  co_return http::Response::text(http::Status::Ok, greeting_ + ", at last.");
}

}  // namespace greeting
