#include "data.h"

#include <optional>

#include "keel/data/json.h"
#include "keel/http/server/problem.h"
#include "keel/observe/span.h"

using namespace keel;

namespace {

struct Created {
  std::int64_t id;
};
void write_json(json::Writer& out, const Created& created) {
  out.begin_object();
  out.key("id").integer(created.id);
  out.end_object();
}

// What is wrong with the body, if anything is.
std::optional<http::Response> refuse_unless_object(http::Request& request) {
  const StageTimer timer(Stage::Validate);
  json::Reader in(request.body(), request.arena());
  const bool is_object = in.peek() == json::Kind::Object;
  in.skip();
  if (!is_object) in.fail("expected an object");
  if (!in.finish()) return http::problem(in);
  return std::nullopt;
}

}  // namespace

Task<http::Response> Data::create(http::Request& request) {
  if (auto problem = refuse_unless_object(request)) co_return *std::move(problem);
  const db::Written written = co_await database_.execute("insert into data (body) values ($1)", request.body());
  co_return http::Response::json(http::Status::Created, Created{written.last_insert_id});
}
