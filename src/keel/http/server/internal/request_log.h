// keel/http/server/internal/request_log.h — records a worker's requests: in counts and metrics, in the flight recorder,
// in the access log, and as stages of measured requests.
//
// Internal to http.
//
// Lifetime: a part of its ServerWorker.
// Threads:  the worker; any thread may read stages().

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/single_writer_counter.h"
#include "keel/base/time.h"
#include "keel/http/message/status.h"
#include "keel/http/server/internal/introduction.h"
#include "keel/http/server/internal/server_metrics.h"
#include "keel/http/server/request.h"
#include "keel/http/server/server.h"
#include "keel/http/server/stages.h"
#include "keel/io/loop.h"
#include "keel/observe/flight_recorder.h"
#include "keel/observe/log.h"

namespace keel {
class Transport;
}

namespace keel::http {

class RequestLog {
 public:
  // `metrics` may be null. Every route number must be less than `routes`. The objects to which the arguments refer must
  // outlive this object.
  RequestLog(io::Loop& loop, const ServerOptions& options, ServerCounts<SingleWriterCounter>& counts,
             ServerMetrics* metrics, std::size_t routes);

  const log::Logger& log() const noexcept { return log_; }
  Stages& stages() noexcept { return stages_; }
  const Stages& stages() const noexcept { return stages_; }
  void set_access_log(bool access_log) noexcept { access_log_ = access_log; }

  // Records that a request of `route` got a response with a body of `bytes` bytes; for a streamed body, call this
  // function when the body has ended.
  [[gnu::always_inline]] void responded(Request& request, std::uint32_t route, Status status, std::size_t bytes,
                                        Instant now);
  // Records that bytes from `remote` were rejected before they formed a request. `id` is the X-Request-Id of the
  // response; it may be empty.
  void rejected(Status status, std::string_view reason, std::string_view id, const Remote& remote);
  // Records that a connection was closed because its client had reached the limit of connections.
  void too_many_connections(const Address& client, std::uint32_t connections_max);
  // Records that a connection has failed; Transport::outcome() says why. A failed TLS handshake is only counted, and
  // logged only at level debug, because port scanners cause many of them.
  void failed(const Transport& transport, const Introduction* introduction);
  // Records that a request was rejected with 503 before any work was done for it.
  void rejected_late(Request& request, std::string_view reason);
  // Records that a request ended with its connection, after `bytes` bytes of its head had arrived.
  void cut_head(std::size_t bytes);
  // Records that the connection of a request ended while the body arrived or while the handler ran.
  void cut(Cut during, Request& request);
  // Records that the connection ended after `bytes` bytes of the response's body had been queued; `status` is the
  // status of the response.
  void cut_response(Request& request, Status status, std::size_t bytes);

  // Begins to measure the time until a measured response has been sent. The response is part of the next send of
  // `sender` or, if `behind_another` is true, of the send after that. Only one send at a time is measured.
  void begin_write(const void* sender, std::uint32_t route, bool behind_another);
  void end_write(const void* sender, bool is_sent) {
    if (writing_.sender == sender) [[unlikely]]
      end_own_write(is_sent);
  }

 private:
  // The client's address for a log line; empty if addresses of clients are not to be logged.
  std::string client_of(const Remote& remote) const;
  void count_cut(Cut during);
  // Calls say() with the client's address and the request's id; the address and the id are each passed only if they
  // have to be logged.
  template <class Say>
  void say_of(Request& request, const Say& say);
  void log_response(Request& request, Status status, std::size_t bytes, Duration took);
  // Counts the stages of a measured request; `now` is the time at which its response was made.
  void count_stages(StageClock& clock, std::uint32_t route, Instant now);
  void end_own_write(bool is_sent);

  io::Loop& loop_;
  const ServerOptions& options_;
  ServerCounts<SingleWriterCounter>& counts_;
  ServerMetrics* const metrics_;
  log::Logger log_{"http.server"};
  bool access_log_;
  Stages stages_;
  struct {
    const void* sender = nullptr;  // The sender whose send is measured.
    Instant began;
    std::uint32_t route = 0;
    int sends = 0;  // How many sends of `sender` must end before the response has been sent completely.
  } writing_;
};

// Like the functions of Exchange, this function is inlined where a synchronous request is handled.
inline void RequestLog::responded(Request& request, std::uint32_t route, Status status, std::size_t bytes,
                                  Instant now) {
  counts_.requests.add();
  const Duration took = now - request.started();
  if (metrics_ != nullptr) metrics_->count(route, status, took);
  flight::note({.verb = to_string(request.method()),
                .object = request.route(),
                .outcome = static_cast<unsigned>(number(status)),
                .bytes = bytes,
                .started = request.started(),
                .took = took,
                .trace = request.trace()});
  if (log::is_recorded && access_log_) log_response(request, status, bytes, took);
  if (StageClock* const clock = request.span().stages) [[unlikely]]
    count_stages(*clock, route, now);
}

}  // namespace keel::http
