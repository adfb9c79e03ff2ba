// Servers and clients of messages, and peers that break the protocol, on every engine.

#include "keel/net/messages/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/net/messages/frame.h"
#include "keel/net/messages/internal/messages_test.h"
#include "keel/net/messages/metrics.h"
#include "keel/task/scope.h"

namespace keel::messages::server_test {
namespace {

using namespace testing;
using namespace std::string_view_literals;

using Servers = MessagesTest;
INSTANTIATE_TEST_SUITE_P(, Servers, keel::internal::every_kind(), keel::internal::name_of_engine);

Task<> serve_at(Server& server, Listener listener, Event& stopping) { co_await server.serve(listener, stopping); }
Task<> close_client(Client client) { co_await client.close(); }

TEST_P(Servers, serve_clients_until_they_are_stopped) {
  serve();
  Listener listener = listen();
  const Address address = listener.address();
  Event stopping;
  Start<void> serving;
  serving.begin(serve_at(*server_, std::move(listener), stopping), ignore);
  std::vector<Client> clients;
  for (int i = 0; i < 5; ++i) {
    Result<Client> client = run(Client::connect(address));
    ASSERT_TRUE(client) << client.error().describe();
    clients.push_back(*std::move(client));
  }
  ASSERT_TRUE(until([&] { return server_->connections() == 5; }));
  for (Client& client : clients) EXPECT_EQ(ask<Sum>(*client, Add{2, 3})->value, 5);
  int told = 0;
  server_->each([&](Peer& peer) { told += peer.try_send(Text{"hello"}) ? 1 : 0; });
  EXPECT_EQ(told, 5);
  ASSERT_TRUE(run(close_client(std::move(clients.back()))));
  clients.pop_back();
  ASSERT_TRUE(until([&] { return server_->connections() == 4; }));
  stopping.set();
  ASSERT_TRUE(until([&] { return serving.has_ended(); }));
  EXPECT_TRUE(serving.take());
  for (Client& client : clients) {
    ASSERT_TRUE(until([&] { return client->is_closed(); }));
    EXPECT_EQ(ask<Sum>(*client, Add{2, 3}).error().code(), Code::Unavailable);
  }
}

TEST_P(Servers, close_everything_where_serving_is_cancelled) {
  serve();
  Listener listener = listen();
  const Address address = listener.address();
  Event stopping;
  StopSource stop;
  Start<void> serving;
  serving.begin(serve_at(*server_, std::move(listener), stopping), ignore, {.stop = &stop});
  Result<Client> client = run(Client::connect(address));
  ASSERT_TRUE(client);
  Start<Sum> asking;
  asking.begin(asked<Sum>(**client, Wait{1}), ignore);
  ASSERT_TRUE(until([&] { return waiting_ == 1; }));
  stop.request_stop();
  ASSERT_TRUE(until([&] { return serving.has_ended() && asking.has_ended(); }));
  EXPECT_EQ(serving.take().error().code(), Code::Cancelled);
  EXPECT_EQ(asking.take().error().code(), Code::Unavailable);
  EXPECT_EQ(waiting_, 0);
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_P(Servers, have_no_more_connections_than_they_may) {
  server_options_.connections_max = 1;
  serve();
  Listener listener = listen();
  const Address address = listener.address();
  Event stopping;
  Start<void> serving;
  serving.begin(serve_at(*server_, std::move(listener), stopping), ignore);
  Result<Client> first = run(Client::connect(address));
  ASSERT_TRUE(first);
  ASSERT_TRUE(until([&] { return server_->connections() == 1; }));
  Result<Client> second = run(Client::connect(address));
  if (second) {  // Its hello came before the reason.
    ASSERT_TRUE(until([&] { return (*second)->is_closed(); }));
    EXPECT_EQ(ask<Sum>(**second, Add{1, 2}).error().code(), Code::Unavailable);
  } else {
    EXPECT_EQ(second.error().code(), Code::ResourceExhausted);
  }
  EXPECT_EQ(ask<Sum>(**first, Add{2, 3})->value, 5);
  stopping.set();
  ASSERT_TRUE(until([&] { return serving.has_ended(); }));
  EXPECT_TRUE(serving.take());
}

TEST_P(Servers, count_what_they_do) {
  metrics::Registry registry;
  const MessageMetrics counted(registry, "test");
  server_options_.metrics = &counted;
  serve();
  auto [one, other] = pair();
  server_->add(std::move(other));
  Result<Client> client = run(over(std::move(one), {}));
  ASSERT_TRUE(client);
  EXPECT_EQ(ask<Sum>(**client, Add{2, 3})->value, 5);
  EXPECT_FALSE(ask<Sum>(**client, Add{13, 3}));
  ASSERT_TRUE((*client)->try_send(Raw{99, "x"}));
  ASSERT_TRUE(until([&] { return counted.dropped.value() == 1; }));
  EXPECT_EQ(counted.requests.value(), 2u);
  EXPECT_EQ(counted.failures.value(), 1u);
  EXPECT_EQ(counted.received.value(), 4u);
  EXPECT_EQ(counted.sent.value(), 3u);
  EXPECT_EQ(counted.connections.value(), 1);
  ASSERT_TRUE(run(close_client(*std::move(client))));
  ASSERT_TRUE(until([&] { return closed_.size() == 1; }));
  EXPECT_EQ(counted.connections.value(), 0);
  server_.reset();
}

// --- peers that do not keep to the protocol -------------------------------------------------------------------------

std::string frame(const Frame& one) {
  Buffer out;
  put_frame(out, one);
  return std::string(out.view());
}
std::string hello() {
  Buffer payload;
  put_hello(payload, {.requests_max = 10, .streams_max = 10, .frame_bytes_max = 1 << 20, .stream_bytes = 1 << 20});
  return frame({.kind = FrameKind::Hello, .payload = payload.view()});
}

struct Reason {
  Code code = Code::Internal;
  std::string message;
};

// Writes `bytes` in pieces, and reads until the server closes; its reason.
Task<Reason> provoke(Stream& stream, std::string bytes, std::size_t piece) {
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string part = bytes.substr(at, piece);
    if (!co_await attempt(stream.write(part))) break;
  }
  FrameReader reader(1 << 20);
  Reason reason;
  while (true) {
    Result<Chunk> chunk = co_await attempt(stream.receive());
    if (!chunk || chunk->empty()) co_return reason;
    reader.feed(*chunk);
    Frame one;
    while (reader.next(one)) {
      if (one.kind != FrameKind::Close) continue;
      const Error error = parse_error(one.payload);
      reason = {error.code(), std::string(error.message())};
    }
  }
}

struct Provocation {
  std::string bytes;
  Code code;
  std::string_view message;
};

TEST_P(Servers, close_a_peer_that_breaks_the_protocol_with_the_reason) {
  const std::string request =
      frame({.kind = FrameKind::Request, .type = Wait::message_type, .id = 0, .payload = "\xa1\x66number\x01"});
  const Provocation all[] = {
      {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", Code::Protocol,
       "the peer does not speak Keel messages: its first bytes are not a frame"},
      {std::string(100, '\0'), Code::Protocol,
       "the peer does not speak Keel messages: its first bytes are not a frame"},
      {frame({.kind = FrameKind::Ping}), Code::Protocol, "the peer does not speak Keel messages: it sent no hello"},
      {frame({.kind = FrameKind::Hello, .payload = "KMSGx"}), Code::Protocol,
       "the first frame is not a hello of Keel messages"},
      {hello() + hello(), Code::Protocol, "the peer sent a second hello"},
      {hello() + "\xff\xff\xff\xff", Code::OutOfRange, "a frame is longer than frame_bytes_max"},
      {hello() + request + request, Code::Protocol, "the peer used one id for two requests"},
      {hello() + frame({.kind = FrameKind::Request, .type = 3, .id = 5000}), Code::Protocol,
       "the peer sent more requests than requests_max allows"},
      {hello() + frame({.kind = FrameKind::Response, .id = 0}), Code::Protocol,
       "the peer replied to a request that was not sent"},
      {hello() + frame({.kind = FrameKind::Open, .type = 3, .id = 5000}), Code::Protocol,
       "the peer opened more streams than streams_max allows"},
      {hello() + frame({.kind = FrameKind::Data, .from_opener = true, .id = 1}), Code::Protocol,
       "the peer sent a frame for a stream that is not open"},
      {hello() + frame({.kind = FrameKind::Session, .payload = "x"}), Code::Unsupported,
       "a frame of a session arrived on a connection without sessions"},
  };
  serve();
  for (const Provocation& one : all) {
    for (const std::size_t piece : {std::size_t{1}, one.bytes.size()}) {
      auto [client, server] = pair();
      server_->add(std::move(server));
      Result<Reason> reason = run(provoke(client, one.bytes, piece));
      ASSERT_TRUE(reason);
      EXPECT_EQ(reason->code, one.code) << one.message;
      EXPECT_EQ(reason->message, one.message);
      client.close();
      ASSERT_TRUE(until([&] { return server_->connections() == 0; }));
    }
  }
}

TEST_P(Servers, close_a_peer_that_sends_no_hello) {
  server_options_.peer.hello_timeout = 30_ms;
  serve();
  auto [client, server] = pair();
  server_->add(std::move(server));
  EXPECT_EQ(run(provoke(client, hello().substr(0, 10), 1))->code, Code::DeadlineExceeded);
}

TEST_P(Servers, close_a_peer_that_is_silent_for_two_heartbeats) {
  server_options_.peer.heartbeat = 20_ms;
  serve();
  auto [client, server] = pair();
  server_->add(std::move(server));
  const Instant began = now();
  Result<Reason> reason = run(provoke(client, hello(), 100));
  EXPECT_EQ(reason->code, Code::Unavailable);
  EXPECT_GE(now() - began, 40_ms);
}

// Here both sides are on one loop: where the machine takes it away for as long as a heartbeat, the peer does not
// respond in time, and another heartbeat says whether it answers otherwise.
TEST_P(Servers, keep_a_peer_that_answers_pings) {
  for (Duration heartbeat = 10_ms;; heartbeat = heartbeat * 2) {
    ASSERT_LE(heartbeat, 5_s) << "the machine never ran this test for a heartbeat without a pause";
    connect({.peer = {.heartbeat = heartbeat}}, {.heartbeat = Duration()});
    const Duration away = longest_pause_of(heartbeat * 10);
    if (away < heartbeat / 2) break;
    client_.reset();
    ASSERT_TRUE(until([&] { return server_->connections() == 0; }));
  }
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3})->value, 5);
}

