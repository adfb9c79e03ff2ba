// The load of one thread: its connections, what is sent on them and when, and what came back.
//
//   Generator generator(loop, mix, plan, thread, Host::current().now() + 10_ms);
//   while (!generator.is_finished()) {
//     loop.turn(generator.next_due());
//     generator.send_due();
//   }
//   use(generator.tally());
//
// Closed loop: each connection sends a request when it has a response. Open loop: requests are due at times decided
// beforehand; one that is due waits for a connection with room if need be, and its latency begins when it was due. A
// timer sends what is due, too, to the millisecond: in a simulation that is all there is.
//
// After the measured time nothing new begins; what is under way has until the time limit of a request to be answered.
//
// Threads:  the loop's. progress() may be read on any.
// Lifetime: loop, mix and plan outlive it; it is finished before it is destroyed.
// Cost:     per request no allocation and no clock read in a closed loop; requests of one turn leave with one system
//           call on io_uring.

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
#include "load/mix.h"
#include "load/schedule.h"
#include "load/tally.h"

namespace keel::load {

// How many connections: some from the beginning on, or from one number evenly to another.
struct Connections {
  int from = 64;
  int to = 64;
  Duration over = Duration();

  // When connection `index` is opened, from 0.
  Duration opens(int index) const noexcept;
};

struct Plan {
  Address address;
  TransportLayers* layers = nullptr;  // What lies over each connection; none: it is plain.
  std::string host;                   // The host that the layers expect at the address.
  Connections connections;            // Of all threads together.
  int threads = 1;
  int depth = 1;                                  // Requests under way on a connection.
  std::uint64_t requests_per_connection_max = 0;  // Then another one; 0: no bound.
  std::optional<Schedule::Options> open = {};     // None: closed loop.
  Duration warmup = 1_s;
  Duration duration = 10_s;
  Duration timeout = 5_s;
  std::uint64_t seed = 1;
};

// Seen from outside while it runs.
struct Progress {
  SingleWriterCounter answers;  // All, of the warm-up too.
  SingleWriterCounter errors;
  SingleWriterCounter open;                      // Connections.
  std::atomic<std::int64_t> latency_max_ns = 0;  // Since somebody set it to 0.
};

class Generator {
 public:
  Generator(io::Loop& loop, const Mix& mix, const Plan& plan, int thread, Instant begins);
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // When send_due() has something to do; never in a closed loop, and while no connection has room.
  Instant next_due() const noexcept { return free_.empty() ? Instant::never() : next_due_; }
  // Whether something was due.
  bool send_due() noexcept;
  // Ends the run now; what is under way is cut off.
  void stop() noexcept;
  bool is_finished() const noexcept { return state_ == State::Finished; }

  Progress& progress() noexcept { return progress_; }
  // Once it is finished.
  const Tally& tally() const noexcept { return tally_; }
  // The part of the measured time that there was: less than planned after stop().
  Duration measured() const noexcept;
  const Plan& plan() const noexcept { return plan_; }

 private:
  friend class Connection;
  enum class State : std::uint8_t { Running, Draining, Ending, Finished };

  // For connections.
  io::Loop& loop() noexcept { return loop_; }
  http::HeadCache& cache_of(const Request& request) noexcept {
    return caches_[static_cast<std::size_t>(&request - mix_.requests().data())];
  }
  Arena& arena() noexcept { return arena_; }
  // A request to be sent now; null: none. `intended`: when it was due.
  const Request* next_request(Instant now, Instant& intended) noexcept;
  void write(const Request& request, Buffer& out, bool closes);
  void answered(const Connection::Outstanding& request, int status, bool has_expected_body) noexcept;
  void failed(const Connection::Outstanding& request, Failure failure) noexcept;
  void failed_to_connect() noexcept;
  void opened() noexcept;
  void has_room(Connection& connection) noexcept;
  // `for_good`: it does not open again.
  void closed(bool was_open, bool for_good) noexcept;
  void sent(std::size_t bytes) noexcept { tally_.bytes_sent += bytes; }
  void received(std::size_t bytes) noexcept { tally_.bytes_received += bytes; }

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
  std::uint64_t numbered_ = 0;  // Requests written from templates.
  std::optional<Schedule> schedule_;
  Instant next_due_ = Instant::never();
  Tally tally_;
  Progress progress_;
  std::vector<http::HeadCache> caches_;  // One for each request of the mix.
  Arena arena_;
  Buffer scratch_;
  Instant second_ends_;
  std::size_t second_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::size_t begun_ = 0;  // Connections that were told to open.
  std::size_t alive_ = 0;  // Connections that were not closed for good.
  List<Connection> free_;  // Open loop: connections with room, the one first that has had it longest.
  Member<Timer, Generator, &Generator::send_due> due_timer_{*this};
  Member<Timer, Generator, &Generator::tick> tick_timer_{*this};
};

}  // namespace keel::load
