#include "greeting.h"

#include <string_view>
#include <vector>

#include "keel/data/json_write.h"
#include "keel/http/server/input.h"
#include "keel/task/timing.h"

namespace greeting {

using namespace keel;

namespace {

struct Guests {
  std::vector<std::string_view> names;
  void rules(Check& check) const { check(names).count(1, 100); }
};
struct Greetings {
  std::vector<std::string> greetings;
};

}  // namespace

void Greeter::mount(http::Router& router) {
  router.get("/hello/{name}", *this, &Greeter::hello).post("/hello", *this, &Greeter::hello_all);
  router.get("/later/{seconds}", *this, &Greeter::later);
}

Result<http::Response> Greeter::hello(http::Request& request) {
  KEEL_TRY(const std::string_view name, request.path_param<std::string_view>("name"));
  if (name == "Nobody") return fail(Code::NotFound, "there is nobody of this name");
  return http::Response::text(http::Status::Ok, greeting_ + ", " + std::string(name) + "!");
}

Result<http::Response> Greeter::hello_all(http::Request& request) {
  KEEL_TRY(const auto guests, request.json<Guests>());
  Greetings all;
  for (const std::string_view name : guests.names) all.greetings.push_back(greeting_ + ", " + std::string(name) + "!");
  return http::Response::json(all);
}

Task<http::Response> Greeter::later(http::Request& request) {
  const auto seconds = co_await request.path_param<int>("seconds");
  co_await sleep_for(Duration::seconds(seconds));
  co_return http::Response::text(http::Status::Ok, greeting_ + ", at last.");
}

}  // namespace greeting
