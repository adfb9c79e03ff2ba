// keel/http/testing/internal/server_fixture.h — a server and its clients on one loop, for any engine; shared by the
// suites that test a whole server.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/member.h"
#include "keel/http/server/server.h"
#include "keel/http/testing/internal/server_testing.h"
#include "keel/io/testing/loop_test.h"
#include "keel/net/transport.h"

namespace keel::http::internal {

// The layers over the connections of all servers, and over those of all peers; null: none.
inline TransportLayers* server_layers = nullptr;
inline TransportLayers* peer_layers = nullptr;
// Called at the beginning of each test; sets the layers if all suites have to run over a layer.
inline void (*prepare_layers)() = nullptr;

class Peer {
 public:
  Peer(io::Loop& loop, const Address& to, TransportLayers* layers = peer_layers)
      : engine_(loop.engine()), layers_(layers) {
    connect_.fd = engine_.open_stream(to.family()).value();
    connect_.address = to;
    if (engine_.submit(connect_)) connected();
  }
  ~Peer() { EXPECT_TRUE(is_quiet()) << "a peer must be closed before it is destroyed"; }

  void send(std::string text) {
    queue_.push_back(std::move(text));
    pump();
  }
  void finish_writing() {
    finishes_ = true;
    pump();
  }
  void pause() { transport_.pause(); }
  void resume() { transport_.resume(); }
  void begin_close() {
    engine_.cancel(connect_);
    if (!transport_.is_open()) return;
    transport_.cancel_receive();
    if (send_.pending) transport_.cancel(send_);
  }
  bool is_quiet() const { return connect_.is_idle() && !transport_.is_receiving() && send_.is_idle(); }
  void end_close() { transport_.is_open() ? transport_.close() : engine_.close(connect_.fd); }
  // If the connection is closed after this call, it is reset.
  void reset_on_close() { transport_.reset_on_close(); }

  bool is_connected() const { return is_connected_; }
  bool is_refused() const { return connect_.is_idle() && !is_connected_; }
  bool is_sent() const { return queue_.empty() && send_.is_idle(); }
  // True once the end of the stream or a reset has arrived.
  bool has_ended() const { return ended_; }
  int error() const { return error_; }
  // The error of the last send.
  int send_error() const { return send_error_; }
  const std::string& wire() const { return wire_; }
  std::vector<Reply> all() const { return replies(wire_); }

 private:
  void connected() {
    if (connect_.result < 0) return;
    is_connected_ = true;
    Endpoint endpoint{.engine = &engine_, .fd = connect_.fd};
    if (layers_ != nullptr) endpoint = layers_->make(endpoint, "localhost").value();
    transport_.open(endpoint);
    transport_.receive();
    pump();
  }
  void received() {
    if (transport_.outcome() > 0) {
      wire_.append(transport_.bytes());
    } else if (transport_.outcome() != -ECANCELED) {
      ended_ = true;
      error_ = -transport_.outcome();
    }
  }
  void sent() {
    if (send_.result >= 0) {
      flying_.clear();
      pump();
    } else {
      fail_to_send();
    }
  }
  void fail_to_send() {
    send_error_ = -send_.result;
    queue_.clear();
  }
  void pump() {
    while (is_connected_ && send_.is_idle() && !queue_.empty()) {
      flying_ = std::move(queue_.front());
      queue_.pop_front();
      send_.set(flying_.data(), flying_.size());
      if (!transport_.send(send_)) return;
      if (send_.result < 0) fail_to_send();
    }
    if (is_connected_ && send_.is_idle() && std::exchange(finishes_, false)) transport_.shutdown_write();
  }

  io::Engine& engine_;
  TransportLayers* const layers_;
  Member<io::Connect, Peer, &Peer::connected> connect_{*this};
  Member<Transport, Peer, &Peer::received> transport_{*this};
  Member<io::SendPart, Peer, &Peer::sent> send_{*this};
  std::deque<std::string> queue_;
  std::string flying_;
  std::string wire_;
  bool is_connected_ = false;
  bool finishes_ = false;
  bool ended_ = false;
  int error_ = 0;
  int send_error_ = 0;
};

class Servers : public io::testing::LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (prepare_layers != nullptr && loop_ != nullptr) prepare_layers();
    handlers_running = 0;
    handlers_begun = 0;
    add_routes(router_);
  }
  void TearDown() override {
    if (loop_ == nullptr) return;
    for (auto& peer : peers_) peer->begin_close();
    EXPECT_TRUE(until([&] { return std::ranges::all_of(peers_, [](auto& peer) { return peer->is_quiet(); }); }));
    for (auto& peer : peers_) peer->end_close();
    peers_.clear();
    if (server_ != nullptr) {
      server_->begin_drain(Duration());
      EXPECT_TRUE(until([&] { return server_->is_drained(); })) << server_->stats().connections;
      EXPECT_EQ(server_->stats().connections, 0u);
      server_.reset();
    }
    LoopTest::TearDown();
  }

  void start(const Limits& limits = {}, const io::ListenOptions& listen = {}) {
    ServerOptions options = options_;
    options.address = Address::parse("127.0.0.1:0").value();
    options.limits = limits;
    // Unless the suite sets its own limit, the check for overload is off, because a busy test machine would look
    // overloaded.
    if (limits.queue_delay_max == Limits().queue_delay_max) options.limits.queue_delay_max = Duration::forever();
    options.listen = listen;
    if (options.https == nullptr) options.https = server_layers;
    server_ = std::make_unique<Server>(router_, std::move(options));
    ASSERT_TRUE(server_->start(*loop_));
  }
  Peer& peer() {
    peers_.push_back(std::make_unique<Peer>(*loop_, server_->address()));
    return *peers_.back();
  }
  void close(Peer& peer) {
    peer.begin_close();
    EXPECT_TRUE(until([&] { return peer.is_quiet(); }));
    peer.end_close();
    std::erase_if(peers_, [&](auto& p) { return p.get() == &peer; });
  }
  void reset(Peer& peer) {
    peer.reset_on_close();
    close(peer);
  }
  void close_all() {
    for (auto& peer : peers_) peer->begin_close();
    EXPECT_TRUE(until([&] { return std::ranges::all_of(peers_, [](auto& p) { return p->is_quiet(); }); }));
    for (auto& peer : peers_) peer->end_close();
    peers_.clear();
  }

  bool has_replies(Peer& peer, std::size_t count) {
    std::size_t looked_at = ~std::size_t{0};
    return until([&] {
      if (peer.wire().size() == looked_at) return false;
      looked_at = peer.wire().size();
      return peer.all().size() >= count;
    });
  }
  // Sends `wire` and the end of the stream, and returns all bytes that the server sends.
  std::string exchange(const std::string& wire) {
    Peer& one = peer();
    one.send(wire);
    one.finish_writing();
    EXPECT_TRUE(until([&] { return one.has_ended(); })) << wire;
    EXPECT_EQ(one.error(), 0) << wire;
    std::string text = one.wire();
    close(one);
    return text;
  }
  std::vector<Reply> ask(const std::string& wire) { return replies(exchange(wire)); }
  Reply ask_one(const std::string& wire) {
    auto list = ask(wire);
    EXPECT_EQ(list.size(), 1u) << wire;
    return list.empty() ? Reply() : list.front();
  }

  ServerOptions options_;  // All options except the address, the limits and `listen`.
  Router router_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace keel::http::internal
