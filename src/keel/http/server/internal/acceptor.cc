#include "keel/http/server/internal/acceptor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/http/server/internal/server_metrics.h"
#include "keel/http/server/internal/server_state.h"

namespace keel::http {
namespace {

// After EMFILE and its like: how long to leave the listener alone.
constexpr Duration retry_pause = 50_ms;
// When draining: how long those have who have begun to connect when newcomers are turned away. A round trip; connecting
// to a Unix socket takes none.
constexpr Duration last_call = 100_ms;
// And how many are taken at its end: where newcomers cannot be turned away they may be coming as fast as they are
// taken.
constexpr int waiting_max = 4096;
// However long its queue, the kernel brings no more connections at once than there is room for completions.
constexpr int burst_max = 8192;
// At the limit, how long a connection has been idle that is closed for newcomers: one that was just used may be used
// again, and its next request may be on its way.
constexpr Duration idle_min = 1_s;
// To find those that have been idle longest all are looked at, some cache lines of each: so many are found at once, and
// this is how often that is done in vain.
constexpr std::uint32_t found_max = 64;
constexpr Duration look_pause = 100_ms;
// Of requests that come late one after the other, how many are taken to be as late as one before them was: to ask the
// kernel costs a tenth of a refusal.
constexpr int late_unasked_max = 7;

}  // namespace

Acceptor::Acceptor(Server& server, io::Loop& loop, const Listener& listener, std::uint32_t connections_max,
                   std::size_t body_bytes_max)
    : server_(server),
      metrics_(server.state_->metrics.get()),
      loop_(loop),
      engine_(loop.engine()),
      limits_(server.options_.limits),
      connections_max_(connections_max),
      listener_(listener.fd),
      first_(listener.first),
      access_log_(server.options_.access_log),
      trace_high_(Host::current().random()),
      stages_(server.router_.routes().size() + 1, server.options_.server_timing ? 1 : server.options_.measured_every) {
  arrival_ = {&engine_, server.options_.trusted_proxies};
  cost_ns_.resize(server.router_.routes().size() + 1);
  accept_.fd = listener.fd;
  accept_.shared = listener.shared;
  tally.connections_max.set(connections_max);
  tally.body_bytes_max.set(body_bytes_max);
}

Acceptor::~Acceptor() {
  KEEL_CHECK(connections_.empty() && upgraded_.empty() && listener_ < 0,
             "an acceptor has ended its connections before it is destroyed");
}

void Acceptor::begin() {
  if (accept_.pending || listener_ < 0) return;
  accept_.one_by_one = is_near_limit();
  engine_.submit(accept_);
}

bool Acceptor::is_near_limit() const noexcept {
  // A whole queue may come at once. Back only some way below, so that it does not change with every connection.
  const auto burst = static_cast<std::uint64_t>(std::clamp(server_.options_.listen.backlog, 1, burst_max));
  return tally.connections.get() + burst + (accept_.one_by_one ? burst / 8 : 0) >= connections_max_;
}

// Near the limit the kernel might bring too many at once. At the end of a drain's last call it does not matter.
void Acceptor::look_at_limit() {
  const bool is_near = is_near_limit();
  if (is_near == accept_.one_by_one || draining_) return;
  accept_.one_by_one = is_near;
  if (is_near) engine_.cancel(accept_);
}

void Acceptor::accepted() {
  const std::int32_t result = accept_.result;
  if (result >= 0) {
    if (aborting_) return engine_.close(result);
    tally.accepted.add();
    Connection::begin(*this, result);
    if (tally.connections.get() >= connections_max_ && !full_) stop_for_now();
    look_at_limit();
    return;
  }
  if (draining_) {
    take_waiting();
    return close_listener();
  }
  if (result == -ECANCELED) {
    // For there were too many; perhaps there no longer are.
    if (!full_) begin();
    return;
  }
  if (io::is_exhaustion(-result)) {
    const bool descriptors = result == -EMFILE || result == -ENFILE;
    (descriptors ? tally.paused_descriptors : tally.paused_memory).add();
    log_.warn("cannot accept, trying again soon", Error::from_errno("accept", -result));
    loop_.start_timer(retry_, loop_.now() + retry_pause);
    return;
  }
  log_.error("accept failed, the listener is closed", Error::from_errno("accept", -result));
  close_listener();
}

// A refusal would cost as much as an answer: above the limit connections wait in the kernel's queue.
void Acceptor::stop_for_now() {
  full_ = true;
  tally.paused_full.add();
  loop_.stop_timer(retry_);
  if (accept_.pending) engine_.cancel(accept_);
  if (!draining_ && make_room()) return;
  log_.warn("connection limit reached, not accepting", log::field("worker", loop_.index()),
            log::field("connections", tally.connections.get()));
}

std::uint32_t Acceptor::room() const noexcept { return std::min(connections_max_ / 16, found_max - 1); }

void Acceptor::resume_with_room() {
  if (!full_ || draining_ || tally.connections.get() >= connections_max_ - (made_room_ ? 0 : room())) return;
  full_ = made_room_ = false;
  loop_.stop_timer(room_);
  begin();
}

bool Acceptor::make_room() {
  struct Idle {
    Instant since;
    Connection* connection;
  };
  const auto longer = [](const Idle& a, const Idle& b) { return a.since < b.since; };
  Idle found[found_max];  // A heap: the one that has been idle shortest is the first.
  std::size_t count = 0;
  const auto wanted = static_cast<std::size_t>(
      std::min<std::uint64_t>(tally.connections.get() - connections_max_ + 1 + room(), found_max));
  const Instant now = loop_.now();
  Instant next = now + idle_min;  // Who is not idle yet is not closed before.
  connections_.for_each([&](Connection& connection) {
    const std::optional<Instant> since = connection.idle_since();
    if (!since) return;
    if (now - *since < idle_min) {
      next = std::min(next, *since + idle_min);
      return;
    }
    if (count == wanted) {
      if (*since >= found[0].since) return;
      std::pop_heap(found, found + count--, longer);
    }
    found[count++] = {*since, &connection};
    std::push_heap(found, found + count, longer);
  });
  if (count == 0) {
    loop_.start_timer(room_, std::max(next, now + look_pause));
    return false;
  }
  made_room_ = true;
  for (std::size_t i = 0; i < count; ++i) {
    tally.idle_closed.add();
    found[i].connection->end();
  }
  return true;
}

void Acceptor::look_for_room() {
  if (tally.connections.get() >= connections_max_) {
    make_room();
  } else {
    made_room_ = true;
    resume_with_room();
  }
}

void Acceptor::change(const Limits& limits, bool access_log, std::uint32_t connections_max,
                      std::size_t body_bytes_max) {
  tally.connections_max.set(connections_max);
  tally.body_bytes_max.set(body_bytes_max);
  limits_ = limits;
  access_log_ = access_log;
  connections_max_ = connections_max;
  resume_with_room();
  if (!full_ && !draining_ && tally.connections.get() >= connections_max_) stop_for_now();
  look_at_limit();
}

void Acceptor::begin_drain(Duration grace, Listening listening) {
  if (draining_) return;
  draining_ = true;
  grace_ = grace;
  loop_.stop_timer(retry_);
  loop_.stop_timer(room_);
  if (listening == Listening::GoesOn) {
    stop_accepting();
  } else {
    if (first_ && listener_ >= 0) engine_.turn_away(listener_);
    if (!full_) begin();
    // It may have been closed, for accepting had failed, or fails now.
    if (listener_ >= 0) {
      const bool at_once = engine_.local_address(listener_).is_unix();
      loop_.start_timer(last_call_, loop_.now() + (at_once ? Duration() : std::min(last_call, grace)));
    }
  }
  connections_.for_each([](Connection& connection) { connection.begin_drain(); });
  upgraded_.for_each([](Upgraded& upgraded) { upgraded.stop(); });
  check_drained();
}

void Acceptor::abort_all() {
  aborting_ = true;
  begin_drain(Duration(), Listening::GoesOn);  // At once; the socket may be somebody else's, too.
  loop_.stop_timer(last_call_);
  stop_accepting();
  connections_.for_each([](Connection& connection) { connection.end(); });
}

void Acceptor::stop_accepting() {
  if (accept_.pending) {
    engine_.cancel(accept_);
  } else {
    close_listener();
  }
}

// Their clients have connected and may have sent a request: closing the listener would reset them. Where others listen
// on the same socket, some may have waked us and nobody else.
void Acceptor::take_waiting() {
  for (int n = 0; n < waiting_max && !aborting_ && tally.connections.get() < connections_max_; ++n) {
    const int fd = engine_.try_accept(listener_);
    if (fd < 0) return;
    tally.accepted.add();
    Connection::begin(*this, fd);
  }
}

void Acceptor::close_listener() {
  if (listener_ < 0) return;
  loop_.stop_timer(last_call_);
  engine_.close(listener_);
  listener_ = -1;
  check_drained();
}

void Acceptor::ended() {
  tally.connections.subtract();
  resume_with_room();
  check_drained();
}

void Acceptor::check_drained() {
  if (closed_ || !draining_ || listener_ >= 0 || !connections_.empty() || !upgraded_.empty()) return;
  closed_ = true;
  // From here on it may be destroyed.
  loop_.stop_timer(last_call_);
  loop_.stop_timer(retry_);
  scratch_.release();
  server_.state_->open_acceptors.fetch_sub(1, std::memory_order_acq_rel);
  server_.state_->open_acceptors.notify_all();
}

void Acceptor::write_date() noexcept {
  const std::int64_t wall = loop_.wall_ns();
  char* const date = ok_and_date_ + ok_line_bytes;
  std::memcpy(ok_and_date_, status_line(Status::Ok).data(), ok_line_bytes);
  std::memcpy(date, "Date: ", 6);
  std::memcpy(format_date(wall / 1'000'000'000, date + 6), "\r\n", 2);
  // The calendar may be set: it is looked at ten times a second.
  const auto left = Duration::nanoseconds(1'000'000'000 - wall % 1'000'000'000);
  date_until_ = loop_.now() + std::min(left, 100_ms);
}

bool Acceptor::refuses_late(int fd, Instant since) noexcept {
  const bool was = admission_.is_overloaded();
  const Instant turn = loop_.now();
  const Instant now = std::max(worked_until_, turn);
  const Duration in_turn = now - turn;
  const Duration most = limits_.queue_delay_max;
  // What a harvest leaves in the kernel has waited already when the next one brings it: Linux 6.13 and later give some
  // 20 completions at once. They come in the order in which they arrived: what the kernel says of one bounds the delay
  // of those behind it, and those close behind one that is late are as late.
  if (behind_.turn != turn) behind_ = {turn, false, Duration(), 0, 0};
  if (in_turn <= most && (!behind_.is_known || in_turn + behind_.time > most)) {
    if (behind_.unasked > 0) {
      --behind_.unasked;
    } else {
      behind_.is_known = true;
      behind_.time = engine_.last_came(fd) - in_turn;
      behind_.late = in_turn + behind_.time > most ? std::min(behind_.late + 1, late_unasked_max + 1) : 0;
      behind_.unasked = std::max(behind_.late - 1, 0);
    }
  }
  const Duration delay = std::max(in_turn, std::min(in_turn + behind_.time, now - since));
  const bool refuses = admission_.refuses(turn, now, delay, most);
  if (was != admission_.is_overloaded()) {
    if (was) {
      log_.info("no longer overloaded", log::field("worker", loop_.index()),
                log::field("refused", tally.overloaded.get()));
    } else {
      log_.warn("overloaded, refusing what comes too late", log::field("worker", loop_.index()),
                log::field("delay", delay));
    }
  }
  return refuses;
}

void Acceptor::count_stages(std::uint32_t route, const StageClock& clock) {
  stages_.add(route, clock);
  if (metrics_ != nullptr) metrics_->count_stages(clock);
}
void Acceptor::begin_write(const Connection& connection, std::uint32_t route, bool behind_another) {
  if (writing_.connection != nullptr) return;
  writing_ = {&connection, loop_.precise_now(), route, behind_another ? 2 : 1};
}
void Acceptor::end_own_write(bool is_sent) {
  if (is_sent && --writing_.sends != 0) return;
  writing_.connection = nullptr;
  if (!is_sent) return;
  const Duration took = loop_.precise_now() - writing_.began;
  stages_.add_write(writing_.route, took);
  if (metrics_ != nullptr) metrics_->count_write(took);
}
void Acceptor::count_refused(Status status) {
  if (metrics_ != nullptr) metrics_->count_refused(status);
}
void Acceptor::count_cut(Cut during) {
  if (metrics_ != nullptr) metrics_->cut[static_cast<std::size_t>(during)].add();
}

}  // namespace keel::http
