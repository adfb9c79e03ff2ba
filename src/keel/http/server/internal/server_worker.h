// keel/http/server/internal/server_worker.h — the part of a Server on one worker: the state that the connections and
// exchanges of this worker share.
//
// Internal to http: users see Server. A worker thread has one ServerWorker for each listener from which it accepts
// connections.
//
// Threads: the worker; any thread may read `counts` and the stages.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/list.h"
#include "keel/base/single_writer_counter.h"
#include "keel/http/message/date.h"
#include "keel/http/server/internal/acceptor.h"
#include "keel/http/server/internal/client_table.h"
#include "keel/http/server/internal/degradation.h"
#include "keel/http/server/internal/held_memory.h"
#include "keel/http/server/internal/introduction.h"
#include "keel/http/server/internal/kernel_bytes.h"
#include "keel/http/server/internal/queue_delay.h"
#include "keel/http/server/internal/repeated_failures.h"
#include "keel/http/server/internal/request_log.h"
#include "keel/http/server/internal/response_bytes.h"
#include "keel/http/server/server.h"
#include "keel/io/loop.h"
#include "keel/net/transport.h"
#include "keel/observe/log.h"
#include "keel/task/event.h"

namespace keel::http {

class Connection;
class Upgraded;

// Engines may hold submissions back until the end of an event-loop iteration. While a finished response is held back,
// the worker continues with other work for at most this time.
inline constexpr Duration gathered_max = 200_us;

class ServerWorker {
 public:
  // The state that the workers of a server share; it outlives the workers.
  struct Shared {
    const Router& router;
    const ServerOptions& options;
    ServerMetrics* metrics;          // Null: none.
    std::atomic<int>& open_workers;  // The number of workers that have a listener or a connection.
  };
  // This worker's share of each limit, including the limits of one client.
  struct Shares {
    std::uint32_t connections;
    std::size_t body_bytes;
    std::size_t response_bytes;
    std::size_t received_bytes;
    std::uint32_t client_connections;
    std::size_t client_body_bytes;
  };
  ServerWorker(const Shared& shared, io::Loop& loop, const ListenerPart& listener, const Shares& shares);
  ~ServerWorker();
  ServerWorker(const ServerWorker&) = delete;
  ServerWorker& operator=(const ServerWorker&) = delete;

  // --- called by the server

  void begin() { acceptor_.begin(); }
  void change(const Limits& limits, bool access_log, const Shares& shares);
  void begin_drain(Duration grace, Listening listening);
  // Ends all connections as soon as their operations allow, and resets those whose peers have not received everything.
  void abort_all();
  const Acceptor& acceptor() const noexcept { return acceptor_; }
  KernelBytes& kernel_bytes() noexcept { return kernel_bytes_; }

  // --- used by connections and exchanges

  io::Loop& loop() noexcept { return loop_; }
  io::Engine& engine() noexcept { return engine_; }
  const Router& router() const noexcept { return shared_.router; }
  const ServerOptions& options() const noexcept { return shared_.options; }
  // The limits may change between two events of the worker, but not during an event.
  const Limits& limits() const noexcept { return limits_; }
  const Arrival& arrival() const noexcept { return arrival_; }
  RequestLog& records() noexcept { return records_; }
  const RequestLog& records() const noexcept { return records_; }
  const log::Logger& log() const noexcept { return records_.log(); }
  QueueDelay& queue_delay() noexcept { return delay_; }

  Degradation& out_of_memory() noexcept { return out_of_memory_; }
  RepeatedFailures& failures() noexcept { return failures_; }

  // The memory, and the head, of the request that is being handled synchronously.
  Arena& scratch() noexcept { return scratch_; }
  RequestHead& head() noexcept { return head_; }
  // Returns an id for the next request; no other request of this worker has the same id.
  log::TraceId next_trace() noexcept { return {trace_high_, loop_.random()}; }
  // Whether a request may continue the trace that it names.
  bool may_continue_traces() const noexcept { return may_continue_traces_; }
  // "HTTP/1.1 200 OK\r\nDate: …\r\n" with the current second.
  const OkAndDate& ok_and_date() noexcept {
    if (loop_.now() >= date_until_) [[unlikely]]
      write_date();
    return ok_and_date_;
  }

  // The value of Strict-Transport-Security; empty: the field is not sent.
  std::string_view strict_transport() const noexcept { return strict_transport_; }

  bool is_draining() const noexcept { return draining_.is_set(); }
  Event& draining() noexcept { return draining_; }
  // How long an idle connection stays open while the server drains.
  Duration drain_grace() const noexcept { return grace_; }

