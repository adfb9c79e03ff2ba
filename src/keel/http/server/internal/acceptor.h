// keel/http/server/internal/acceptor.h — the part of a Server that lives on one worker: its listener and its
// connections.
//
// Internal to http: users see Server.
//
// Threads: the worker; the counters may be read by any thread.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "keel/base/arena.h"
#include "keel/base/list.h"
#include "keel/base/member.h"
#include "keel/http/message/date.h"
#include "keel/http/server/admission.h"
#include "keel/http/server/internal/connection.h"
#include "keel/http/server/internal/tally.h"
#include "keel/http/server/internal/upgraded.h"
#include "keel/http/server/server.h"
#include "keel/http/server/stages.h"
#include "keel/io/loop.h"
#include "keel/observe/log.h"

namespace keel::http {

// An engine that gathers what is submitted until the end of the turn keeps an answer for no longer than this of work.
inline constexpr Duration gathered_max = 200_us;

class Acceptor {
 public:
  struct Listener {
    int fd = -1;          // A listening descriptor of the loop's engine; the Acceptor closes it.
    bool shared = false;  // Others accept from the same socket,
    bool first = true;    // and this one speaks for it.
  };
  Acceptor(Server& server, io::Loop& loop, const Listener& listener, std::uint32_t connections_max,
           std::size_t body_bytes_max);
  ~Acceptor();

  void begin();
  void change(const Limits& limits, bool access_log, std::uint32_t connections_max, std::size_t body_bytes_max);
  void begin_drain(Duration grace, Listening listening);
  // Ends every connection as soon as its operations allow.
  void abort_all();

  io::Loop& loop() noexcept { return loop_; }
  const Stages& stages() const noexcept { return stages_; }
  bool is_draining() const noexcept { return draining_; }
  // The descriptor; -1 once it is closed.
  int listener() const noexcept { return listener_; }
  bool is_first() const noexcept { return first_; }

  struct {
    Tally connections, accepted, requests, refused, timeouts, aborted;
    Tally connections_max, paused_full, paused_descriptors, paused_memory, idle_closed;
    Tally body_bytes, body_bytes_max, bodies_refused, requests_too_big, overloaded, cut, slow_readers, upgraded;
  } tally;

 private:
  friend class Connection;
  friend class Upgraded;
  const Limits& limits() const noexcept { return limits_; }
  const Router& router() const noexcept { return server_.router_; }
  void accepted();
  bool is_near_limit() const noexcept;
  void look_at_limit();
  void stop_for_now();
  // Whether so many bytes more of bodies may be held.
  bool has_room_for(std::uint64_t body_bytes) const noexcept {
    return tally.body_bytes.get() + body_bytes <= tally.body_bytes_max.get();
  }
  void resume_with_room();
  // Closes connections that have been idle longest. False: none has been for long enough; it is tried again.
  bool make_room();
  void look_for_room();
  // How many places are free before accepting goes on.
  std::uint32_t room() const noexcept;
  void stop_accepting();
  void take_waiting();
  void close_listener();
  void ended();
  void check_drained();
  // "HTTP/1.1 200 OK\r\nDate: …\r\n" of this second.
  std::string_view ok_and_date() noexcept {
    if (loop_.now() >= date_until_) [[unlikely]]
      write_date();
    return {ok_and_date_, sizeof ok_and_date_};
  }
  void write_date() noexcept;
  void count_stages(std::uint32_t route, const StageClock& clock);
  // The send of an answer that was measured begins with what `connection` sends next; one at a time is followed.
  void begin_write(const Connection& connection, std::uint32_t route, bool behind_another);
  void end_write(const Connection& connection, bool is_sent) {
    if (writing_.connection == &connection) [[unlikely]]
      end_own_write(is_sent);
  }
  void end_own_write(bool is_sent);
  void count_refused(Status status);
  void count_cut(Cut during);
  // Whether a request of this route comes so late that it is refused. Until `since` its own connection was not ready
  // for it, which is nobody's delay.
  bool refuses_late(std::uint32_t route, int fd, Instant since) noexcept {
    return cost_ns_[route] >= admission_cost_min.count_ns() && refuses_late(fd, since);
  }
  bool refuses_late(int fd, Instant since) noexcept;
  // What has been done until `now` was for this route.
  void worked(std::uint32_t route, Instant now) noexcept {
    // Bounded, so that one request in which the machine was busy elsewhere does not make a cheap route costly.
    std::int64_t& lately = cost_ns_[route];
    const std::int64_t cost = (now - std::max(worked_until_, loop_.now())).count_ns();
    worked_until_ = now;
    lately += (std::min(cost, 2 * lately + 20'000) - lately) >> 3;
  }
  // After a send has been submitted: what waits for the end of a turn that lasts leaves now.
  void hand_over() noexcept {
    if (worked_until_ - std::max(handed_over_, loop_.now()) < gathered_max) [[likely]]
      return;
    handed_over_ = worked_until_;
    engine_.flush();
  }

  Server& server_;
  Server::Metrics* const metrics_;  // Null: none.
  log::Logger log_{"http.server"};
  io::Loop& loop_;
  io::Engine& engine_;
  Member<io::Accept, Acceptor, &Acceptor::accepted> accept_{*this};
  Member<Timer, Acceptor, &Acceptor::begin> retry_{*this};
  Member<Timer, Acceptor, &Acceptor::stop_accepting> last_call_{*this};
  Member<Timer, Acceptor, &Acceptor::look_for_room> room_{*this};
  Duration grace_ = Duration::forever();
  Limits limits_;  // Of this worker: they change between two of its events.
  std::uint32_t connections_max_;
  int listener_;
  const bool first_;
  bool access_log_;
  bool draining_ = false;
  bool aborting_ = false;
  bool full_ = false;
  bool made_room_ = false;  // Since then: one free place is enough to go on.
  bool closed_ = false;
  List<Connection> connections_;
  List<Upgraded> upgraded_;  // Connections that have left HTTP.
  // Of the ids of all requests here. Their lower halves are of Loop::random(), which does not repeat itself.
  const std::uint64_t trace_high_;
  Arrival arrival_;
  Admission admission_;
  Instant worked_until_;
  Instant handed_over_;
  struct {
    Instant turn;           // In this turn
    bool is_known = false;  // the kernel was asked
    Duration time;          // how long before the turn's harvest a request had come;
    int late = 0;           // so many that were asked about, one after the other, were late,
    int unasked = 0;        // and so many are not asked about.
  } behind_;
  std::vector<std::int64_t> cost_ns_;  // What a request of each route takes of the worker, lately.
  Arena scratch_;                      // Of the request that is being answered at once.
  RequestHead head_;                   // The same.
  Stages stages_;
  struct {
    const Connection* connection = nullptr;  // Whose send is followed,
    Instant began;
    std::uint32_t route = 0;  // of an answer to this.
    int sends = 0;            // Until it is sent: of that connection.
  } writing_;
  Instant date_until_;  // Until then the date is this:
  char ok_and_date_[ok_line_bytes + 6 + date_bytes + 2];
};

}  // namespace keel::http
