// What the tests of messages share: messages, and a client and a server over a connection on every engine.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keel/net/internal/net_test.h"
#include "keel/net/messages/client.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/message_stream.h"
#include "keel/net/messages/server.h"

namespace keel::messages::testing {

struct Text {
  static constexpr std::uint16_t message_type = 1;
  std::string text;
};
struct Add {
  static constexpr std::uint16_t message_type = 2;
  std::int64_t a = 0;
  std::int64_t b = 0;
};
struct Sum {
  std::int64_t value = 0;
};
struct Wait {  // Its handler waits until it is let go.
  static constexpr std::uint16_t message_type = 3;
  int number = 0;
};
struct Rows {
  static constexpr std::uint16_t message_type = 4;
  int count = 0;
  std::int64_t bytes = 0;
};
struct Row {
  int number = 0;
  std::string text;
};

class MessagesTest : public keel::internal::NetTest {
 protected:
  void SetUp() override {
    NetTest::SetUp();
    if (loop_ == nullptr) return;
    handlers_.on<Text>([this](Peer&, Text message) { texts_.push_back(std::move(message.text)); })
        .on<Add>([](Peer&, Add add) -> Result<Sum> {
          if (add.a == 13) return fail(Code::Conflict, "not thirteen");
          return Sum{add.a + add.b};
        })
        .on<Wait>([this](Peer&, Wait wait) -> Task<Sum> {
          ++waiting_;
          Result<> gone = co_await attempt(go_.wait());
          --waiting_;
          if (!gone) {
            stopped_.push_back(gone.error().code());
            co_await std::move(gone);
          }
          co_return Sum{wait.number};
        });
  }
  void TearDown() override {
    if (loop_ != nullptr) {
      client_.reset();
      server_.reset();
      settle();
    }
    NetTest::TearDown();
  }

  // Connects server_ and client_.
  void connect(const ServerOptions& server = {}, PeerOptions client = {}) {
    server_options_ = {.peer = server.peer, .connections_max = server.connections_max, .drain = server.drain};
    serve();
    auto [one, other] = pair();
    server_->add(std::move(other));
    Result<Client> made = run(over(std::move(one), client));
    ASSERT_TRUE(made) << made.error().describe();
    client_.emplace(*std::move(made));
    ASSERT_TRUE(until([&] { return peer_ != nullptr; }));
  }
  void serve() {
    server_options_.on_open = [this](Peer& peer) { peer_ = &peer; };
    server_options_.on_closed = [this](Peer&, const Error& reason) {
      peer_ = nullptr;
      closed_.push_back(reason.clone());
    };
    server_ = std::make_unique<Server>(handlers_, std::move(server_options_));
  }
  Task<Client> over(Stream stream, PeerOptions options) {
    ClientOptions all;
    all.peer = options;
    all.handlers = &client_handlers_;
    co_return co_await Client::over(std::move(stream), all);
  }
  Peer& client() { return **client_; }
  template <class Reply, class M>
  Result<Reply> ask(Peer& peer, M message) {
    return run(asked<Reply>(peer, std::move(message)));
  }
  template <class Reply, class M>
  static Task<Reply> asked(Peer& peer, M message) {
    if constexpr (std::is_void_v<Reply>) {
      co_await peer.request<Reply>(message);
    } else {
      co_return co_await peer.request<Reply>(message);
    }
  }
  static void ignore(StartCore&) noexcept {}

  Handlers handlers_;
  Handlers client_handlers_;
  std::vector<std::string> texts_;
  std::vector<Code> stopped_;
  Event go_;
  int waiting_ = 0;
  ServerOptions server_options_;
  std::unique_ptr<Server> server_;
  Peer* peer_ = nullptr;  // The client, as the server sees it.
  std::vector<Error> closed_;
  std::optional<Client> client_;
};

}  // namespace keel::messages::testing
