#include "data.h"

#include "keel/data/json_write.h"
#include "keel/http/server/input.h"

using namespace keel;

namespace {

struct Created {
  std::int64_t id;
};

// Any object, which is kept as it is.
struct Anything {};
void read_json(json::Reader& in, Anything&) {
  const bool is_object = in.peek() == json::Kind::Object;
  in.skip();
  if (!is_object) in.fail("expected an object");
}

}  // namespace

Task<http::Response> Data::create(http::Request& request) {
  co_await request.json<Anything>();
  const db::Written written = co_await session_.execute("insert into data (body) values ($1)", request.body());
  co_return http::Response::json(http::Status::Created, Created{written.last_insert_id});
}
