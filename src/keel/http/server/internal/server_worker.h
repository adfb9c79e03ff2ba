// keel/http/server/internal/server_worker.h — the part of a Server that lives on one worker: what its connections and
// their exchanges have in common.
//
// Internal to http: users see Server. A worker has one for each listener that it accepts from.
//
// Threads: the worker; `counts` and the stages may be read by any thread.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/list.h"
#include "keel/base/single_writer_counter.h"
#include "keel/http/message/date.h"
#include "keel/http/server/internal/acceptor.h"
#include "keel/http/server/internal/answer.h"
#include "keel/http/server/internal/queue_delay.h"
#include "keel/http/server/internal/request_log.h"
#include "keel/http/server/server.h"
#include "keel/io/loop.h"
#include "keel/observe/log.h"

namespace keel::http {

class Connection;
class Upgraded;

// An engine that gathers what is submitted until the end of the iteration keeps a response for no longer than this of
// work.
inline constexpr Duration gathered_max = 200_us;

class ServerWorker {
 public:
  // What the workers of a server share; it outlives them.
  struct Shared {
    const Router& router;
    const ServerOptions& options;
    ServerMetrics* metrics;          // Null: none.
    std::atomic<int>& open_workers;  // How many have a listener or a connection.
  };
  // `connections_max` and `body_bytes_max` are this worker's shares of the limits.
  ServerWorker(const Shared& shared, io::Loop& loop, const ListenerPart& listener, std::uint32_t connections_max,
               std::size_t body_bytes_max);
  ~ServerWorker();
  ServerWorker(const ServerWorker&) = delete;
  ServerWorker& operator=(const ServerWorker&) = delete;

  // --- what the server asks of it

  void begin() { acceptor_.begin(); }
  void change(const Limits& limits, bool access_log, std::uint32_t connections_max, std::size_t body_bytes_max);
  void begin_drain(Duration grace, Listening listening);
  // Ends every connection as soon as its operations allow.
  void abort_all();
  const Acceptor& acceptor() const noexcept { return acceptor_; }

  // --- what connections and exchanges find there

  io::Loop& loop() noexcept { return loop_; }
  io::Engine& engine() noexcept { return engine_; }
  const Router& router() const noexcept { return shared_.router; }
  const ServerOptions& options() const noexcept { return shared_.options; }
  // They change between two events of the worker, never within one.
  const Limits& limits() const noexcept { return limits_; }
  const Arrival& arrival() const noexcept { return arrival_; }
  RequestLog& records() noexcept { return records_; }
  const RequestLog& records() const noexcept { return records_; }
  const log::Logger& log() const noexcept { return records_.log(); }
  QueueDelay& queue_delay() noexcept { return delay_; }

  // Of the request that is answered synchronously: its memory, and its head.
  Arena& scratch() noexcept { return scratch_; }
  RequestHead& head() noexcept { return head_; }
  // Names the next request; it does not repeat itself.
  log::TraceId next_trace() noexcept { return {trace_high_, loop_.random()}; }
  // "HTTP/1.1 200 OK\r\nDate: …\r\n" of this second.
  std::string_view ok_and_date() noexcept {
    if (loop_.now() >= date_until_) [[unlikely]]
      write_date();
    return {ok_and_date_, sizeof ok_and_date_};
  }

  bool is_draining() const noexcept { return draining_; }
  // How long an idle connection has once the server drains.
  Duration drain_grace() const noexcept { return grace_; }

  // Whether this many bytes more of bodies may be held.
  bool has_room_for(std::uint64_t body_bytes) const noexcept {
    return counts.body_bytes.get() + body_bytes <= counts.body_bytes_max.get();
  }
  // Whether a request of this route is rejected because it comes so late. Until `since` its own connection was not
  // ready for it.
  bool rejects_late(std::uint32_t route, int fd, Instant since) noexcept {
    return delay_.is_costly(route) && rejects_late(fd, since);
  }
  // The response to a message on `fd` that is rejected before it is a request; counted and logged.
  Response reject(Status status, std::string_view reason, int fd);
  // After a send has been submitted: what waits for the end of an iteration that lasts leaves now.
  void hand_over() noexcept {
    if (delay_.worked_until() - std::max(handed_over_, loop_.now()) < gathered_max) [[likely]]
      return;
    handed_over_ = delay_.worked_until();
    engine_.flush();
  }

  // --- its connections, which count until they have ended

  List<Connection>& connections() noexcept { return connections_; }
  void add(Connection& connection);
  // One leaves HTTP, and goes on being counted.
  void add(Upgraded& upgraded);
  std::uint64_t open_connections() const noexcept { return counts.connections.get(); }
  // One is gone. The last thing its caller does: with the last one of a drain this may be destroyed.
  void ended();
  // As above, after a listener was closed.
  void check_drained();

  ServerCounts<SingleWriterCounter> counts;

 private:
  bool rejects_late(int fd, Instant since) noexcept;
  void write_date() noexcept;

  const Shared shared_;
  io::Loop& loop_;
  io::Engine& engine_;
  Limits limits_;
  RequestLog records_;
  Acceptor acceptor_;
  Duration grace_ = Duration::forever();
  bool draining_ = false;
  bool closed_ = false;
  List<Connection> connections_;
  List<Upgraded> upgraded_;
  const std::uint64_t trace_high_;
  const Arrival arrival_;
  QueueDelay delay_;
  Instant handed_over_;
  Arena scratch_;
  RequestHead head_;
  Instant date_until_;  // Until then the date is this:
  char ok_and_date_[ok_line_bytes + 6 + date_bytes + 2];
};

}  // namespace keel::http
