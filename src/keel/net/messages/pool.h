// keel/net/messages/pool.h — one worker's connections to a service that runs at several addresses.
//
//   Pool devices(resolver, {.endpoints = {"devices-1.internal:7000", "devices-2.internal:7000"}});
//   const Average average{"kitchen"};
//   const Celsius now = co_await devices.request<Celsius>(average, Pool::Repeat::Idempotent);
//   Peer& peer = *co_await devices.peer();              // one of the connections, for a stream
//
// A name is looked up again from time to time, and each of its addresses is a target with its own connections. A
// request goes to the connection with the fewest outstanding requests. A target that cannot be reached, or whose
// connection broke, is excluded for a random time that grows with each failure; a connection whose peer does not
// respond to pings counts as broken (PeerOptions::heartbeat). Connections that break while their target is excluded do
// not count as further failures. A target whose requests fail too often is excluded by its circuit breaker
// (task/circuit_breaker.h); when the breaker is half open, one request at a time is sent to the target. Connections are
// made when they are first needed.
//
// Retries:   an Idempotent request that failed with a transient error (is_transient) is sent again, to another target
//            if there is one, within the budget of RetryOptions. A request that is not idempotent is never repeated
//            after it was sent; but before it is sent, other targets are tried when a target cannot be reached. When
//            all targets are excluded, an Idempotent request waits, within the same budget, until the first target may
//            be tried again, but not longer than RetryOptions::backoff_max.
// Errors:    those of Peer::request. Unavailable when no target can be used; the message says why, for each target.
//            InvalidArgument for a malformed endpoint. Cancelled and DeadlineExceeded.
// Ownership: owns its connections. A Peer that peer() returned is valid until the next await.
// Lifetime:  must outlive the tasks that wait (checked). The resolver, handlers and layers must outlive the pool.
// Threads:   the worker on which the Pool was made; one pool for each worker.
// Cancel:    a cancelled request is also cancelled at the peer; an attempt to connect continues.
// Cost:      for each request, the frame of a task and a comparison of all connections; no heap in steady state.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/owned.h"
#include "keel/net/messages/client.h"
#include "keel/net/messages/peer.h"
#include "keel/task/circuit_breaker.h"
#include "keel/task/retry.h"
#include "keel/task/task.h"
#include "keel/task/timing.h"

namespace keel {
class Resolver;
}

namespace keel::messages {

// The endpoints of a pool, and the rules by which an endpoint is excluded for some time.
struct PoolOptions {
  // "host:port", "192.0.2.7:7000" or "unix:/run/devices.sock"; at least one.
  std::vector<std::string> endpoints = {};
  std::size_t connections = 1;  // Connections to each address.
  // The time limit of a request, including its retries. Zero: only the caller's deadline applies.
  Duration timeout = Duration();
  Duration connect_timeout = 5_s;  // The time limit to connect, including TLS and the first frame of the server.
  // After this time the next request makes the pool look up the names again. A failed look-up is repeated sooner, with
  // the same pauses as a failed attempt to connect.
  Duration refresh = 30_s;
  Duration eject_first = 100_ms;  // The maximum time for which a target is excluded after its first failure.
  // The maximum time for which a target is excluded doubles with each further failure, up to this limit.
  Duration eject_max = 10_s;
  RetryOptions retry = {};
  CircuitBreakerOptions breaker = {};
  PeerOptions peer = {};
  io::ConnectOptions connect = {};
  // Handlers for messages and requests from the servers. Null: the pool handles no messages or requests.
  const Handlers* handlers = nullptr;
  // tls::Layers, for TLS with the host names of the endpoints.
  TransportLayers* layers = nullptr;
  const MessageMetrics* metrics = nullptr;  // Null: no metrics.
};

class Pool {
 public:
  enum class Repeat : std::uint8_t { Never, Idempotent };
  struct Stats {
    std::size_t targets = 0;      // The number of addresses.
    std::size_t ejected = 0;      // The number of addresses that are currently excluded.
    std::size_t connections = 0;  // The number of open connections.
    std::size_t outstanding = 0;  // Requests that wait for their replies.
    std::uint64_t retries = 0;
    std::uint64_t connected = 0;  // Attempts to connect.
    std::uint64_t failed = 0;     // Attempts that failed.
  };

