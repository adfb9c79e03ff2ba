// No heap allocation per request in steady state, with the access log written and metrics counted.

#include "keel/base/testing/allocation_count.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "api/api.h"
#include "client.h"
#include "data.h"
#include "health.h"
#include "keel/base/pool.h"
#include "keel/data/json_write.h"
#include "keel/db/sqlite/database.h"
#include "keel/http/middleware/compression.h"
#include "keel/http/middleware/cors.h"
#include "keel/http/middleware/rate_limit.h"
#include "keel/http/middleware/security_headers.h"
#include "keel/http/server/input.h"
#include "keel/http/server/server.h"
#include "keel/io/runtime.h"
#include "keel/net/tls/layer.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/metric_cells.h"
#include "keel/task/timing.h"
#include "keel/telemetry/log_writer.h"
#include "service.h"
#include "users.h"

namespace e2e {

namespace {

using namespace keel;

struct Message {
  std::string_view message;
};
struct Line {
  std::string_view sku;
  int quantity;
  void rules(Check& check) const { check(quantity).range(1, 100); }
};
struct Order {
  std::string_view customer;
  std::optional<std::string_view> note;
  std::array<Line, 3> lines;
  void rules(Check& check) const { check(customer).length(1, 100); }
};
struct Page {
  int limit = 20;
  std::optional<std::string_view> after;
  static constexpr bool optional_fields = true;
};

struct User {
  std::int64_t id;
  std::string_view name;
  std::string_view email;
  std::optional<std::int64_t> age;
  std::string_view created_at;
};
// What it reads of the database it writes from where it lies.
class Rows {
 public:
  explicit Rows(db::Session& session) : session_(session) {}
  void mount(http::Router& router) {
    router.get("/api/users", *this, &Rows::list).get("/api/users/{id}", *this, &Rows::find);
  }

 private:
  Task<http::Response> list(http::Request&) {
    Buffer body;
    json::Writer out(body);
    out.begin_array();
    auto add = [&](const db::Row& row) { json::write(out, row.as<User>()); };
    co_await session_.query("select id, name, email, age, created_at from users order by id limit 20", add);
    out.end_array();
    co_return http::Response::body(http::Status::Ok, std::move(body), "application/json");
  }
  Task<http::Response> find(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    http::Response response(http::Status::NotFound);
    auto answer = [&](const db::Row& row) { response = http::Response::json(row.as<User>()); };
    co_await session_.query("select id, name, email, age, created_at from users where id = $1", answer, id);
    co_return std::move(response);
  }

