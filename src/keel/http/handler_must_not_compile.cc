// Each case, chosen by CASE, is refused by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include "keel/http/router.h"
#include "keel/net/stream.h"

using namespace keel;
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

void add(http::Router& router, Users& users, Timed& object, KeepsNext& keeps, std::string name) {
#if CASE == 0
  router.get("/a", users, &Users::find).post("/a", users, &Users::load);
  router.get("/b", [name](Request&) { return Response::text(http::Status::Ok, name); });
  router.get("/c", [](Request&) -> Task<Response> { co_return Response(http::Status::Ok); });
  router.use(timed).use(object).use(Stamp());
  router.use([](Request& request, Next next) -> Task<Response> { co_return co_await next(request); });
  static_cast<void>(keeps);
  router.get("/d", [](Request&) { return Response::upgrade("echo", talks); });
  router.get("/e", [](Request&) {
    return Response::upgrade("echo", [n = 1](Stream) -> Task<> {
      static_cast<void>(n);
      co_return;
    });
  });
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
#endif
}