  Pool(Resolver& resolver, PoolOptions options);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // Closes the connections after sending their queued frames.
  ~Pool();

  // InvalidArgument for a text that is not an endpoint; the message says what to write.
  static Result<> check_endpoint(std::string_view text);

  template <class Reply = void, class M>
  Task<Reply> request(M&& message, Repeat repeat = Repeat::Never) {
    internal::refuse_made_in_call<M>();
    Buffer payload;
    encode(payload, message);
    if (timeout() == Duration()) return request_encoded<Reply>(type_of(message), std::move(payload), repeat);
    return with_timeout(timeout(), request_encoded<Reply>(type_of(message), std::move(payload), repeat));
  }
  // Sends a one-way message on the connection with the fewest outstanding requests. Waits while too much is queued on
  // that connection.
  template <class M>
  Task<> send(M&& message) {
    internal::refuse_made_in_call<M>();
    Buffer payload;
    encode(payload, message);
    return send_encoded(type_of(message), std::move(payload));
  }
  // Returns a connection, and connects if there is none.
  Task<Peer*> peer();
  // Closes the connections after sending their queued frames, each within PeerOptions::close_timeout, and completes
  // when all are closed. No request may be in progress; a later request connects again.
  Task<> close();

  Stats stats() const noexcept;
  // Unavailable: the last requests could reach no target; the message says what is wrong with each target.
  Result<> check() const;

 private:
  struct State;
  struct Target;
  enum class For : std::uint8_t { Request, Others };
  // One attempt: a connection and, for a request, the call that the circuit breaker of its target admitted. The target
  // must outlive this object.
  class Chosen {
   public:
    Chosen(Peer& at, Target* of, std::optional<CircuitBreaker::Call>&& call) noexcept;
    Chosen(Chosen&& other) noexcept
        : peer(other.peer), target_(std::exchange(other.target_, nullptr)), call_(std::move(other.call_)) {}
    Chosen& operator=(Chosen&&) = delete;
    ~Chosen();
    // Reports the outcome of the attempt; `error` is null after a success.
    void judge(const Pool& pool, const Error* error) noexcept;
    const Target* target() const noexcept { return target_; }

    Peer* peer;

   private:
    Target* target_;
    std::optional<CircuitBreaker::Call> call_;
  };
  Task<Chosen> choose(const Target* other_than, For what);
  // The time until the first excluded target may be tried again; nullopt if that time is longer than
  // RetryOptions::backoff_max.
  std::optional<Duration> until_target() const noexcept;
  Retry& retry() noexcept;
  Duration timeout() const noexcept;
  Task<> send_encoded(std::uint16_t type, Buffer payload);

  template <class Reply>
  Task<Reply> request_encoded(std::uint16_t type, Buffer payload, Repeat repeat) {
    const TaskInfo task = co_await this_task();
    Retry::Attempts attempts(retry(), task.deadline);
    const Target* failed = nullptr;
    while (true) {
      Result<Chosen> chosen = co_await attempt(choose(failed, For::Request));
      if (!chosen) {
        const bool may_wait = repeat == Repeat::Idempotent && retry().options().when(chosen.error());
        const std::optional<Duration> least = may_wait ? until_target() : std::nullopt;
        const std::optional<Duration> wait = least ? attempts.next_wait(*least) : std::nullopt;
        if (!wait || !attempts.spend()) co_await std::unexpected<Error>(std::move(chosen).error());
        co_await sleep_for(*wait);
        continue;
      }
      Result<Reply> reply = co_await attempt(chosen->peer->template request<Reply>(Raw{type, payload.view()}));
      chosen->judge(*this, reply ? nullptr : &reply.error());
      if (reply || repeat != Repeat::Idempotent || !retry().options().when(reply.error())) {
        co_return co_await std::move(reply);
      }
      const std::optional<Duration> wait = attempts.next_wait();
      if (!wait || !attempts.spend()) co_return co_await std::move(reply);
      failed = chosen->target();
      co_await sleep_for(*wait);
    }
  }

  Owned<State> state_;
};

}  // namespace keel::messages