  db::Session& session_;
};

class Allocations : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Engines, Allocations, ::testing::Values("uring", "epoll"),
                         [](auto& test) { return test.param; });

TEST_P(Allocations, are_none_per_request_in_steady_state) {
  if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer replaces malloc";
  Folder folder;
  telemetry::LogSink sink;
  sink.to = telemetry::LogSink::To::File;
  sink.path = folder / "service.log";
  telemetry::LogWriterOptions writing;
  writing.sinks.push_back(std::move(sink));
  auto logs = telemetry::LogWriter::make(std::move(writing)).value();
  metrics::Registry registry;
  auto database = db::sqlite::Database::open({.path = folder / "app.db", .migrations = KEEL_E2E_MIGRATIONS}).value();
  auto runtime =
      io::Runtime::make({.workers = 1, .engine = GetParam() == "uring" ? io::EngineKind::Uring : io::EngineKind::Epoll})
          .value();
  ASSERT_TRUE(runtime->start());
  std::optional<log::Ring> ring;
  std::optional<metrics::ThreadCells> cells;
  runtime->each([&](io::Loop& loop) {
    ring.emplace();
    cells.emplace();
    EXPECT_TRUE(database->attach(loop));
  });
  {
    Rows rows(*database);
    Data data(*database);
    Health health;
    Users users(*database);
    http::Router router;
    rows.mount(router);
    api::mount(router.group("/contract"), data, health, users);
    router.get("/plaintext", [](http::Request&) { return http::Response::text(http::Status::Ok, "Hello, World!"); });
    router.get("/json", [](http::Request&) { return http::Response::json(Message{"Hello"}); });
    router.get("/page", [](http::Request& request) -> Result<http::Response> {
      KEEL_TRY(const auto page, request.query<Page>());
      return http::Response::json(page);
    });
    router.post("/order", [](http::Request& request) -> Result<http::Response> {
      KEEL_TRY(const auto order, request.json<Order>());
      return http::Response::json(http::Status::Created, order);
    });
    router.post("/order-later", [](http::Request& request) -> Task<http::Response> {
      const auto order = co_await request.json<Order>();
      co_await sleep_for(Duration());
      co_return http::Response::json(http::Status::Created, order);
    });
    std::string text;
    while (text.size() < 4000) text += "the same again and again, ";
    const auto long_text = [&text](http::Request&) { return http::Response::text(http::Status::Ok, text); };
    router.group("/middleware")
        .use(http::SecurityHeaders())
        .use(http::Cors({.origins = {"https://app.example"}}))
        .use(http::RateLimit({.requests = 1'000'000}))
        .use(http::Compression())
        .get("/now", long_text);
    http::ServerOptions options;
    options.address = Address::parse("127.0.0.1:0").value();
    options.metrics = &registry;
    http::Server server(router, std::move(options));
    ASSERT_TRUE(server.start(*runtime));
    Connection connection(server.address());
    const auto ask = [&](const std::string& wire, int status, int times) {
      for (int i = 0; i < times; ++i) {
        ASSERT_TRUE(connection.send(wire));
        const auto reply = connection.receive();
        ASSERT_EQ(reply ? reply->status : 0, status) << wire;
      }
    };
    const auto count = [&] {
      std::size_t now = 0;
      runtime->each([&](io::Loop&) { now = keel::internal::allocations(); });
      return now;
    };
    for (const auto& [target, status] : std::map<std::string, int>{{"/plaintext", 200},
                                                                   {"/json", 200},
                                                                   {"/page?limit=7&after=%41", 200},
                                                                   {"/api/users/7", 200},
                                                                   {"/api/users/999", 404},
                                                                   {"/api/users", 200},
                                                                   {"/contract/health", 200},
                                                                   {"/contract/api/users/999", 404},
                                                                   {"/contract/api/users?after=99", 200}}) {
      const std::string wire = request("GET", target);
      ask(wire, status, 300);
      const std::size_t before = count();
      ask(wire, status, 1000);
      EXPECT_EQ(count() - before, 0u) << target;
    }
    // A struct of a contract owns its texts: one of more than 15 bytes is an allocation.
    {
      const std::string wire = request("GET", "/contract/api/users/7");
      ask(wire, 200, 300);
      const std::size_t before = count();
      ask(wire, 200, 1000);
      EXPECT_LE(count() - before, 3000u);
    }
    const std::string order = R"({"customer":"Ad\u0061","note":null,"lines":[{"sku":"A-1","quantity":1},)"
                              R"({"quantity":2,"sku":"A-2"},{"sku":"A-3","quantity":3}]})";
    for (const std::string target : {"/order", "/order-later"}) {
      const std::string wire = request("POST", target, order);
      ask(wire, 201, 300);
      const std::size_t before = count();
      ask(wire, 201, 1000);
      EXPECT_EQ(count() - before, 0u) << target;
    }
    for (const std::string_view coding : http::ContentCoder::codings()) {
      const std::string wire =
          "GET /middleware/now HTTP/1.1\r\nHost: a\r\nOrigin: https://app.example\r\nAccept-Encoding: " +
          std::string(coding) + "\r\n\r\n";
      ask(wire, 200, 50);
      const std::size_t before = count();
      ask(wire, 200, 200);
      EXPECT_EQ(count() - before, 0u) << coding;
    }
    // The counter counts.
    const std::size_t before = count();
    runtime->each([](io::Loop&) { delete new int(1); });
    runtime->each([](io::Loop&) { std::string(100, 'x').shrink_to_fit(); });
    EXPECT_GE(count() - before, 1u);
    EXPECT_TRUE(server.drain(10_s));
  }
  database->close();
  runtime->each([&](io::Loop&) {
    ring.reset();
    cells.reset();
  });
  runtime->stop();
  logs->flush();
  EXPECT_EQ(logs->counts().lines_lost, 0u);
  EXPECT_GE(lines(read_file(folder / "service.log")).size(), 6500u) << "and every request was logged";
}

// A client that speaks TLS over a socket that blocks.
class SecureConnection {
 public:
  SecureConnection(const Address& to, const tls::ClientContext& context)
      : fd_(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)), records_(context, "127.0.0.1") {
    is_good_ = ::connect(fd_, to.system(), to.system_size()) == 0;
    std::string_view nothing;
    is_good_ = is_good_ && records_.read(nothing, room_);
    while (is_good_ && !records_.is_established()) receive_some();
  }
  ~SecureConnection() {
    records_.finish();
    flush();
    ::close(fd_);
  }
  SecureConnection(const SecureConnection&) = delete;

