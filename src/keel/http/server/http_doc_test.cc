// docs/http.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/http.h"

// --- What the page shows, for which that header is enough: the others are included behind it.

namespace keel {
namespace {

http::Response version(http::Request&) { return http::Response::text(http::Status::Ok, "7"); }

Result<http::Response> half(http::Request& request) {
  KEEL_TRY(const int number, request.path_param<int>("number"));  // 400 when it is no int
  if (number % 2 != 0) return fail(Code::Conflict, "it is odd");  // 409
  return http::Response::text(http::Status::Ok, std::to_string(number / 2));
}

Task<http::Response> later(http::Request& request) {
  const auto seconds = co_await request.path_param<int>("seconds");
  co_await sleep_for(Duration::seconds(seconds));
  co_return http::Response::text(http::Status::Ok, "at last");
}

Task<> insert_name(std::string name) {
  if (name == "ada") co_await Error(Code::AlreadyExists, "UNIQUE constraint failed: names.name").from_environment();
}

Task<http::Response> reserve(http::Request& request) {
  const auto name = co_await request.path_param<std::string_view>("name");
  co_await on_error(Code::AlreadyExists, fail(Code::Conflict, "this name is taken"), insert_name(std::string(name)));
  co_return http::Response(http::Status::Created);
}

bool is_known(std::string_view sku) { return sku != "X-1"; }

struct Line {
  std::string_view sku;  // a view into the body
  int quantity;

  void rules(Check& check) const { check(quantity).range(1, 100); }
};
struct NewOrder {
  std::string customer;
  std::vector<Line> lines;
  std::optional<std::string> note;

  void rules(Check& check) const { check(lines).count(1, 20); }
};

Task<http::Response> order(http::Request& request) {
  const auto order = co_await request.json<NewOrder>();
  co_return http::Response::json(http::Status::Created, order).header("Location", "/orders/7");
}

Task<http::Response> explain(http::Request& request) {
  const Result<NewOrder> order = request.json<NewOrder>();
  if (order) co_return http::Response::json(*order);
  std::string text;
  if (const auto* why = http::Rejection::of(order.error())) {
    for (const Violation& one : why->violations()) text += one.pointer + " " + one.message + "\n";
  }
  co_return http::Response::text(http::Status::UnprocessableContent, text);
}

Task<http::Response> reorder(http::Request& request) {
  const auto order = co_await request.json<NewOrder>();
  http::Invalid invalid;
  for (std::size_t i = 0; i < order.lines.size(); ++i) {
    if (!is_known(order.lines[i].sku)) {
      invalid.field("/lines/" + std::to_string(i) + "/sku", "is no product of ours");
    }
  }
  if (!invalid.empty()) co_return std::move(invalid).response();  // 422
  co_return http::Response(http::Status::NoContent);
}

enum class Sort { Newest, Price };

struct Filter {
  std::optional<std::string> state;
  std::vector<std::string> tag;  // each `tag=`
  Sort sort = Sort::Newest;
  int limit = 20;

  static constexpr bool optional_fields = true;
  void rules(Check& check) const { check(limit).range(1, 100); }
};

Task<http::Response> list(http::Request& request) {  // ?state=open&tag=new&tag=gift&limit=50
  const auto filter = co_await request.query<Filter>();
  co_return http::Response::json(filter);
}

Result<http::Response> search(http::Request& request) {
  KEEL_TRY(const auto words, request.query_param<std::string_view>("q"));  // decoded; nullopt: not there
  const auto session = http::find_cookie(request, "session");
  if (!session) return http::refuse(http::Status::Unauthorized, "log in first");
  const std::string_view language = request.header("Accept-Language").value_or("en");
  return http::Response::text(http::Status::Ok, std::string(words.value_or("")) + " in " + std::string(language));
}

struct Attachment {
  std::string_view title;
  http::FormPart picture;               // a file
  std::vector<http::FormPart> more;     // any number of them
  std::optional<http::FormPart> cover;  // empty when none was chosen

