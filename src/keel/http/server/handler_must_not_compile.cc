// Each case, chosen by CASE, is rejected by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include <functional>
#include <string>

#include "keel/http/server/router.h"
#include "keel/net/stream.h"

using namespace keel;
using http::BodyWriter;
using http::Next;
using http::Request;
using http::Response;

struct Users {
  Response find(Request&) { return Response(http::Status::Ok); }
  Task<Response> load(Request&) { co_return Response(http::Status::Ok); }
  int count(Request&) { return 1; }
};
struct Timed {
  Task<Response> operator()(Request& request, Next next) { co_return co_await next(request); }
};
struct KeepsNext {
  Task<Response> operator()(Request& request, const Next& next) { co_return co_await next(request); }
};
struct Stamp {
  void after(Request&, Response&) {}
};
struct LooksAtNothing {
  bool before(Request&) { return true; }
};
Task<Response> timed(Request& request, Next next) { co_return co_await next(request); }
Task<Response> keeps_next(Request& request, const Next& next) { co_return co_await next(request); }
Response by_value(Request request);
Task<> talks(Stream) { co_return; }
Task<> talks_by_reference(const Stream&) { co_return; }
Task<> write_nothing(BodyWriter&) { co_return; }
Task<> write_path(BodyWriter&, std::string_view) { co_return; }
Task<> write_text(BodyWriter&, const std::string&) { co_return; }
Task<> write_request(BodyWriter&, Request&) { co_return; }
struct Table {
  Task<> write(BodyWriter&, int) { co_return; }
} table;
Task<> write_rows(BodyWriter&, std::string, Table&) { co_return; }
template <class... Args>
Response csv(Args&&... args) {
  return Response::stream(http::Status::Ok, "text/csv", std::forward<Args>(args)...);
}

void add(http::Router& router, Users& users, Timed& object, KeepsNext& keeps, std::string name) {
#if CASE == 0
  router.get("/a", users, &Users::find).post("/a", users, &Users::load);
  router.get("/b", [name](Request&) { return Response::text(http::Status::Ok, name); });
  router.get("/c", [](Request&) -> Task<Response> { co_return Response(http::Status::Ok); });
  router.use(timed).use(object).use(Stamp());
  router.use([](Request& request, Next next) -> Task<Response> { co_return co_await next(request); });
  static_cast<void>(keeps);
  router.get("/d", [](Request&) { return Response::upgrade("echo", talks); });
  router.get("/e", [](Request&) { return Response::upgrade("echo", [](Stream, int) -> Task<> { co_return; }, 1); });
  router.get("/f", [](Request& request) {
    return Response::stream(http::Status::Ok, "text/csv", &write_rows, std::string(request.path()), std::ref(table));
  });
  router.get(
      "/g", [](Request&) { return Response::stream(http::Status::Ok, "text/csv", table, &Table::write, 1).length(7); });
#elif CASE == 1
  router.get("/", [name](Request&) -> Task<Response> { co_return Response::text(http::Status::Ok, name); });
#elif CASE == 2
  router.use([name](Request& request, Next next) -> Task<Response> { co_return co_await next(request); });
#elif CASE == 3
  router.use(keeps_next);
#elif CASE == 4
  router.use(keeps);
#elif CASE == 5
  router.get("/", by_value);
#elif CASE == 6
  router.get("/", [](Request& request) {
    static Request kept = request;
    return Response(http::Status::Ok);
  });
#elif CASE == 7
  router.get("/", Users(), &Users::load);
#elif CASE == 8
  router.get("/", users, &Users::count);
#elif CASE == 9
  router.use(Timed());
#elif CASE == 10
  router.use(LooksAtNothing());
#elif CASE == 11
  router.get("/", [](Request&) { return Response::upgrade("echo", talks_by_reference); });
#elif CASE == 12
  router.get("/", [](Request&) { return Response::upgrade("echo", [](Stream&&) -> Task<> { co_return; }); });
#elif CASE == 13
  router.get("/", [](Request& request) {
    return csv([&request](BodyWriter& out) -> Task<> { co_await out.write(request.path()); });
  });
#elif CASE == 14
  router.get("/",
             [](Request& request) { return csv([&request](BodyWriter& out) { return write_request(out, request); }); });
#elif CASE == 15
  router.get("/", [name](Request&) { return csv([name](BodyWriter& out) -> Task<> { co_await out.write(name); }); });
#elif CASE == 16
  router.get("/", [](Request& request) { return csv(&write_request, std::ref(request)); });
#elif CASE == 17
  router.get("/", [](Request& request) { return csv(&write_request, request); });
#elif CASE == 18
  router.get("/", [](Request& request) { return csv([](BodyWriter&, Request*) -> Task<> { co_return; }, &request); });
#elif CASE == 19
  router.get("/", [](Request& request) { return csv(&write_path, request.path()); });
#elif CASE == 20
  router.get("/", [](Request& request) {
    return csv([](BodyWriter&, std::optional<std::string_view>) -> Task<> { co_return; }, request.header("A"));
  });
#elif CASE == 21
  // A temporary string would be made of it, and be gone.
  router.get("/", [](Request&) { return csv(&write_text, "text"); });
#elif CASE == 22
  // A copy would be changed.
  router.get("/", [](Request&) { return csv(&write_rows, std::string(), table); });
#elif CASE == 23
  router.get("/", [](Request&) { return csv(&write_nothing, 1); });
#elif CASE == 24
  router.get("/", [](Request&) { return csv(Table(), &Table::write, 1); });
#elif CASE == 25
  router.get("/", [](Request& request) { return csv(table, &Table::write, request.path()); });
#elif CASE == 26
  router.get("/", [name](Request&) { return Response::upgrade("echo", [name](Stream) -> Task<> { co_return; }); });
#elif CASE == 27
  router.get("/", [](Request& request) {
    return Response::upgrade("echo", [](Stream, Request&) -> Task<> { co_return; }, std::ref(request));
  });
#endif
}