  // Whether a response with a body of this size has come back.
  bool ask(const std::string& wire, std::size_t body_bytes) {
    is_good_ = is_good_ && records_.write(wire);
    text_.clear();
    std::size_t end = std::string::npos;
    while (is_good_ && (end == std::string::npos || text_.size() < end + 4 + body_bytes)) {
      receive_some();
      end = text_.find("\r\n\r\n");
    }
    return is_good_ && text_.starts_with("HTTP/1.1 200 ") && text_.size() == end + 4 + body_bytes;
  }

 private:
  void receive_some() {
    flush();
    const ssize_t got = ::recv(fd_, wire_, sizeof wire_, 0);
    is_good_ = got > 0;
    std::string_view rest(wire_, is_good_ ? static_cast<std::size_t>(got) : 0);
    while (is_good_) {
      const Result<std::size_t> plain = records_.read(rest, room_);
      is_good_ = plain.is_ok();
      if (!plain || *plain == 0) break;
      text_.append(room_, *plain);
    }
    flush();
  }
  void flush() {
    Buffer& out = records_.output();
    if (!out.empty()) is_good_ = ::send(fd_, out.data(), out.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(out.size());
    out.clear();
  }

  int fd_;
  tls::Records records_;
  bool is_good_ = false;
  std::string text_;
  char wire_[16 * 1024];
  char room_[tls::Records::plain_bytes_max];
};

TEST_P(Allocations, are_none_per_request_and_per_connection_over_tls) {
  if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer replaces malloc";
  auto runtime =
      io::Runtime::make({.workers = 1, .engine = GetParam() == "uring" ? io::EngineKind::Uring : io::EngineKind::Epoll})
          .value();
  ASSERT_TRUE(runtime->start());
  tls::testing::Authority authority("Test Root");
  const tls::ServerOptions secure = {.certificates = {authority.issue({.addresses = {"127.0.0.1"}})}};
  tls::Layers layers(tls::ServerContext::make(secure).value());
  const tls::ClientOptions believing = {.trust = {.pem = authority.pem()}, .sessions_max = 0};
  const tls::ClientContext client = tls::ClientContext::make(believing).value();
  const std::string large(16 * 1024, 'l');
  http::Router router;
  router.post("/large", [&large](http::Request&) { return http::Response::text(http::Status::Ok, large); });
  http::ServerOptions options;
  options.address = Address::parse("127.0.0.1:0").value();
  options.access_log = false;
  options.https = &layers;
  http::Server server(router, std::move(options));
  ASSERT_TRUE(server.start(*runtime));
  const auto count = [&] {
    std::size_t now = 0;
    runtime->each([&](io::Loop&) { now = keel::internal::allocations(); });
    return now;
  };
  const std::string wire = request("POST", "/large", std::string(2048, 'b'));
  {
    SecureConnection one(server.address(), client);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(one.ask(wire, large.size()));
    const std::size_t before = count();
    for (int i = 0; i < 500; ++i) ASSERT_TRUE(one.ask(wire, large.size()));
    EXPECT_EQ(count() - before, 0u) << "by requests";
  }
  const auto come_and_go = [&](int times) {
    for (int i = 0; i < times; ++i) {
      SecureConnection one(server.address(), client);
      ASSERT_TRUE(one.ask(wire, large.size()));
    }
  };
  {
    // On a busy machine the server takes the next connection before it has closed the last, and its pools grow once.
    // So they grow here: by what many connections keep, and by what several need that are read together.
    std::deque<SecureConnection> crowd;
    for (int i = 0; i < 16; ++i) ASSERT_TRUE(crowd.emplace_back(server.address(), client).ask(wire, large.size()));
    runtime->each([](io::Loop&) {
      for (std::size_t bytes = 1; bytes <= pool_block_max; bytes = pool_block_size(bytes) + 1) {
        std::array<void*, 8> blocks;
        for (void*& block : blocks) block = pool_allocate(bytes);
        for (void* block : blocks) pool_free(block, bytes);
      }
    });
  }
  come_and_go(100);
  const std::size_t before = count();
  come_and_go(200);
  EXPECT_EQ(count() - before, 0u) << "by whole handshakes";
  EXPECT_TRUE(server.drain(10_s));
  runtime->stop();
}

}  // namespace
}  // namespace e2e
