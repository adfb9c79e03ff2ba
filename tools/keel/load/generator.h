// Makes the load of one thread: its connections, the requests and their times, and the responses.
//
//   Generator generator(loop, mix, plan, thread, Host::current().now() + 10_ms);
//   while (!generator.is_finished()) {
//     loop.turn(generator.next_due());
//     generator.send_due();
//   }
//   use(generator.counts());
//
// Closed loop: each connection sends its next request when it has received a response. Open loop: requests are due at
// times decided in advance; a due request waits for a connection with room if necessary, and its latency is measured
// from the time when it was due. A timer also sends due requests, but only with a precision of one millisecond. In a
// simulation, send_due() is not polled, so only the timer sends due requests.
//
// After the measured time no new request is sent; the generator still waits for outstanding responses until their
// timeouts.
//
// Threads:  the loop's thread. progress() may be read on any thread.
// Lifetime: loop, mix and plan must outlive the generator, which must have finished before it is destroyed.
// Cost:     in a closed loop, no allocation and no clock read for each request; on io_uring, the requests of one
//           event-loop iteration are sent with one system call.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keel/base/arena.h"
#include "keel/base/member.h"
#include "keel/base/single_writer_counter.h"
#include "keel/http/message/response_reader.h"
#include "keel/io/loop.h"
#include "keel/net/transport.h"
#include "load/connection.h"
#include "load/counts.h"
#include "load/mix.h"
#include "load/schedule.h"

namespace keel::load {

// The number of connections: constant (`to`), or growing evenly over a time from one number to another.
struct Connections {
  int from = 64;
  int to = 64;
  Duration over = Duration();

  // The time from the beginning of the run to the opening of connection `index`, which counts from 0.
  Duration opens(int index) const noexcept;
};

struct Plan {
  Address address;
  TransportLayers* layers = nullptr;  // Makes the layer over each connection, such as TLS; null if there is none.
  std::string host;                   // The host name that the layers expect the server to have.
  Connections connections;            // The connections of all threads together.
  int threads = 1;
  int depth = 1;  // The maximum number of outstanding requests on each connection.
  // After this many requests, a connection is replaced; 0 means no limit.
  std::uint64_t requests_per_connection_max = 0;
  std::optional<Schedule::Options> open = {};  // None: closed loop.
  Duration warmup = 1_s;
  Duration duration = 10_s;
  Duration timeout = 5_s;
  std::uint64_t seed = 1;
};

// Values that other threads may read while the generator runs.
struct Progress {
  SingleWriterCounter responses;  // All responses, including those of the warm-up.
  SingleWriterCounter errors;
  SingleWriterCounter open;                      // Open connections.
  std::atomic<std::int64_t> latency_max_ns = 0;  // The maximum since the reader last set it to 0.
};

class Generator {
 public:
  Generator(io::Loop& loop, const Mix& mix, const Plan& plan, int thread, Instant begins);
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // The time at which send_due() has something to do; never() in a closed loop or while no connection has room.
  Instant next_due() const noexcept { return free_.empty() ? Instant::never() : next_due_; }
  // Sends the requests that are due; returns whether any was due.
  bool send_due() noexcept;
  // Ends the run now; outstanding requests are cut off.
  void stop() noexcept;
  bool is_finished() const noexcept { return state_ == State::Finished; }

  Progress& progress() noexcept { return progress_; }
  // Valid only when is_finished().
  const Counts& counts() const noexcept { return counts_; }
  // How much of the measured time has passed. After stop(), the measured time may be shorter than planned.
  Duration measured() const noexcept;
  const Plan& plan() const noexcept { return plan_; }

 private:
  friend class Connection;
  enum class State : std::uint8_t { Running, Draining, Ending, Finished };

  // Used by connections.
  io::Loop& loop() noexcept { return loop_; }
  http::HeadCache& cache_of(const Request& request) noexcept {
    return caches_[static_cast<std::size_t>(&request - mix_.requests().data())];
  }
  Arena& arena() noexcept { return arena_; }
  // Returns a request to be sent now, or null if no request is due. Sets `intended` to the time at which the request
  // was due.
  const Request* next_request(Instant now, Instant& intended) noexcept;
  void write(const Request& request, Buffer& out, bool closes);
  void responded(const Connection::Outstanding& request, int status, bool has_expected_body) noexcept;
  void failed(const Connection::Outstanding& request, Failure failure) noexcept;
  void failed_to_connect() noexcept;
  // Keeps the reason why the first connection failed.
  void note_reason(const Error& why) noexcept {
    if (counts_.reason.empty() && state_ == State::Running) counts_.reason = why.describe();
  }
  void opened() noexcept;
  void has_room(Connection& connection) noexcept;
  // `for_good`: the connection will not be reopened.
  void closed(bool was_open, bool for_good) noexcept;
  void sent(std::size_t bytes) noexcept { counts_.bytes_sent += bytes; }
  void received(std::size_t bytes) noexcept { counts_.bytes_received += bytes; }

  bool is_measured(Instant at) const noexcept { return at >= measured_from_ && at < measured_to_; }
  Second& second_at(Instant now) noexcept;
  void count_error(Failure failure) noexcept;
  void advance_due() noexcept;
  void tick() noexcept;
  void open_more(Instant now) noexcept;
  bool is_drained() const noexcept;
  void cut_off() noexcept;

  io::Loop& loop_;
  const Mix& mix_;
  const Plan& plan_;
  const int thread_;
  const Instant begins_;
  const Instant measured_from_;
  Instant measured_to_;
  State state_ = State::Running;
  bool is_stopped_ = false;
  Random random_;
  std::uint64_t numbered_ = 0;  // The number of requests that were written from templates.
  std::optional<Schedule> schedule_;
  Instant next_due_ = Instant::never();
  Counts counts_;
  Progress progress_;
  std::vector<http::HeadCache> caches_;  // One cache for each request of the mix.
  Arena arena_;
  Buffer scratch_;
  Instant second_ends_;
  std::size_t second_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::size_t begun_ = 0;  // The number of connections on which open() was called.
  std::size_t alive_ = 0;  // The number of connections that are not permanently closed.
  // In an open loop, the connections that have room for a request; the connection that has had room longest comes
  // first.
  List<Connection> free_;
  Member<Timer, Generator, &Generator::send_due> due_timer_{*this};
  Member<Timer, Generator, &Generator::tick> tick_timer_{*this};
};

}  // namespace keel::load
