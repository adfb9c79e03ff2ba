// Shared by the tests of the client: a client, Keel's server with handlers of every kind, and a server that sends
// arbitrary bytes, all on one loop; the tests run on each engine.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/http/client/client.h"
#include "keel/http/testing/internal/server_testing.h"
#include "keel/io/testing/loop_test.h"
#include "keel/net/listener.h"
#include "keel/task/scope.h"

namespace keel::http::internal {

// A server that responds to each request, on any connection, with the next response of its script.
class RawServer {
 public:
  struct Play {
    std::string reply;
    bool closes = false;          // Closes the connection after the response.
    Duration after = Duration();  // Delay before the response.
    bool reads_body = true;       // Reads the body of the request before responding.
    bool in_pieces = false;       // Sends each byte of the response separately.
  };

  // `layers` are used for the server's connections, and must outlive the server.
  explicit RawServer(TransportLayers* layers = nullptr)
      : listener_(Listener::bind(Address::parse("127.0.0.1:0").value()).value()), layers_(layers) {
    serving_.begin(serve(), [](StartCore&) noexcept {});
  }
  ~RawServer() { EXPECT_TRUE(serving_.has_ended()) << "end() comes before"; }
  void stop() { serving_.stop(); }
  bool has_ended() const { return serving_.has_ended(); }

  std::string url(std::string_view target = "/") const {
    return std::string(layers_ != nullptr ? "https" : "http") +
           "://127.0.0.1:" + std::to_string(listener_.address().port()) + std::string(target);
  }
  static std::string ok(std::string_view body, std::string_view fields = "") { return answer("200 OK", body, fields); }
  static std::string answer(std::string_view status, std::string_view body = "", std::string_view fields = "") {
    return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           std::string(fields) + "\r\n" + std::string(body);
  }

  std::deque<Play> plays;             // What the server sends, in order; the last entry is repeated.
  std::vector<std::string> requests;  // The received heads, each followed by its body if the body was read.
  int connections = 0;

 private:
  Task<> serve() {
    Scope peers;
    while (true) {
      Stream stream = co_await listener_.accept();
      ++connections;
      if (layers_ != nullptr) stream = *Stream::layered(*layers_, {}, std::move(stream));
      peers.spawn(talk(std::move(stream)), OnError::Ignore);
    }
  }
  Task<> talk(Stream stream) {
    while (true) {
      const Chunk head = co_await stream.read_until("\r\n\r\n", 64 * 1024);
      if (head.empty()) co_return;
      std::string request(head);
      const Play play = plays.front();
      if (plays.size() > 1) plays.pop_front();
      if (play.reads_body) {
        const auto at = request.find("\r\nContent-Length: ");
        if (at != std::string::npos) {
          std::string body(std::stoul(request.substr(at + 18)), '\0');
          co_await stream.read_exact(body);
          request += body;
        } else if (request.find("\r\nTransfer-Encoding: chunked") != std::string::npos) {
          const Chunk body = co_await stream.read_until("0\r\n\r\n", 1 << 20);
          request += body;
        }
      }
      requests.push_back(std::move(request));
      co_await sleep_for(play.after);
      const std::size_t piece = play.in_pieces ? 1 : std::max<std::size_t>(play.reply.size(), 1);
      for (std::size_t at = 0; at < play.reply.size(); at += piece) {
        co_await stream.write(std::string_view(play.reply).substr(at, piece));
        if (play.in_pieces) co_await sleep_for(1_ms);
      }
      if (play.closes) co_return;
      // Closing the connection now would cause a reset, because the body was not read.
      if (!play.reads_body) co_await sleep_for(1_h);
    }
  }

  Listener listener_;
  TransportLayers* const layers_;
  Start<void> serving_;
};

class ClientTest : public io::testing::LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (loop_ == nullptr) return;
    handlers_begun = 0;
    handlers_running = 0;
    held_back = true;
    add_routes(router_);
    // Every name resolves to this machine; the lookup runs on the loop itself.
    resolver_ = std::make_unique<Resolver>(*loop_, ResolverOptions{}, [](const std::string& host) {
      Result<std::vector<Address>> found;
      if (host.starts_with("nowhere")) {
        found = fail(Code::NotFound, "no such host");
      } else {
        found->push_back(Address::parse("127.0.0.1:0").value());
      }
      return found;
    });
  }
  void TearDown() override {
    if (loop_ == nullptr) return;
    client_.reset();
    if (raw_ != nullptr) {
      raw_->stop();
      EXPECT_TRUE(until([&] { return raw_->has_ended(); }));
      raw_.reset();
    }
    if (server_ != nullptr) {
      server_->begin_drain(Duration());
      EXPECT_TRUE(until([&] { return server_->is_drained(); }));
      server_.reset();
    }
    settle();
    resolver_.reset();
    LoopTest::TearDown();
  }

  void serve(const Limits& limits = {}) {
    ServerOptions options;
    options.address = Address::parse("127.0.0.1:0").value();
    options.limits = limits;
    server_ = std::make_unique<Server>(router_, std::move(options));
    ASSERT_TRUE(server_->start(*loop_));
  }
  RawServer& raw() {
    if (raw_ == nullptr) raw_ = std::make_unique<RawServer>();
    return *raw_;
  }
  // Only the first call may pass options.
  Client& client(ClientOptions options = {}) {
    if (client_ == nullptr) client_ = std::make_unique<Client>(*resolver_, std::move(options));
    return *client_;
  }
  std::string url(std::string_view target, std::string_view host = "127.0.0.1") const {
    return "http://" + std::string(host) + ":" + std::to_string(server_->address().port()) + std::string(target);
  }

  Result<ClientResponse> get(std::string_view target) { return run(client().get(url(target))); }
  Result<ClientResponse> send(ClientRequest&& request) { return run(client().send(std::move(request))); }

  static Task<std::string> read_all(ClientStream& stream) {
    std::string text;
    while (true) {
      const Chunk chunk = co_await stream.read();
      if (chunk.empty()) co_return text;
      text += chunk;
    }
  }

  Router router_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<RawServer> raw_;
  std::unique_ptr<Resolver> resolver_;
  std::unique_ptr<Client> client_;
};

}  // namespace keel::http::internal
