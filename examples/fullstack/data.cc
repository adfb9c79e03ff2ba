#include "data.h"

#include "keel/data/json.h"
#include "keel/http/problem.h"

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

}  // namespace

Task<http::Response> Data::create(http::Request& request) {
  json::Reader in(request.body(), request.arena());
  if (in.peek() != json::Kind::Object) {
    in.skip();
    in.fail("expected an object");
  } else {
    in.skip();
  }
  if (!in.finish()) co_return http::problem(in);
  const db::Written written = co_await database_.execute("insert into data (body) values ($1)", request.body());
  co_return http::Response::json(http::Status::Created, Created{written.last_insert_id});
}
