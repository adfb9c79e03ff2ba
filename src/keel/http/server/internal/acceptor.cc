#include "keel/http/server/internal/acceptor.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "keel/http/server/internal/connection.h"
#include "keel/http/server/internal/server_worker.h"

namespace keel::http {
namespace {

// How long accepting pauses after EMFILE and similar errors.
constexpr Duration retry_pause = 50_ms;
// When a drain begins, new connections are rejected; clients whose handshake has already started may still be accepted
// for this time. The time allows for one round trip, which a connection to a Unix socket does not need.
constexpr Duration last_call = 100_ms;
// The maximum number of connections accepted when last_call has passed: if new connections cannot be rejected, they may
// arrive as fast as they are accepted.
constexpr int waiting_max = 4096;
// The kernel reports at most as many connections together as the completion queue has room for, however many
// connections wait.
constexpr int burst_max = 8192;
// To make room at the limit, only connections that have been idle for this time are closed: if a connection was just
// used, its next request may be on its way.
constexpr Duration idle_min = 1_s;
// A scan for the connections that have been idle longest visits every connection, and reads some cache lines of each.
// Therefore one scan finds up to found_max connections, and after a scan that finds none there is a pause.
constexpr std::uint32_t found_max = 64;
constexpr Duration accept_pause = 100_ms;

constexpr Degradation::Lines exhaustion_lines = {.begins = "cannot accept connections; trying again",
                                                 .goes_on = "still cannot accept connections; trying again",
                                                 .is_over = "accepting connections again"};
constexpr Degradation::Lines fullness_lines = {.begins = "the connection limit is reached; accepting is paused",
                                               .goes_on = "the connection limit is still reached, or was reached again",
                                               .is_over = "the number of connections is below the limit again"};

}  // namespace

Acceptor::Acceptor(ServerWorker& worker, const ListenerPart& listener, std::uint32_t connections_max)
    : worker_(worker),
      exhaustion_(worker.loop(), worker.log(), exhaustion_lines),
      fullness_(worker.loop(), worker.log(), fullness_lines),
      connections_max_(connections_max),
      listener_(listener.fd),
      first_(listener.first) {
  accept_.fd = listener.fd;
  accept_.shared = listener.shared;
}

void Acceptor::begin() {
  if (accept_.pending || listener_ < 0) return;
  accept_.one_by_one = is_near_limit();
  worker_.engine().submit(accept_);
}

bool Acceptor::is_near_limit() const noexcept {
  // A whole queue of connections may be accepted together, so the limit is treated as near if accepting a full queue
  // would reach the limit. While connections are accepted one by one, more room is required before whole queues are
  // accepted again, so that the mode does not change with every connection.
  const auto burst = static_cast<std::uint64_t>(std::clamp(worker_.options().listen.backlog, 1, burst_max));
  return worker_.open_connections() + burst + (accept_.one_by_one ? burst / 8 : 0) >= connections_max_;
}

bool Acceptor::is_full() const noexcept { return worker_.open_connections() >= connections_max_; }

// Near the limit, connections are accepted one by one, because the kernel might report too many of them together. While
// the server drains, the limit is not enforced.
void Acceptor::check_limit() {
  const bool is_near = is_near_limit();
  if (is_near == accept_.one_by_one || draining_) return;
  accept_.one_by_one = is_near;
  if (is_near) worker_.engine().cancel(accept_);
}

void Acceptor::accepted() {
  const std::int32_t result = accept_.result;
  if (result >= 0) {
    if (aborting_) return worker_.engine().close(result);
    worker_.counts.accepted.add();
    Connection::begin(worker_, result);
    if (is_full() && !full_) stop_for_now();
    check_limit();
    return;
  }
  if (draining_) {
    take_waiting();
    return close_listener();
  }
  if (result == -ECANCELED) {
    // check_limit() or stop_for_now() cancelled the operation because of the limit; there may be room for connections
    // now.
    if (!full_) begin();
    return;
  }
  if (io::is_exhaustion(-result)) {
    const bool descriptors = result == -EMFILE || result == -ENFILE;
    (descriptors ? worker_.counts.paused_descriptors : worker_.counts.paused_memory).add();
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    exhaustion_.meet(Error::from_errno("accept", -result),
                     log::field("descriptors_max", static_cast<std::uint64_t>(limit.rlim_cur)));
    worker_.loop().start_timer(retry_, worker_.loop().now() + retry_pause);
    return;
  }
  worker_.log().error("accept failed; the listener is closed", Error::from_errno("accept", -result));
  close_listener();
}

// Above the limit, connections wait in the kernel's queue and are not rejected, because a rejection would cost as much
// as a response.
void Acceptor::stop_for_now() {
  full_ = true;
  worker_.counts.paused_full.add();
  worker_.loop().stop_timer(retry_);
  if (accept_.pending) worker_.engine().cancel(accept_);
  if (!draining_ && make_room()) return;
  fullness_.enter(log::field("connections", worker_.open_connections()));
}

std::uint32_t Acceptor::room() const noexcept { return std::min(connections_max_ / 16, found_max - 1); }

void Acceptor::resume_with_room() {
  if (!full_ || draining_ || worker_.open_connections() >= connections_max_ - (made_room_ ? 0 : room())) return;
  full_ = made_room_ = false;
  fullness_.leave();
  worker_.loop().stop_timer(room_);
  begin();
}

bool Acceptor::make_room() {
  struct Waiting {
    Instant since;
    Connection* connection;
  };
  const auto longer = [](const Waiting& a, const Waiting& b) { return a.since < b.since; };
  Waiting found[found_max];  // A heap; its first element is the connection that has waited for the shortest time.
  std::size_t count = 0;
  const std::uint64_t open = worker_.open_connections();
  const auto wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(open - connections_max_ + 1 + room(), found_max));
  const Instant now = worker_.loop().now();
  // A connection is closed only if its head has been incomplete for at least this time, which is long enough for a lost
  // packet to be sent again.
  const Duration head_min = std::min(idle_min, worker_.limits().header_timeout / 4);
  // The earliest time at which another connection can be closed. A connection that does not wait yet can be closed
  // after head_min at the earliest.
  Instant next = now + head_min;
  worker_.connections().for_each([&](Connection& connection) {
    const std::optional<Connection::Waiting> waiting = connection.waiting();
    if (!waiting) return;
    const Duration least = waiting->in_head ? head_min : idle_min;
    if (now - waiting->since < least) {
      next = std::min(next, waiting->since + least);
      return;
    }
    if (count == wanted) {
      if (waiting->since >= found[0].since) return;
      std::pop_heap(found, found + count--, longer);
    }
    found[count++] = {waiting->since, &connection};
    std::push_heap(found, found + count, longer);
  });
  const bool is_enough = open - count < connections_max_;
  if (!is_enough) {  // Too few connections were found, or the limit was lowered.
    const Instant soon = now + accept_pause;
    worker_.loop().start_timer(room_, count == wanted ? soon : std::max(next, soon));
  }
  if (count != 0) made_room_ = true;
  for (std::size_t i = 0; i < count; ++i) {
    worker_.counts.idle_closed.add();
    found[i].connection->abort();
  }
  return is_enough;
}

