// What the tests of sessions share: a server and a client with sessions on the loop of a test, and a record of the
// messages and events that each receives.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keel/net/internal/net_test.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/net/sessions/client.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"

namespace keel::sessions::testing {

struct Text {
  static constexpr std::uint16_t message_type = 1;
  std::string text;
};
struct Slow {
  static constexpr std::uint16_t message_type = 2;
  int number = 0;
};

// "connected", "lost 3", …
inline std::string to_string(const SessionEvent& event) {
  switch (event.kind) {
    case SessionEvent::Kind::Connected:
      return "connected";
    case SessionEvent::Kind::Resumed:
      return "resumed";
    case SessionEvent::Kind::Lost:
      return event.is_forgotten ? "forgotten, unconfirmed " + std::to_string(event.unconfirmed)
                                : "lost " + std::to_string(event.lost);
    case SessionEvent::Kind::Ended:
      return "ended: " + std::string(event.reason->message());
  }
  return "?";
}

class SessionsTest : public keel::internal::NetTest {
 protected:
  using Texts = std::vector<std::string>;

  void SetUp() override {
    NetTest::SetUp();
    if (loop_ == nullptr) return;
    server_handlers_
        .on<Text>([this](Session& from, const Text& text) {
          number_ = from.number();
          at_server_.push_back(text.text);
        })
        .on<Slow>([this](Session&, Slow slow) -> Task<> {
          co_await go_.wait();
          at_server_.push_back("slow " + std::to_string(slow.number));
        })
        .on_event([this](Session& session, const SessionEvent& event) {
          number_ = session.number();
          server_events_.push_back(to_string(event));
        });
    client_handlers_.on<Text>([this](Session&, const Text& text) { at_client_.push_back(text.text); })
        .on_event([this](Session&, const SessionEvent& event) { client_events_.push_back(to_string(event)); });
    registry_.emplace(registry_options());
    listener_.emplace(listen());
  }
  void TearDown() override {
    if (loop_ != nullptr) {
      stop_client();
      stop_server();
      listener_.reset();
      registry_.reset();
    }
    NetTest::TearDown();
  }
  virtual RegistryOptions registry_options() { return {}; }
  virtual void configure(messages::ServerOptions&) {}
  virtual TransportLayers* server_layers() { return is_layered() ? &layers_ : nullptr; }
  virtual TransportLayers* client_layers() { return is_layered() ? &layers_ : nullptr; }

  void start_server(ServerOptions options = {}) {
    sessions_.emplace(*registry_, server_handlers_, std::move(options));
    messages::ServerOptions of_messages;
    of_messages.layers = server_layers();
    of_messages.drain = 10_ms;
    of_messages.on_open = [this](messages::Peer& peer) { sessions_->open(peer); };
    configure(of_messages);
    messages_.emplace(requests_, std::move(of_messages));
    stopping_.reset();
    ASSERT_FALSE(serving_.begin(messages_->serve(*listener_, stopping_), [](StartCore&) noexcept {}));
  }
  void stop_server() {
    if (!messages_) return;
    stopping_.set();
    EXPECT_TRUE(until([&] { return serving_.has_ended(); }));
    EXPECT_TRUE(serving_.take());
    messages_.reset();
    go_.set();
    EXPECT_TRUE(run(sessions_->stop()));
    sessions_.reset();
  }
  ClientOptions client_options() {
    ClientOptions options;
    options.servers = {listener_->address()};
    options.name = "kitchen";
    options.reconnect_min = 1_ms;
    options.reconnect_max = 50_ms;
    options.connection.layers = client_layers();
    return options;
  }
  void start_client(std::optional<ClientOptions> options = {}) {
    client_.emplace(client_handlers_, options ? *std::move(options) : client_options());
    running_.emplace();
    running_->begin(client_->run(), [](StartCore&) noexcept {});
  }
  void stop_client() {
    if (!client_) return;
    running_->stop();
    EXPECT_TRUE(until([&] { return running_->has_ended(); }));
    ended_ = running_->take();
    client_.reset();
  }
  // Starts both, and waits until they are connected.
  void connect() {
    start_server();
    start_client();
    ASSERT_TRUE(until([&] { return is_connected(); }));
  }
  bool is_connected() { return (*client_)->is_connected() && session() != nullptr && session()->is_connected(); }
  // The server's.
  Session* session() { return sessions_->find(number_); }
  void cut() { session()->peer()->close(Error(Code::Unavailable, "cut by the test")); }
  Result<> say(std::string text, const SendOptions& options = {}) { return (*client_)->send(Text{text}, options); }

  // A connection on which a test sends any packets, and the packets that the server sends back.
  struct RawClient final : messages::FrameSink {
    ~RawClient() {
      if (client) (*client)->attach(nullptr);
    }
    Result<> on_frame(messages::Peer&, std::string_view payload) noexcept override {
      packets.emplace_back(payload);
      return {};
    }
    void on_batch_end(messages::Peer&) noexcept override {}
    void on_writable(messages::Peer&) noexcept override {}
    void on_closed(messages::Peer&, const Error& error) noexcept override { reason = std::string(error.message()); }
    template <class P>
    void say(const P& packet) {
      Buffer out;
      internal::write(out, packet);
      EXPECT_TRUE((*client)->try_send_session(out.view()));
    }
    std::optional<messages::Client> client;
    std::vector<std::string> packets;
    std::string reason;
  };
  std::unique_ptr<RawClient> connect_raw() {
    auto raw = std::make_unique<RawClient>();
    messages::ClientOptions options;
    options.layers = client_layers();
    options.peer.heartbeat = Duration();
    raw->client.emplace(*run(messages::Client::connect(listener_->address(), options)));
    (*raw->client)->attach(&*raw);
    return raw;
  }
  internal::Welcome greet(RawClient& raw, internal::Token token = {}) {
    raw.say(internal::Hello{.token = token, .heartbeat = 15_s, .window = {100, 100'000}, .name = "raw"});
    EXPECT_TRUE(until([&] { return !raw.packets.empty(); }));
    return internal::read_welcome(raw.packets.at(0)).value();
  }

  Handlers server_handlers_, client_handlers_, client_handlers2_;
  messages::Handlers requests_;
  std::optional<Registry> registry_;
  std::optional<Listener> listener_;
  std::optional<Server> sessions_;
  std::optional<messages::Server> messages_;
  keel::Event stopping_, go_;
  Start<void> serving_;
  std::optional<Client> client_;
  std::optional<Start<void>> running_;
  Result<> ended_;
  std::uint64_t number_ = 0;
  Texts at_server_, at_client_, server_events_, client_events_;
};

}  // namespace keel::sessions::testing