  void rules(Check& check) const { check(title).length(1, 80); }
};

Result<http::Response> attach(http::Request& request) {
  KEEL_TRY(const auto attachment, request.form<Attachment>());
  const http::FormPart& picture = attachment.picture;  // .filename, .content_type, .body
  return http::Response::text(http::Status::Ok,
                              std::string(picture.filename.value_or("-")) + ": " + std::to_string(picture.body.size()));
}

Task<http::Response> upload(http::Request& request) {
  std::uint64_t bytes = 0;
  while (true) {
    const Chunk chunk = co_await request.read_body();  // borrowed until the next read; empty: that was all
    if (chunk.empty()) break;
    bytes += chunk.size();
  }
  co_return http::Response::text(http::Status::Ok, std::to_string(bytes));
}

Result<http::Response> log_in(http::Request&) {
  http::Response response(http::Status::SeeOther);
  response.header("Location", "/");
  KEEL_TRY_VOID(http::set_cookie(response, {.name = "session", .value = "c2VjcmV0", .max_age = 24_h}));
  return response;
}

Task<> write_rows(http::BodyWriter& out, int count, std::string table) {
  for (int row = 0; row < count; ++row) {
    const std::string line = table + std::to_string(row) + "\n";
    co_await out.write(line);  // waits while 32 KiB are queued
  }
}

http::Response rows(http::Request& request) {
  return http::Response::stream(http::Status::Ok, "text/csv", &write_rows, 100'000, std::string(request.query()));
}

http::Response page(http::Request& request) {
  const http::Validators present{.etag = "\"v7\""};
  const std::int64_t now_seconds = Host::current().wall_ns() / 1'000'000'000;
  switch (http::evaluate(request.head(), present, now_seconds)) {
    case http::Precondition::NotModified:
      return http::Response(http::Status::NotModified).header("ETag", present.etag);
    case http::Precondition::Failed:
      return http::refuse(http::Status::PreconditionFailed, "the page is another one by now");
    case http::Precondition::Holds:
      break;
  }
  return http::Response::text(http::Status::Ok, "the page").header("ETag", present.etag);
}

http::Response film(http::Request& request) {
  const std::string_view all = "0123456789";
  const std::string size = std::to_string(all.size());
  http::Range part[1];  // whoever asks for more than one gets everything
  switch (http::parse_ranges(request.header("Range").value_or(""), all.size(), part).kind) {
    case http::RangeRequest::Kind::Unsatisfiable:
      return http::refuse(http::Status::RangeNotSatisfiable, "it is shorter")
          .header("Content-Range", "bytes */" + size);
    case http::RangeRequest::Kind::Satisfiable:
      return http::Response::text(http::Status::PartialContent, all.substr(part[0].first, part[0].size))
          .header("Content-Range", "bytes " + std::to_string(part[0].first) + "-" +
                                       std::to_string(part[0].first + part[0].size - 1) + "/" + size);
    case http::RangeRequest::Kind::Ignored:
      break;
  }
  return http::Response::text(http::Status::Ok, all).header("Accept-Ranges", "bytes");
}

Task<std::string> ask_another(Duration takes) {
  co_await sleep_for(takes);
  co_return "12";
}

Task<http::Response> price(http::Request&) {
  const Result<std::string> fresh = co_await attempt(with_timeout(200_ms, ask_another(1_s)));
  co_return http::Response::text(http::Status::Ok, fresh ? *fresh : "as yesterday");
}

Task<> echo(Stream stream) {
  while (true) {
    const Chunk chunk = co_await stream.receive();  // begins with bytes that the client sent after its request
    if (chunk.empty()) co_return;
    co_await stream.write(chunk);
  }
}

http::Response talk(http::Request&) { return http::Response::upgrade("echo", &echo); }

struct Users {
  http::Response list(http::Request&) { return http::Response::text(http::Status::Ok, "all users"); }
  Task<http::Response> create(http::Request& request) { return order(request); }
  Result<http::Response> find(http::Request& request) {
    KEEL_TRY(const auto id, request.path_param<unsigned>("id"));
    return http::Response::text(http::Status::Ok, "user " + std::to_string(id));
  }
  http::Response me(http::Request&) { return http::Response::text(http::Status::Ok, "me"); }
};
Result<http::Response> name_of_file(http::Request& request) {
  KEEL_TRY(const auto path, request.path_param<std::string_view>("path"));
  return http::Response::text(http::Status::Ok, path);
}
http::Response tenant(http::Request& request) { return http::Response::text(http::Status::Ok, request.host()); }

struct Notes {
  Result<http::Response> put(http::Request& request) {
    text = request.body();
    return http::Response(http::Status::NoContent);
  }
  http::Response get(http::Request& request) {
    if (request.accepted_type() == "text/plain") return http::Response::text(http::Status::Ok, text);
    return http::Response::json(std::vector{text});
  }
  std::string text;
};

struct RequireKey {
  std::optional<http::Response> before(http::Request& request) {
    if (request.header("X-Api-Key")) return std::nullopt;
    return http::refuse(http::Status::Unauthorized, "this needs an X-Api-Key");
  }
};
struct Stamp {
  void after(http::Request&, http::Response& response) { response.header("X-Served-By", "keel"); }
};

Result<> serve(const http::Router& router, FunctionRef<void(const Address&)> wait) {
  KEEL_TRY(auto runtime, io::Runtime::make({.workers = 2}));  // a thread and a loop each
  KEEL_TRY_VOID(runtime->start());
  http::Server server(router, {.address = *Address::parse("127.0.0.1:0")});
  KEEL_TRY_VOID(server.start(*runtime));
  wait(server.address());  // until somebody wants it to end
  if (!server.drain(10_s)) return fail(Code::DeadlineExceeded, "requests were aborted");
  return {};
}

}  // namespace
}  // namespace keel

// --- What clients see.

#include "keel/http/server/cbor.h"
#include "keel/http/testing/test_server.h"
#include "keel/io/file.h"
#include "keel/net/blocking/stream.h"

namespace keel {
namespace {

Task<http::Response> measure(http::Request& request) {
  const auto order = co_await http::read_json_or_cbor<NewOrder>(request);  // as Content-Type says; 415 for others
  co_return http::json_or_cbor(request, http::Status::Created, order);     // as Accept prefers; 406 for neither
}

// What comes back for `bytes`: until the connection ends, or nothing has come for `patience`.
Task<std::string> say(const Address& to, std::string bytes, Duration patience) {
  Stream stream = co_await Stream::connect(to);
  co_await stream.write(bytes);
  std::string heard;
  while (true) {
    const Result<Chunk> chunk = co_await attempt(with_timeout(patience, stream.receive()));
    if (!chunk) {
      heard += "(open)";
      break;
    }
    if (chunk->empty()) break;
    heard += *chunk;
  }
  co_return heard;
}
std::string said_to(http::TestServer& server, std::string bytes, Duration patience = 5_min) {
  const Result<std::string> heard = server.run(say(server.server().address(), std::move(bytes), patience));
  return heard ? *heard : heard.error().describe();
}
int status_of(std::string_view answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::stoi(std::string(answer.substr(9, 3))) : 0;
}
http::ClientRequest ask(std::string_view target, std::string_view name, std::string_view value) {
  return http::ClientRequest(http::Method::Get, target).header(name, value);
}

TEST(HttpDoc, routes_as_it_says) {
  Users users;
  const auto& status = version;
  http::Router router;
  router.get("/users", users, &Users::list).post("/users", users, &Users::create);
  router.get("/users/{id:uint}", users, &Users::find);
  router.get("/users/me", users, &Users::me);     // before any parameter
  router.get("/files/{path...}", &name_of_file);  // the rest of the path, slashes and all; may be empty

  http::Group api = router.group("/api", {.request_timeout = 5_s});
  api.get("", version).get("/status", status);    // "" is /api itself
  router.host("*.example.com").get("/", tenant);  // tried before the routes without a host
  http::TestServer server(router);

  EXPECT_EQ(server.get("/users").body(), "all users");
  EXPECT_EQ(server.get("/users/7").body(), "user 7");
  EXPECT_EQ(server.get("/users/me").body(), "me");
  EXPECT_EQ(server.get("/users/Ada").status(), 404);
  EXPECT_EQ(server.get("/users/").status(), 404) << "another path than /users";
  EXPECT_EQ(server.get("/files/").body(), "");
  EXPECT_EQ(server.get("/files/a/b%20c").body(), "a/b c");
  EXPECT_EQ(server.get("/api").body(), "7");
  EXPECT_EQ(server.get("/api/status").body(), "7");
  EXPECT_EQ(server.get("/").status(), 404);
  EXPECT_TRUE(said_to(server, "GET / HTTP/1.1\r\nHost: a.example.com\r\n\r\n").contains("\r\n\r\na.example.com"));

  // What the router answers itself.
  http::TestResponse head = server.send(http::ClientRequest(http::Method::Head, "/users"));
  EXPECT_EQ(head.status(), 200);
  EXPECT_EQ(head.header("Content-Length"), "9");
  http::TestResponse options = server.send(http::ClientRequest(http::Method::Options, "/users"));
  EXPECT_EQ(options.status(), 204);
  EXPECT_EQ(options.header("Allow"), "GET, HEAD, POST, OPTIONS");
  EXPECT_TRUE(
      said_to(server, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").contains("\r\nAllow: GET, HEAD, POST, OPTIONS\r\n"));
  EXPECT_EQ(server.del("/users").status(), 405);
  EXPECT_EQ(server.del("/users").header("Allow"), "GET, HEAD, POST, OPTIONS");
}

TEST(HttpDocDeathTest, routes_that_conflict_end_the_program) {
  http::Router router;
  router.get("/users/{id}", version);
  EXPECT_DEATH(router.get("/users/{id}", half),
               "check failed: /users/\\{id\\}: a path can have only one handler for each method; its GET was added at "
               ".*:[0-9]+");
  EXPECT_DEATH(router.get("/users/{name}", half), "\\{name\\} stands where \"/users/\\{id\\}\" has \\{id\\}");
}

TEST(HttpDoc, asks_for_media_types_as_it_says) {
  Notes notes;
  http::Router router;
  router.put("/notes", notes, &Notes::put, {.body_bytes_max = 4096, .consumes = {"text/plain"}});
  router.get("/notes", notes, &Notes::get, {.produces = {"text/plain", "application/json"}});
  http::TestServer server(router);

  EXPECT_EQ(server.put("/notes", "{}").status(), 415);
  EXPECT_EQ(server.put("/notes", "{}").header("Accept"), "text/plain");
  EXPECT_EQ(server.put("/notes", "milk", "text/plain").status(), 204);
  EXPECT_EQ(server.put("/notes", std::string(4097, 'm'), "text/plain").status(), 413);
  EXPECT_EQ(server.get("/notes").body(), "milk");
  EXPECT_EQ(server.get("/notes").header("Vary"), "Accept");
  EXPECT_EQ(server.send(ask("/notes", "Accept", "application/json")).body(), R"(["milk"])");
  EXPECT_EQ(server.send(ask("/notes", "Accept", "image/png")).status(), 406);
}

TEST(HttpDoc, reads_and_answers_as_it_says) {
  http::Router router;
  router.get("/half/{number}", half).get("/later/{seconds}", &later).get("/search", search);
  router.post("/orders", &order)
      .get("/orders", &list)
      .post("/orders/explained", &explain)
      .post("/orders/again", &reorder)
      .post("/orders/measured", &measure);
  router.post("/files", attach).post("/login", log_in).get("/rows", rows);
  router.get("/page", page).put("/page", page).get("/film", film).get("/price", &price);
  router.get("/fails", [](http::Request&) -> Result<http::Response> { return fail(Code::Unavailable, "db7 is down"); });
  router.put("/uploads/{name:slug}", &upload, {.body_bytes_max = 1u << 30, .streams_body = true});
  router.put("/names/{name}", &reserve);
  http::TestServer server(router);

  EXPECT_EQ(server.put("/names/grace", "").status(), 201);
  const http::TestResponse taken = server.put("/names/ada", "");
  EXPECT_EQ(taken.status(), 409);
  EXPECT_NE(taken.body().find("this name is taken"), std::string_view::npos) << taken.body();
  EXPECT_EQ(server.get("/half/8").body(), "4");
  EXPECT_EQ(server.get("/half/x").status(), 400);
  http::TestResponse odd = server.get("/half/7");
  EXPECT_EQ(odd.status(), 409);
  EXPECT_EQ(odd.header("Content-Type"), "application/problem+json");
  EXPECT_EQ(odd.body(), R"({"type":"about:blank","title":"Conflict","status":409,"detail":"it is odd"})");
  http::TestResponse fails = server.get("/fails");
  EXPECT_EQ(fails.status(), 503);
  EXPECT_EQ(fails.header("Retry-After"), "1");
  EXPECT_FALSE(fails.body().contains("db7"));
  EXPECT_EQ(server.get("/later/20").body(), "at last");

  EXPECT_EQ(server.send(ask("/search?q=a%20b", "Cookie", "session=7")).body(), "a b in en");
  EXPECT_EQ(server.send(ask("/search?q=%", "Cookie", "session=7")).status(), 400);
  EXPECT_EQ(server.get("/search").status(), 401);

  const char* const good = R"({"lines": [{"quantity": 2, "sku": "A-1"}], "customer": "Ada", "more": []})";
  http::TestResponse made = server.post("/orders", good);
  EXPECT_EQ(made.status(), 201);
  EXPECT_EQ(made.header("Location"), "/orders/7");
  EXPECT_EQ(made.body(), R"({"customer":"Ada","lines":[{"sku":"A-1","quantity":2}],"note":null})");
  http::TestResponse broken = server.post("/orders", R"({"customer": "Ada")");
  EXPECT_EQ(broken.status(), 400);
  EXPECT_TRUE(broken.body().contains("line 1 column")) << broken.body();
  const char* const wrong = R"({"lines": [{"quantity": 0, "sku": "A-1"}]})";
  EXPECT_EQ(server.post("/orders", wrong).status(), 422);
  EXPECT_EQ(server.post("/orders", wrong).body(),
            R"({"type":"about:blank","title":"Unprocessable Content","status":422,)"
            R"("detail":"the body has invalid values",)"
            R"("errors":[{"pointer":"/lines/0/quantity","keyword":"minimum","detail":"must be from 1 to 100"},)"
            R"({"pointer":"/customer","keyword":"required","detail":"is required"}]})")
      << "the document of the page";
  EXPECT_EQ(server.post("/orders", good, "text/plain").status(), 415);
  EXPECT_EQ(server.post("/orders/measured", good).body(), made.body());
  EXPECT_EQ(server.post("/orders/measured", good, "text/plain").status(), 415);
  EXPECT_EQ(server.post("/orders/explained", wrong).body(),
            "/lines/0/quantity must be from 1 to 100\n/customer is required\n");
  EXPECT_EQ(server.post("/orders/again", good).status(), 204);
  http::TestResponse unknown = server.post("/orders/again", R"({"lines":[{"quantity":2,"sku":"X-1"}],"customer":"A"})");
  EXPECT_EQ(unknown.status(), 422);
  EXPECT_TRUE(unknown.body().contains(R"({"pointer":"/lines/0/sku","detail":"is no product of ours"})"));

  EXPECT_EQ(server.get("/orders?state=open&tag=new&tag=gift&limit=50").body(),
            R"({"state":"open","tag":["new","gift"],"sort":"Newest","limit":50})");
  http::TestResponse limit = server.get("/orders?limit=0");
  EXPECT_EQ(limit.status(), 400);
  EXPECT_TRUE(limit.body().contains(
      R"("errors":[{"parameter":"limit","keyword":"minimum","detail":"must be from 1 to 100"}])"));

  const char* const multipart = "multipart/form-data; boundary=b";
  const std::string picture =
      "--b\r\nContent-Disposition: form-data; name=picture; filename=\"a.png\"\r\n\r\nabc\r\n--b";
  EXPECT_EQ(
      server.post("/files", picture + "\r\nContent-Disposition: form-data; name=title\r\n\r\nCats\r\n--b--", multipart)
          .body(),
      "a.png: 3");
  http::TestResponse untitled = server.post("/files", picture + "--", multipart);
  EXPECT_EQ(untitled.status(), 422);
  EXPECT_TRUE(untitled.body().contains(R"("errors":[{"field":"title","keyword":"required","detail":"is required"}])"))
      << untitled.body();
  EXPECT_EQ(server.post("/files", "{}").status(), 415);
  EXPECT_EQ(server.put("/uploads/film", std::string(3'000'000, 'f')).body(), "3000000") << "above Limits";

  http::TestResponse in = server.post("/login", "");
  EXPECT_EQ(in.status(), 303);
  EXPECT_EQ(in.header("Set-Cookie"), "session=c2VjcmV0; Max-Age=86400; Path=/; Secure; HttpOnly; SameSite=Lax");
  http::TestResponse all = server.get("/rows");
  EXPECT_TRUE(all.body().starts_with("0\n1\n2\n") && all.body().ends_with("\n99999\n"));
  EXPECT_EQ(all.header("Transfer-Encoding"), "chunked");

  EXPECT_EQ(server.get("/page").header("ETag"), "\"v7\"");
  EXPECT_EQ(server.send(ask("/page", "If-None-Match", "\"v7\"")).status(), 304);
  EXPECT_EQ(server.send(http::ClientRequest(http::Method::Put, "/page").header("If-Match", "\"v6\"")).status(), 412);
  http::TestResponse part = server.send(ask("/film", "Range", "bytes=2-4"));
  EXPECT_EQ(part.status(), 206);
  EXPECT_EQ(part.body(), "234");
  EXPECT_EQ(part.header("Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(server.send(ask("/film", "Range", "bytes=10-")).header("Content-Range"), "bytes */10");
  EXPECT_EQ(server.send(ask("/film", "Range", "bytes=0-1,3-4")).body(), "0123456789");

  EXPECT_EQ(server.get("/price").body(), "as yesterday");
}

TEST(HttpDoc, serves_a_folder) {
  http::Router router;
  http::StaticFiles files({.folder = "public", .cache_control = "public, max-age=3600"});
  files.mount(router, "/static");  // GET and HEAD of /static/…
  http::TestServer server(router);
  ASSERT_TRUE(server.run(write_whole("public/page.html", "0123456789")));

  EXPECT_EQ(server.get("/static/page.html").header("Cache-Control"), "public, max-age=3600");
  EXPECT_EQ(server.get("/static/page.html").header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(server.send(ask("/static/page.html", "Range", "bytes=2-4")).body(), "234");
  EXPECT_EQ(server.get("/static/other.html").status(), 404);
  EXPECT_EQ(server.get("/static/%2e%2e/secret").status(), 404);
}

TEST(HttpDoc, goes_on_with_another_protocol) {
  http::Router router;
  router.get("/talk", talk);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/talk").status(), 426);
  const std::string asked = "GET /talk HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello";
  const std::string heard = said_to(server, asked);
  EXPECT_EQ(status_of(heard), 101);
  EXPECT_TRUE(heard.ends_with("\r\n\r\nhello(open)")) << heard;
}

TEST(HttpDoc, lets_preflights_pass_where_cors_comes_first) {
  const auto preflight = [] {
    return http::ClientRequest(http::Method::Options, "/api/users")
        .header("Origin", "https://app.example.com")
        .header("Access-Control-Request-Method", "GET");
  };
  http::Router router;
  http::Group api = router.group("/api");
  api.use(http::Cors({.origins = {"https://app.example.com"}})).use(RequireKey());  // in this order
  api.get("/users", version);
  EXPECT_EQ(http::TestServer(router).send(preflight()).status(), 204);
  EXPECT_EQ(http::TestServer(router).get("/api/users").status(), 401);

  http::Router wrong;
  wrong.use(RequireKey()).use(http::Cors({.origins = {"https://app.example.com"}})).get("/api/users", version);
  EXPECT_EQ(http::TestServer(wrong).send(preflight()).status(), 401);
}

// The table of the page.
TEST(HttpDoc, says_what_a_client_sees) {
  Notes notes;
  http::Router router;
  router.use(Stamp()).get("/a", version).post("/a", &order).get("/later/{seconds}", &later);
  router.put("/upload", &upload, {.body_bytes_max = 10, .streams_body = true});
  router.put("/notes", notes, &Notes::put, {.consumes = {"text/plain"}, .produces = {"text/plain"}});
  router.get("/throws", [](http::Request&) -> http::Response { throw 7; });
  router.get("/split", [](http::Request&) { return http::Response(http::Status::Ok).header("A", "b\r\nc: d"); });
  router.get("/hungry", [](http::Request& request) {
    request.arena().allocate(20u << 20);
    return http::Response(http::Status::Ok);
  });
  router.get("/talk", talk);
  http::TestServerOptions options;
  options.server.limits.bodies_bytes_max = 600'000;
  http::TestServer server(router, std::move(options));

  const std::string host = " HTTP/1.1\r\nHost: a\r\n";
  const std::string long_text(20'000, 'x');
  std::string many;
  for (int i = 0; i < 100; ++i) many += "X-Field: 1\r\n";
  const struct {
    const char* what;
    std::string bytes;
    int status;
    bool passes;  // The middleware that acts immediately.
    bool stays;   // The connection is kept.
  } rows[] = {
      {"no request", "hello\r\n\r\n", 400, false, false},
      {"no host", "GET /a HTTP/1.1\r\n\r\n", 400, false, false},
      {"two lengths", "POST /a" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400, false, false},
      {"a head that does not end", "GET /a" + host, 408, false, false},
      {"a body that does not end", "POST /a" + host + "Content-Length: 9\r\n\r\n{", 408, true, false},
      {"a large body", "POST /a" + host + "Content-Length: 2000000\r\n\r\n", 413, false, false},
      {"a large body that streams",
       "PUT /upload" + host + "Transfer-Encoding: chunked\r\n\r\n40\r\n" + std::string(64, 'x') + "\r\n0\r\n\r\n", 413,
       true, false},
      {"a body with wrong framing", "POST /a" + host + "Transfer-Encoding: chunked\r\n\r\nx\r\n", 400, true, false},
      {"a long target", "GET /" + long_text + host + "\r\n", 414, false, false},
      {"an expectation", "POST /a" + host + "Content-Length: 9\r\nExpect: magic\r\n\r\n", 417, false, false},
      {"a long field", "GET /a" + host + "X-Long: " + long_text + "\r\n\r\n", 431, false, false},
      {"many fields", "GET /a" + host + many + "\r\n", 431, false, false},
      {"another transfer coding", "POST /a" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501, false, false},
      {"another version", "GET /a HTTP/2.0\r\nHost: a\r\n\r\n", 505, false, false},
      {"too many bodies", "POST /a" + host + "Content-Length: 700000\r\n\r\n", 503, false, false},
      {"no such path", "GET /b" + host + "\r\n", 404, true, true},
      {"another method of the path", "DELETE /a" + host + "\r\n", 405, true, true},
      {"a method that nobody knows", "BREW /a" + host + "\r\n", 501, true, true},
      {"nothing that it accepts", "PUT /notes" + host + "Accept: image/png\r\n\r\n", 406, true, true},
      {"a type that is not taken", "PUT /notes" + host + "Content-Type: a/b\r\nContent-Length: 1\r\n\r\nx", 415, true,
       true},
      {"a body that is compressed",
       "PUT /notes" + host + "Content-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 415,
       true, true},
      {"no upgrade", "GET /talk" + host + "\r\n", 426, true, true},
      {"an exception", "GET /throws" + host + "\r\n", 500, true, true},
      {"a field that would split the answer", "GET /split" + host + "\r\n", 500, false, true},
      {"a handler that needs too much memory", "GET /hungry" + host + "\r\n", 503, true, true},
      {"a handler that takes too long", "GET /later/31" + host + "\r\n", 504, true, true},
  };
  for (const auto& row : rows) {
    const std::string heard = said_to(server, row.bytes, 50_s);
    EXPECT_EQ(status_of(heard), row.status) << row.what << ": " << heard;
    EXPECT_EQ(heard.contains("\r\nX-Served-By: keel\r\n"), row.passes) << row.what << ": " << heard;
    EXPECT_EQ(heard.ends_with("(open)"), row.stays) << row.what << ": " << heard;
    EXPECT_EQ(heard.contains("\r\nConnection: close\r\n"), !row.stays) << row.what << ": " << heard;
  }

  const Instant began = server.now();
  EXPECT_EQ(said_to(server, ""), "") << "idle: closed without a word";
  EXPECT_GE(server.now() - began, 60_s);
  EXPECT_LT(server.now() - began, 61_s);
}

TEST(HttpDoc, sets_limits) {
  http::Router router;
  http::ServerOptions options{.address = *Address::parse("127.0.0.1:0")};
  options.limits.body_bytes_max = 64 * 1024;
  options.limits.request_timeout = 5_s;
  http::Server server(router, options);
  server.stop();
  EXPECT_EQ(server.stats().requests, 0u);
}

TEST(HttpDoc, serves_without_an_app) {
  http::Router router;
  router.get("/version", version);
  std::string heard;
  const auto ask_once = [&](const Address& at) {
    Result<blocking::Stream> stream = blocking::Stream::connect(at, 10_s);
    ASSERT_TRUE(stream);
    ASSERT_TRUE(stream->write("GET /version HTTP/1.1\r\nHost: a\r\n\r\n", 10_s));
    const Result<Chunk> answer = stream->read_until("\r\n\r\n7", 1024, 10_s);
    if (answer) heard = *answer;
  };
  const Result<> served = serve(router, ask_once);
  EXPECT_TRUE(served) << served.error().describe();
  EXPECT_EQ(status_of(heard), 200) << heard;
}

}  // namespace
}  // namespace keel