void Acceptor::look_for_room() {
  if (is_full()) {
    make_room();
  } else {
    made_room_ = true;
    resume_with_room();
  }
}

void Acceptor::change(std::uint32_t connections_max) {
  connections_max_ = connections_max;
  resume_with_room();
  if (!draining_ && is_full()) {
    if (full_) {
      make_room();
    } else {
      stop_for_now();
    }
  }
  check_limit();
}

void Acceptor::begin_drain(Duration grace, Listening listening) {
  io::Loop& loop = worker_.loop();
  draining_ = true;
  loop.stop_timer(retry_);
  loop.stop_timer(room_);
  exhaustion_.stop();
  fullness_.stop();
  if (listening == Listening::GoesOn) return stop_accepting();
  if (first_ && listener_ >= 0) worker_.engine().turn_away(listener_);
  if (!full_) begin();
  // The listener may be closed already, because accepting has failed before or failed just now.
  if (listener_ >= 0) {
    const bool at_once = worker_.engine().local_address(listener_).is_unix();
    loop.start_timer(last_call_, loop.now() + (at_once ? Duration() : std::min(last_call, grace)));
  }
}

void Acceptor::abort() {
  aborting_ = true;
  worker_.loop().stop_timer(last_call_);
  stop_accepting();
}

void Acceptor::stop_accepting() {
  if (accept_.pending) {
    worker_.engine().cancel(accept_);
  } else {
    close_listener();
  }
}

// Accepts the connections in the kernel's queue. The waiting clients are connected and may have sent requests, and
// closing the listener would reset their connections. Even if other workers listen on the same socket, the kernel
// may have woken only this worker for some of the waiting connections.
void Acceptor::take_waiting() {
  for (int n = 0; n < waiting_max && !aborting_ && worker_.open_connections() < connections_max_; ++n) {
    const int fd = worker_.engine().try_accept(listener_);
    if (fd < 0) return;
    worker_.counts.accepted.add();
    Connection::begin(worker_, fd);
  }
}

void Acceptor::close_listener() {
  if (listener_ < 0) return;
  worker_.loop().stop_timer(last_call_);
  worker_.engine().close(listener_);
  listener_ = -1;
  worker_.check_drained();
}

}  // namespace keel::http