// As after SIGSTOP, or in a virtual machine that was suspended: what the peer has sent was not read yet.
TEST_P(Servers, ask_a_peer_before_they_close_it_though_they_were_away_themselves) {
  if (is_sim()) GTEST_SKIP() << "a simulated loop is never away";
  constexpr Duration heartbeat = 100_ms;
  connect({.peer = {.heartbeat = heartbeat}}, {.heartbeat = Duration()});
  Host::system().sleep(heartbeat * 3);
  const Duration away = longest_pause_of(heartbeat / 2);
  if (away >= heartbeat / 2) GTEST_SKIP() << "the machine was away for " << away.count_ms() << " ms more";
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3})->value, 5);
}

TEST_P(Servers, close_a_peer_that_never_reads_and_keep_within_their_bounds) {
  handlers_.on_raw(20, [](Peer&, std::string_view) { return std::string(50'000, 'x'); });
  server_options_.peer.stall_timeout = 50_ms;
  server_options_.peer.high_bytes = 100'000;
  serve();
  auto [client, server] = pair();
  server_->add(std::move(server));
  std::string all = hello();
  // Of one id after the other: each is answered immediately.
  for (int i = 0; i < 2000; ++i)
    all += frame({.kind = FrameKind::Request, .type = 20, .id = static_cast<std::uint32_t>(i % 10)});
  struct Writes {
    static Task<> all(Stream& stream, std::string bytes) { co_await stream.write(bytes); }
  };
  Start<void> writing;
  writing.begin(Writes::all(client, std::move(all)), ignore);
  std::size_t most = 0;
  ASSERT_TRUE(until([&] {
    if (peer_ != nullptr) most = std::max(most, peer_->queued_bytes());
    return closed_.size() == 1;
  }));
  EXPECT_LE(most, 100'000u + 51'000u);
  EXPECT_EQ(closed_[0].code(), Code::Unavailable);
  client.shutdown();
  ASSERT_TRUE(until([&] { return writing.has_ended() || !writing.is_running(); }));
  static_cast<void>(writing.take());
}

// A peer that has made requests and does not read, while the server waits for an answer of it: the server continues to
// read, because that answer may be next, and holds further requests.
class Held : public MessagesTest {
 protected:
  static constexpr std::uint16_t large = 20;
  static constexpr std::size_t high_bytes = 100'000;
  static constexpr std::uint32_t sent_first = 200;  // Their answers are more than sockets hold.

  void begin(std::size_t queued_bytes_max) {
    handlers_.on_raw(large, [this](Peer&, std::string_view) {
      ++handled_;
      return std::string(50'000, 'x');
    });
    server_options_.peer.high_bytes = high_bytes;
    server_options_.peer.queued_bytes_max = queued_bytes_max;
    serve();
    auto [client, server] = pair();
    server_->add(std::move(server));
    client_end_.emplace(std::move(client));
    ASSERT_TRUE(run(keel::internal::write(*client_end_, hello())));
    ASSERT_TRUE(until([&] { return peer_ != nullptr; }));
    ASSERT_FALSE(asking_.begin(asked<Sum>(*peer_, Add{2, 3}), ignore));
  }
  void TearDown() override {
    client_end_.reset();
    if (loop_ != nullptr) until([&] { return !asking_.is_running() || asking_.has_ended(); });
    MessagesTest::TearDown();
  }
  static std::string request(std::uint32_t id, std::string_view payload = "", std::optional<Duration> time_left = {}) {
    return frame({.kind = FrameKind::Request, .type = large, .id = id, .time_left = time_left, .payload = payload});
  }
  void send(const std::string& bytes) { ASSERT_TRUE(run(keel::internal::write(*client_end_, bytes))); }
  // Until the server handles nothing any more, because the answers are not received.
  void send_until_full() {
    std::string all;
    for (std::uint32_t id = 0; id < sent_first; ++id) all += request(id);
    send(all);
    for (int before = -1; before != handled_; settle()) before = handled_;
    ASSERT_LT(handled_, static_cast<int>(sent_first));
  }
  // Receives until `count` requests were answered.
  static Task<> receive(Stream& stream, std::size_t count, std::map<std::uint32_t, Code>& failed,
                        std::vector<std::uint32_t>& answered) {
    FrameReader reader(1 << 20);
    while (answered.size() + failed.size() < count) {
      const Chunk chunk = co_await stream.receive();
      if (chunk.empty()) co_await fail(Code::Unavailable, "closed");
      reader.feed(chunk);
      Frame one;
      while (reader.next(one)) {
        if (one.kind == FrameKind::Response) answered.push_back(one.id);
        if (one.kind == FrameKind::Failure) failed.emplace(one.id, parse_error(one.payload).code());
      }
    }
  }

  std::optional<Stream> client_end_;
  Start<Sum> asking_;
  int handled_ = 0;
};
INSTANTIATE_TEST_SUITE_P(, Held, keel::internal::every_kind(), keel::internal::name_of_engine);

TEST_P(Held, requests_are_handled_in_their_order_once_answers_were_received) {
  begin(4 << 20);
  send_until_full();
  const int handled = handled_;
  EXPECT_LE(peer_->queued_bytes(), high_bytes + 51'000);

  send(request(200) + request(201, "", 1_ms) + request(202) + frame({.kind = FrameKind::Cancel, .id = 202}));
  pass(5_ms);
  Buffer sum;
  encode(sum, Sum{5});
  send(frame({.kind = FrameKind::Response, .id = 0, .payload = sum.view()}));
  ASSERT_TRUE(until([&] { return asking_.has_ended(); })) << "the server reads no more";
  EXPECT_EQ(asking_.take()->value, 5);
  EXPECT_EQ(handled_, handled);

  std::map<std::uint32_t, Code> failed;
  std::vector<std::uint32_t> answered;
  ASSERT_TRUE(run(receive(*client_end_, 203, failed, answered)));
  EXPECT_EQ(failed, (std::map<std::uint32_t, Code>{{201, Code::DeadlineExceeded}, {202, Code::Cancelled}}));
  EXPECT_EQ(answered.size(), 201u);
  EXPECT_TRUE(std::ranges::is_sorted(answered));
  EXPECT_EQ(handled_, 201);
  EXPECT_TRUE(closed_.empty());
}

TEST_P(Held, requests_are_bounded_by_their_bytes) {
  begin(300'000);
  send_until_full();
  const std::string payload(40'000, 'y');
  for (std::uint32_t id = 200; id < 210; ++id) send(request(id, payload));

  std::map<std::uint32_t, Code> failed;
  std::vector<std::uint32_t> answered;
  ASSERT_TRUE(run(receive(*client_end_, 210, failed, answered)));
  EXPECT_EQ(failed,
            (std::map<std::uint32_t, Code>{
                {207, Code::ResourceExhausted}, {208, Code::ResourceExhausted}, {209, Code::ResourceExhausted}}));
  EXPECT_EQ(answered.size(), 207u);
  EXPECT_TRUE(closed_.empty());
}

TEST_P(Held, requests_do_not_share_an_id) {
  begin(4 << 20);
  send_until_full();
  send(request(sent_first - 1));
  ASSERT_TRUE(until([&] { return closed_.size() == 1; }));
  EXPECT_EQ(closed_[0].code(), Code::Protocol);
}

TEST_P(Held, pings_of_a_peer_that_does_not_read_are_not_answered) {
  begin(4 << 20);
  send_until_full();
  const std::size_t before = peer_->queued_bytes();
  std::string pings;
  for (int i = 0; i < 10'000; ++i) pings += frame({.kind = FrameKind::Ping});
  send(pings);
  settle();
  EXPECT_LE(peer_->queued_bytes(), before);
}

TEST_P(Held, requests_are_handled_after_drain) {
  begin(4 << 20);
  send_until_full();
  const int handled = handled_;
  send(request(200));
  settle();
  peer_->drain();
  send(request(201));  // The peer has not read yet that it must not.
  send(frame({.kind = FrameKind::Pong}));
  send(request(202));
  settle();
  EXPECT_EQ(handled_, handled);
  EXPECT_TRUE(closed_.empty());

  std::map<std::uint32_t, Code> failed;
  std::vector<std::uint32_t> answered;
  ASSERT_TRUE(run(receive(*client_end_, 203, failed, answered)));
  EXPECT_EQ(failed, (std::map<std::uint32_t, Code>{{202, Code::Unavailable}}));
  EXPECT_EQ(answered.size(), 202u);
  EXPECT_EQ(answered.back(), 201u);
  EXPECT_EQ(handled_, 202);
}

// A peer that opens and ends streams, and never reads how they ended here.
class Ends : public MessagesTest {
 protected:
  struct Quiet {
    static constexpr std::uint16_t message_type = 30;
    int value = 0;
  };

  void begin(std::size_t queued_bytes_max, std::string first) {
    handlers_.on_stream<Quiet>([](Peer&, Quiet, MessageStream in) -> Task<> {
      while (co_await in.receive<Quiet>()) continue;
    });
    server_options_.peer.stall_timeout = 200_ms;
    server_options_.peer.close_timeout = 50_ms;
    server_options_.peer.high_bytes = 100'000;
    server_options_.peer.queued_bytes_max = queued_bytes_max;
    serve();
    auto [client, server] = pair();
    server_->add(std::move(server));
    client_end_.emplace(std::move(client));
    std::string all = hello() + std::move(first);
    for (std::uint32_t i = 0; i < 100'000; ++i) {
      const std::uint32_t id = (i & 0xffff) << 16 | 1;
      all += frame({.kind = FrameKind::Open, .type = 999, .id = id});
      all += frame({.kind = FrameKind::End, .from_opener = true, .id = id});
    }
    writing_.begin(write(*client_end_, std::move(all)), ignore);
    ASSERT_TRUE(until([&] {
      if (peer_ != nullptr) most_ = std::max(most_, peer_->queued_bytes());
      return closed_.size() == 1;
    }));
    client_end_->shutdown();
    ASSERT_TRUE(until([&] { return writing_.has_ended() || !writing_.is_running(); }));
    static_cast<void>(writing_.take());
  }
  static Task<> write(Stream& stream, std::string bytes) { co_await stream.write(bytes); }

  std::optional<Stream> client_end_;
  Start<void> writing_;
  std::size_t most_ = 0;
};
INSTANTIATE_TEST_SUITE_P(, Ends, keel::internal::every_kind(), keel::internal::name_of_engine);

TEST_P(Ends, of_streams_do_not_pile_up) {
  begin(4 << 20, "");
  EXPECT_EQ(closed_[0].code(), Code::Unavailable);
  EXPECT_LE(most_, 100'000u + 30'000u) << "an Abandon, which does not count, is sent with each end";
}

// With a stream open, the server continues to read, because the peer may be about to.
TEST_P(Ends, of_streams_are_bounded_while_another_is_open) {
  Buffer quiet;
  encode(quiet, Quiet{});
  begin(300'000, frame({.kind = FrameKind::Open, .type = Quiet::message_type, .id = 0, .payload = quiet.view()}));
  EXPECT_EQ(closed_[0].code(), Code::ResourceExhausted);
  EXPECT_LE(most_, 300'000u + 20'000u);
}

TEST_P(Servers, close_a_peer_whose_answers_exceed_what_may_be_queued) {
  connect({.peer = {.queued_bytes_max = 10'000}});
  handlers_.on_raw(20, [](Peer&, std::string_view) { return std::string(20'000, 'x'); });
  EXPECT_EQ(ask<std::string>(client(), Raw{20, ""}).error().code(), Code::Unavailable);
  ASSERT_TRUE(until([&] { return closed_.size() == 1; }));
  EXPECT_EQ(closed_[0].code(), Code::ResourceExhausted);
}

Task<> connect_to(Stream stream) { static_cast<void>(co_await Client::over(std::move(stream))); }

TEST_P(Servers, are_told_apart_from_what_speaks_something_else) {
  auto [client, server] = pair();
  Start<void> connecting;
  connecting.begin(connect_to(std::move(client)), ignore);
  struct Http {
    static Task<> answer(Stream& stream) { co_await stream.write("HTTP/1.1 400 Bad Request\r\n\r\n"); }
  };
  ASSERT_TRUE(run(Http::answer(server)));
  ASSERT_TRUE(until([&] { return connecting.has_ended(); }));
  EXPECT_EQ(connecting.take().error().code(), Code::Protocol);
}

TEST_P(Servers, tell_clients_of_which_no_version_is_in_common) {
  serve();
  auto [client, server] = pair();
  server_->add(std::move(server));
  Buffer payload;
  put_hello(payload, {.version_min = 7, .version_max = 9, .requests_max = 1, .frame_bytes_max = 1000});
  Result<Reason> reason = run(provoke(client, frame({.kind = FrameKind::Hello, .payload = payload.view()}), 100));
  EXPECT_EQ(reason->code, Code::Unsupported);
  EXPECT_EQ(reason->message, "there is no common version of Keel messages: this side speaks 1 to 1, the peer 7 to 9");
}

// --- sessions over a connection -------------------------------------------------------------------------------------

class Sink final : public FrameSink {
 public:
  Result<> on_frame(Peer& peer, std::string_view payload) noexcept override {
    got += payload;
    if (payload == "stop") return fail(Code::PermissionDenied, "stopped");
    if (payload == "ask") return peer.try_send_session("answer");
    return {};
  }
  void on_batch_end(Peer&) noexcept override { ++batches; }
  void on_writable(Peer&) noexcept override { ++writable; }
  void on_closed(Peer&, const Error& reason) noexcept override { closed.push_back(reason.clone()); }
  std::string got;
  int batches = 0;
  int writable = 0;
  std::vector<Error> closed;
};

// A reply that sends something else while it is encoded, or fails when half of it is there.
struct Odd {
  Peer* peer = nullptr;
  bool fails = false;
  friend void write_binary(binary::Writer<binary::Cbor>& out, const Odd& odd) {
    out.begin_object(1).key("value");
    if (odd.fails) throw std::runtime_error("half of it");
    EXPECT_TRUE(odd.peer->try_send(Text{"meanwhile"}));
    out.integer(7);
  }
};

TEST_P(Servers, send_whole_replies_whatever_happens_while_they_are_encoded) {
  constexpr std::uint16_t odd = 40;
  handlers_.on_raw(odd, [](Peer& peer, std::string_view bytes) {
    EXPECT_TRUE(peer.try_send(Text{"before"}));
    return Odd{&peer, bytes == "fail"};
  });
  std::vector<std::string> texts;
  client_handlers_.on<Text>([&](Peer&, Text message) { texts.push_back(std::move(message.text)); });
  connect();
  EXPECT_EQ(ask<Sum>(client(), Raw{odd, "ok"})->value, 7);
  ASSERT_TRUE(until([&] { return texts.size() == 2; }));
  EXPECT_EQ(ask<Sum>(client(), Raw{odd, "fail"}).error().code(), Code::Internal);
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3})->value, 5);
  EXPECT_EQ(texts, (std::vector<std::string>{"before", "meanwhile", "before"}));
}

Task<> ask_for_bytes(Peer& peer, std::size_t bytes, int& right) {
  const std::string text(bytes, static_cast<char>('a' + bytes % 26));
  const std::string reply = co_await peer.request<std::string>(Raw{41, text});
  if (reply == text + "!") ++right;
}
Task<> ask_for_many(Peer& peer, int& right) {
  Scope scope;
  for (std::size_t i = 0; i < 24; ++i) scope.spawn(ask_for_bytes(peer, i % 6 == 5 ? 20'000 : 97 * i, right));
  co_await scope.join();
}

TEST_P(Servers, send_replies_of_all_sizes_together) {
  handlers_.on_raw(41, [](Peer&, std::string_view bytes) { return std::string(bytes) + "!"; });
  for (const bool checksums : {false, true}) {
    PeerOptions options;
    options.checksums = checksums;
    connect({}, options);
    int right = 0;
    ASSERT_TRUE(run(ask_for_many(client(), right)));
    EXPECT_EQ(right, 24);
    ASSERT_TRUE(until([&] { return peer_->queued_bytes() == 0; }));
    ASSERT_TRUE(run(close_client(*std::exchange(client_, std::nullopt))));
    ASSERT_TRUE(until([&] { return server_->connections() == 0; }));
  }
}

TEST_P(Servers, give_the_frames_of_a_session_to_its_sink) {
  connect();
  Sink here, there;
  client().attach(&here);
  peer_->attach(&there);
  ASSERT_TRUE(client().try_send_session("one "));
  ASSERT_TRUE(client().try_send_session("two "));
  ASSERT_TRUE(client().try_send_session("ask"));
  ASSERT_TRUE(until([&] { return here.got == "answer"; }));
  EXPECT_EQ(there.got, "one two ask");
  EXPECT_GE(there.batches, 1);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(client().try_send_session(std::string(50'000, 'x')));
  ASSERT_TRUE(until([&] { return here.writable >= 1; }));
  ASSERT_TRUE(client().try_send_session("stop"));
  ASSERT_TRUE(until([&] { return here.closed.size() == 1 && there.closed.size() == 1; }));
  EXPECT_EQ(there.closed[0].code(), Code::PermissionDenied);
  EXPECT_EQ(here.closed[0].code(), Code::PermissionDenied);
  EXPECT_EQ(here.closed[0].message(), "the peer has closed the connection: stopped");
}

}  // namespace
}  // namespace keel::messages::server_test
