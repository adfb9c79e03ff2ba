// Each case, chosen by CASE, is rejected by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "keel/http.h"

using namespace keel;
using http::Request;
using http::Response;

struct Line {
  std::string_view sku;
};
struct Order {
  std::vector<Line> lines;
};
struct Mapped {
  std::map<std::string, std::string> labels;
};
struct Pointing {
  const char* name;
};
class Closed {
 public:
  explicit Closed(int value) : value_(value) {}

 private:
  int value_;
};
class Hidden {
  int value_;
};
struct Holding {
  Closed closed;
};

#if CASE == 0
struct Upload {
  std::string_view title;
  std::vector<http::FormPart> pictures;
};
Task<Response> create(Request& request) {
  const auto order = co_await request.json<Order>();
  const auto line = co_await request.query<Line>();
  const auto upload = co_await request.form<Upload>();
  if (line.sku.empty()) co_return Response::json(std::vector<Order>{order});
  co_return Response::json(http::Status::Created, order);
}
#elif CASE == 1
Task<Response> create(Request& request) {
  const auto closed = co_await request.json<Closed>();
  co_return Response(http::Status::Ok);
}
#elif CASE == 2
Task<Response> create(Request& request) {
  const auto pointing = co_await request.json<Pointing>();
  co_return Response(http::Status::Ok);
}
#elif CASE == 3
Result<Response> list(Request& request) {
  KEEL_TRY(const auto order, request.query<Order>());
  return Response(http::Status::Ok);
}
#elif CASE == 4
Result<Response> list(Request& request) {
  KEEL_TRY(const auto mapped, request.form<Mapped>());
  return Response(http::Status::Ok);
}
#elif CASE == 5
Result<Response> list(Request& request) {
  KEEL_TRY(const auto pointing, request.query<Pointing>());
  return Response(http::Status::Ok);
}
#elif CASE == 6
Response answer(Request&) { return Response::json(Holding{Closed(1)}); }
#elif CASE == 7
Response answer(Request&) { return Response::json(Pointing()); }
#elif CASE == 8
Response answer(Request&) { return Response::json(http::Status::NoContent); }
#elif CASE == 9
Task<Response> create(Request& request) {
  const auto hidden = co_await request.json<std::vector<Hidden> >();
  co_return Response(http::Status::Ok);
}
#endif
