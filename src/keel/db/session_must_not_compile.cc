// A struct of arguments that is made in the call, chosen by CASE (CMakeLists.txt has the sentence). CASE 0 compiles.

#include <string>

#include "keel/db/session.h"

using namespace keel;

struct Line {
  std::string sku;
};
struct Place {
  int x;
};
struct Found {
  int id;
};

#if CASE == 0
Task<> asks(db::Session& session) {
  const Line line{"AB"};
  co_await session.execute("insert into lines (sku) values ($sku)", line);
  co_await session.execute("insert into places (x) values ($x)", Place{1});
  const auto found = co_await session.query_many<Found>("select id from lines where sku = $1", std::string("AB"));
}
#elif CASE == 1
Task<> asks(db::Session& session) { co_await session.execute("insert into lines (sku) values ($sku)", Line{"AB"}); }
#elif CASE == 2
Task<> asks(db::Session& session) {
  const auto found = co_await session.query_one<Found>("select id from lines where sku = $sku", Line{"AB"});
}
#elif CASE == 3
Task<> asks(db::Session& session) {
  const auto found = co_await session.query_optional<Found>("select id from lines where sku = $sku", Line{"AB"});
}
#elif CASE == 4
Task<> asks(db::Session& session) {
  const auto found = co_await session.query_many<Found>("select id from lines where sku = $sku", Line{"AB"});
}
#elif CASE == 5
Task<> asks(db::Session& session) {
  co_await session.query("select id from lines where sku = $sku", [](const db::Row&) {}, Line{"AB"});
}
#endif
