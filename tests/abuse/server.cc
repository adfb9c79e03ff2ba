// The service that suites.py attacks: an App with the limits of its configuration, and handlers that an attacker likes.
//
//   GET  /hello         13 bytes
//   GET  /bytes/{size}  a body of this size, made as a whole and held until it is sent
//   POST /echo          the size of the body
//   POST /members       how many members the JSON object in the body has, those of objects inside as well
//   GET  /count         how many fields, cookies and bytes of query came; each field is looked up by its name
//   GET  /note          a line of the log at level warn, "noted"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/app/app.h"
#include "keel/data/json.h"
#include "keel/http/server/cookie.h"
#include "keel/http/server/problem.h"
#include "keel/observe/log.h"

using namespace keel;

namespace {

log::Logger logger("abuse");

http::Response hello(http::Request&) { return http::Response::text(http::Status::Ok, "Hello, World!", "text/plain"); }

constexpr std::uint32_t size_max = 16u << 20;
Result<http::Response> bytes(http::Request& request) {
  KEEL_TRY(const auto size, request.path_param<std::uint32_t>("size"));
  if (size > size_max) return fail(Code::OutOfRange, "a body has at most 16 MiB here");
  Buffer body;
  std::fill_n(body.reserve(size), size, 'x');
  body.commit(size);
  return http::Response::body(http::Status::Ok, std::move(body), "text/plain");
}

http::Response number(std::size_t value) {
  return http::Response::text(http::Status::Ok, std::to_string(value), "text/plain");
}

http::Response echo(http::Request& request) { return number(request.body().size()); }

http::Response members(http::Request& request) {
  json::Reader in(request.body(), request.arena());
  std::size_t count = 0;
  in.begin_object();
  while (in.next_key()) {
    ++count;
    in.skip();
  }
  if (!in.finish()) return http::problem(in);
  return number(count);
}

Result<http::Response> count(http::Request& request) {
  const http::RequestHead& head = request.head();
  std::size_t found = request.query().size();
  for (unsigned i = 0; i < head.field_count(); ++i) found += request.header(head.field(i).name).has_value();
  http::Cookies cookies(head);
  while (cookies.next()) ++found;
  KEEL_TRY_VOID(cookies.finish());
  KEEL_TRY(const auto wanted, request.query_param<std::string_view>("wanted"));
  return number(found + wanted.has_value());
}

http::Response note(http::Request&) {
  logger.warn("noted");
  return http::Response(http::Status::NoContent);
}

class Abused {
 public:
  explicit Abused(app::App& app) {
    router_.get("/hello", hello).get("/bytes/{size}", bytes).get("/count", count).get("/note", note);
    router_.post("/echo", echo).post("/members", members);
    app.serve(router_);
  }

 private:
  http::Router router_;
};

}  // namespace

int main(int argc, char** argv) { return app::run<Abused>("abuse_server", argc, argv); }
