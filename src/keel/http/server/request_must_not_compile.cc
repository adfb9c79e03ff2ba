// Each case, chosen by CASE, is rejected by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include "keel/http/server/request.h"

#include <string_view>

#include "keel/http/server/response.h"
#include "keel/task/task.h"

using namespace keel;
using http::Request;
using http::Response;

struct Line {
  std::string_view sku;
};

#if CASE == 0
Response answer(Request&) { return Response(http::Status::Ok); }
#elif CASE == 1
Task<Response> create(Request& request) {
  const auto line = co_await request.json<Line>();
  co_return Response(http::Status::Ok);
}
#elif CASE == 2
Response answer(Request&) { return Response::json(Line{}); }
#endif