  // Whether `body_bytes` more bytes of a body may be held for the client at `place`, if `held` bytes of the same body
  // are held already. Returns Ok if the bytes may be held. Otherwise the function counts a rejection, and returns the
  // status with which the body is to be rejected (503 or 429).
  Status check_body(std::uint32_t place, std::uint64_t body_bytes, std::size_t held) noexcept;
  static const char* no_room_for_body(Status status) noexcept;
  // Updates the counts after the memory that holds a body has grown or was freed.
  void hold_body(std::uint32_t place, std::size_t before, std::size_t after) noexcept;
  // Whether a request of this route is rejected because it has waited too long. The request's own connection was not
  // ready for the request until `since`.
  bool rejects_late(std::uint32_t route, int fd, Instant since) noexcept {
    if (!delay_.may_be_costly(route)) return false;
    delay_.begins();
    return delay_.is_costly(route) && delay_rejects(fd, since);
  }
  // Makes the response to bytes from `remote` that are rejected before they form a request; counts and logs the
  // rejection.
  Response reject(Status status, std::string_view reason, const Remote& remote);
  // Call this function after a send has been submitted: if the event-loop iteration has already taken long, the
  // function passes the submitted sends to the kernel immediately, and not only at the end of the iteration.
  void hand_over() noexcept {
    if (delay_.worked_until() - std::max(handed_over_, loop_.now()) < gathered_max) [[likely]]
      return;
    handed_over_ = delay_.worked_until();
    engine_.flush();
  }

  // The memory that the worker's connections hold for their clients.
  HeldMemory& held() noexcept { return held_; }

  // --- its clients

  // Makes the endpoint of a connection on `fd`, from which `received` was already read; with TLS, if TLS is configured.
  // After std::bad_alloc, `fd` still belongs to the caller.
  Endpoint endpoint_of(int fd, std::string_view received);
  // Whether connections from this peer must begin with a header of the PROXY protocol.
  bool is_introducer(const Address& peer) const noexcept {
    return options().proxy_protocol && is_trusted(peer, options().trusted_proxies);
  }
  // Counts and logs that `proxy` did not send a valid header of the PROXY protocol.
  void reject_introduction(const Address& proxy, const char* reason);
  // Adds a connection of `peer` on `fd`, and returns the place of the peer in the table of clients, or 0 if no limit
  // applies to the peer.
  // nullopt: the peer has reached its limit; closing `fd` will reset the connection. After std::bad_alloc, nothing has
  // changed.
  std::optional<std::uint32_t> enter(const Address& peer, int fd);
  // Removes a connection of the client at `place`.
  void leave(std::uint32_t place) noexcept;

  // --- its connections, which are counted until they have ended

  List<Connection>& connections() noexcept { return connections_; }
  void add(Connection& connection);
  // Adds a connection that was upgraded; it is still counted as a connection.
  void add(Upgraded& upgraded);
  std::uint64_t open_connections() const noexcept { return counts.connections.get(); }
  // Call this function when a connection has ended. The call must be the last action of the caller, because the end of
  // the last connection of a drain may destroy this object.
  void ended();
  // Call this function when a listener was closed. Like ended(), the call may destroy this object.
  void check_drained();

  ServerCounts<SingleWriterCounter> counts;

 private:
  void share(const Shares& shares) noexcept;
  bool delay_rejects(int fd, Instant since) noexcept;
  void write_date() noexcept;

  const Shared shared_;
  io::Loop& loop_;
  io::Engine& engine_;
  Limits limits_;
  RequestLog records_;
  Degradation out_of_memory_;
  Degradation overload_;
  Degradation introductions_;
  RepeatedFailures failures_;
  Acceptor acceptor_;
  Shares shares_;
  HeldMemory held_;
  std::optional<ClientTable> clients_;  // Empty until a client to which a limit applies connects.
  Duration grace_ = Duration::forever();
  Event draining_;
  bool closed_ = false;
  List<Connection> connections_;
  List<Upgraded> upgraded_;
  const std::string strict_transport_;
  const std::uint64_t trace_high_;
  const Arrival arrival_;
  const bool may_continue_traces_;
  QueueDelay delay_;
  KernelBytes kernel_bytes_{*this};
  Instant handed_over_;
  Arena scratch_;
  RequestHead head_;
  Instant date_until_;  // The time until which the cached date is valid.
  OkAndDate ok_and_date_;
};

}  // namespace keel::http
