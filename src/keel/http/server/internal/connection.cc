#include "keel/http/server/internal/connection.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "keel/base/pool.h"
#include "keel/http/server/internal/acceptor.h"
#include "keel/http/server/internal/answer.h"
#include "keel/http/server/internal/exchange.h"
#include "keel/http/server/internal/upgraded.h"

namespace keel::http {
namespace {

// How many requests of one connection are answered before the others have their turn.
constexpr int requests_per_turn = 64;
// Of Limits::linger_time_max, when the server drains.
constexpr Duration linger_in_drain = 1_s;
constexpr const char* late_body = "the body did not arrive in time";
// What may follow a request that is being answered is read up to this.
constexpr std::size_t ahead_bytes_max = 16 * 1024;

// Of a head that is not whole, or not one: whether its answer has no content.
bool asks_for_head(std::string_view text) noexcept {
  if (text.starts_with("\r\n")) text.remove_prefix(2);  // As the parser does.
  return text.starts_with("HEAD ");
}

}  // namespace

struct Connection::Partial {
  static void free(Partial* partial) noexcept { pool_free(partial, sizeof(Partial)); }
  RequestHead head;
  HeadLimits limits;
};

// With what the heap adds, and the engine has of its descriptor, half a kilobyte at most when it is idle.
static_assert(sizeof(Connection) <= 448);

void Connection::begin(Acceptor& acceptor, int fd) {
  void* memory = nullptr;
  try {
    memory = pool_allocate(sizeof(Connection));
  } catch (const std::bad_alloc&) {
    acceptor.log_.warn("no memory for a connection, it is closed");
    return acceptor.engine_.close(fd);
  }
  auto* connection = new (memory) Connection(acceptor, fd);
  acceptor.connections_.push_back(*connection);
  acceptor.tally.connections.add();
  acceptor.engine_.submit(connection->receive_);
  connection->watch();
}

Connection::Connection(Acceptor& acceptor, int fd) : acceptor_(acceptor), began_(acceptor.loop_.now()) {
  receive_.fd = fd;
  send_.fd = fd;
}

Connection::~Connection() {
  acceptor_.end_write(*this, false);
  free_partial();
  if (exchange_ != nullptr) free_exchange();
  if (upgraded_ != nullptr) Upgraded::free(upgraded_);
}

void Connection::free_partial() noexcept {
  if (partial_ != nullptr) Partial::free(std::exchange(partial_, nullptr));
}

// --- what comes in -------------------------------------------------------------------------------------------------

void Connection::received() {
  const std::int32_t result = receive_.result;
  if (result > 0) {
    if (phase_ == Phase::Head) [[likely]]
      return take({receive_.data, static_cast<std::size_t>(result)});
    if (phase_ == Phase::Ending) return;
    if (phase_ == Phase::Upgrading) return in_.append({receive_.data, static_cast<std::size_t>(result)});
    if (phase_ == Phase::Lingering) {
      began_ = acceptor_.loop_.now();
      return;
    }
    if (exchange_ != nullptr && exchange_->streams_in && !exchange_->reader.is_over()) {
      if (phase_ != Phase::Discarding) return body_arrived();
      return discard({receive_.data, static_cast<std::size_t>(result)});
    }
    take({receive_.data, static_cast<std::size_t>(result)});
    return;
  }
  if (phase_ == Phase::Upgrading && result == -ECANCELED) return settle();
  peer_done_ = true;
  if (phase_ == Phase::Ending) {
    free_if_quiet();
  } else if (result < 0 || phase_ == Phase::Lingering) {
    end();
  } else {
    if (phase_ == Phase::Body) {
      // This request will never be whole; answers to earlier ones may still be on their way.
      record_cut(Cut::Body);
      free_exchange();
      phase_ = Phase::Head;
    } else if (exchange_ != nullptr && exchange_->streams_in && !exchange_->reader.is_over()) {
      phase_ == Phase::Discarding ? give_up_body() : lose_body();
    }
    if (phase_ == Phase::Streaming) began_ = acceptor_.loop_.now();
    settle();
  }
}

// Its buffers may be incomplete: nothing is sent.
void Connection::out_of_memory() noexcept {
  acceptor_.log_.warn("no memory for a request, its connection is closed");
  end();
}

void Connection::take(std::string_view bytes) {
  if (phase_ == Phase::Body) bytes = feed_body(bytes);
  if (!bytes.empty()) {
    if (in_.empty() && !close_) {
      in_.append(process(bytes));
    } else {
      in_.append(bytes);
      kept_ready_ = true;
      if (can_process()) process_kept();
    }
  }
  settle();
}

void Connection::process_kept() {
  kept_ready_ = false;
  const std::string_view rest = process(in_.view());
  in_.consume(in_.size() - rest.size());
  if (in_.empty()) in_.release();
}

// The connection's next share of the worker.
void Connection::go_on() {
  yields_ = false;
  if (phase_ == Phase::Ending) return free_if_quiet();
  if (can_process()) process_kept();
  settle();
}

bool Connection::can_process() const noexcept {
  // One branch for what hardly ever holds.
  const unsigned held_up =
      static_cast<unsigned>(phase_) | static_cast<unsigned>(close_) | static_cast<unsigned>(yields_);
  static_assert(Phase::Head == Phase());
  return (held_up | large_.size()) == 0 && out_.size() < acceptor_.limits().pipeline_bytes_max;
}

// Takes whole requests off the front of `rest` and answers them; returns what has to be kept.
std::string_view Connection::process(std::string_view rest) {
  for (int answered = 0; !rest.empty(); ++answered) {
    if (answered == requests_per_turn && can_process()) {
      yields_ = true;
      acceptor_.loop_.post(turn_);
    }
    if (!can_process()) {
      if (close_) return {};  // Nothing behind a last request is looked at.
      kept_ready_ = true;
      return rest;
    }
    RequestHead* head = &acceptor_.head_;
    StageClock* const clock = acceptor_.stages_.begin();
    HeadResult result;
    {
      const StageTimer timer(Stage::Parse, clock);
      if (partial_ == nullptr) [[likely]] {
        result = parse_head(rest, acceptor_.limits().head, *head);
      } else {
        head = &partial_->head;
        result = resume_head(rest, partial_->limits, *head);
      }
    }
    if (result.state != HeadState::Complete) [[unlikely]] {
      if (result.state == HeadState::Refused) {
        refuse_and_close(result.status, result.reason, asks_for_head(rest));
        return {};
      }
      acceptor_.stages_.take_back();
      if (partial_ == nullptr) {
        partial_ = new (pool_allocate(sizeof(Partial))) Partial{*head, acceptor_.limits().head};
        began_ = acceptor_.loop_.now();
      }
      return rest;
    }
    rest = begin_request(*head, rest, result.consumed, clock);
    if (partial_ != nullptr) [[unlikely]]
      free_partial();
  }
  return rest;
}

// --- what goes out -------------------------------------------------------------------------------------------------

void Connection::flush() {
  while (!send_.pending && !out_.empty() && phase_ != Phase::Ending) {
    flight_ = std::move(out_);
    parts_[0] = {flight_.data(), flight_.size()};
    parts_[1] = {large_.data(), large_.size()};
    send_.parts = parts_;
    send_.part_count = large_.empty() ? 1 : 2;
    large_flies_ = !large_.empty();
    send_began_ = rate_began_ = acceptor_.loop_.now();
    sent_seen_ = 0;
    taken_ = 0;
    if (!acceptor_.engine_.submit(send_)) return acceptor_.hand_over();
    finish_send();
  }
}

void Connection::sent() {
  if (phase_ == Phase::Ending) {
    free_if_quiet();
    return;
  }
  finish_send();
  settle();
}

// After a send: what it sent is given back; a failed one is the end (the caller looks at phase_).
void Connection::finish_send() {
  flight_.release();
  acceptor_.end_write(*this, send_.result >= 0);
  if (std::exchange(large_flies_, false)) large_.release();
  if (send_.result < 0) {
    acceptor_.tally.aborted.add();
    record_cut();
    phase_ = Phase::Ending;
  }
  // The idle time begins with the end of the answer, or of what there is of it.
  if ((phase_ == Phase::Head && partial_ == nullptr) || phase_ == Phase::Streaming) began_ = acceptor_.loop_.now();
}

inline bool Connection::wants_bytes() const noexcept {
  switch (phase_) {
    case Phase::Head:
      return can_process();
    case Phase::Body:
    case Phase::Discarding:
      return true;
    case Phase::Handling:
    case Phase::Streaming:
      if (!exchange_->streams_in) return in_.size() < ahead_bytes_max;
      if (!exchange_->reader.is_over()) return exchange_->reader.is_waited_for();
      return exchange_->reader.left_over().empty() && in_.size() < ahead_bytes_max;
    case Phase::Upgrading:
    case Phase::Lingering:
    case Phase::Ending:
      break;
  }
  return false;
}

void Connection::settle() {
  for (int begun = 0;;) {
    if (exchange_ != nullptr && exchange_->is_due) {
      if (++begun == requests_per_turn && !yields_) {
        yields_ = true;
        acceptor_.loop_.post(turn_);
      }
      run_due();
    } else if (kept_ready_ && can_process()) {
      process_kept();
    } else {
      flush();
      if (phase_ == Phase::Ending) return end();
      if (!kept_ready_ || !can_process()) break;
    }
  }
  if (phase_ == Phase::Upgrading) return go_on_upgrading();
  if (phase_ == Phase::Head && !send_.pending && out_.empty() && !yields_) {
    if (close_) return linger_or_end();
    if (peer_done_) return end();
  }
  // While nothing more can be answered, nothing more is read: the peer is slowed down.
  const bool reads = wants_bytes();
  if (reads && receive_.paused) acceptor_.engine_.resume(receive_);
  if (!reads && !receive_.paused && receive_.pending) acceptor_.engine_.pause(receive_);
  watch();
  if (phase_ == Phase::Streaming) go_on_writing();
}

// A peer that is still writing would lose the answer to a reset: stop writing, and read on for a while.
void Connection::linger_or_end() {
  if (peer_done_ || peer_closes_) return end();
  acceptor_.engine_.shutdown_write(receive_.fd);
  phase_ = Phase::Lingering;
  began_ = send_began_ = acceptor_.loop_.now();
  in_.release();
  if (receive_.paused) acceptor_.engine_.resume(receive_);
  watch();
}

// --- time and the end ----------------------------------------------------------------------------------------------

// By when the peer has to have taken something of what is sent, or a rate is looked at.
inline Instant Connection::send_deadline() const noexcept {
  const Limits& limits = acceptor_.limits();
  if (!send_.pending) return Instant::never();
  const Instant at = send_began_ + limits.send_timeout;
  return limits.send_rate_min == 0 ? at : std::min(at, rate_began_ + limits.send_rate_grace);
}

inline Instant Connection::deadline() const noexcept {
  const Limits& limits = acceptor_.limits();
  const Instant at = send_deadline();
  switch (phase_) {
    case Phase::Head:
      if (partial_ != nullptr) return std::min(at, began_ + limits.header_timeout);
      if (send_.pending) return at;
      return began_ + (acceptor_.draining_ ? std::min(acceptor_.grace_, limits.idle_timeout) : limits.idle_timeout);
    case Phase::Body:
      return std::min(at, body_deadline());
    case Phase::Handling:
      return std::min({at, exchange_->until, exchange_->reader.is_waited_for() ? body_deadline() : Instant::never()});
    case Phase::Streaming:
      // Only what is sent to a peer that has finished shows whether it is still there.
      if (peer_done_ && !send_.pending) return began_ + limits.idle_timeout;
      return exchange_->reader.is_waited_for() ? std::min(at, body_deadline()) : at;
    case Phase::Discarding:
      return std::min(at, exchange_->until);
    case Phase::Upgrading:
      return at;
    case Phase::Lingering:
      return std::min(began_ + limits.linger_timeout,
                      send_began_ + (acceptor_.draining_ ? std::min(linger_in_drain, limits.linger_time_max)
                                                         : limits.linger_time_max));
    case Phase::Ending:
      break;  // What was cancelled comes back by itself; a timer would outlive the connection.
  }
  return Instant::never();
}

// Asked once in each stretch of a send that waits. What the peer has acknowledged counts, not what this kernel has
// taken of us: it takes megabytes, at once and then in large steps.
bool Connection::takes_too_little() {
  const Instant now = acceptor_.loop_.now();
  const auto acknowledged = acceptor_.engine_.acknowledged(send_.fd);
  const std::uint64_t before = std::exchange(taken_, acknowledged ? *acknowledged + 1 : 0);
  const Duration stretch = now - std::exchange(rate_began_, now);
  if (before == 0 || taken_ == 0) return false;
  const auto wanted = acceptor_.limits().send_rate_min * static_cast<std::uint64_t>(stretch.count_ms());
  return (taken_ - before) * 1000 < wanted;
}

// The timer is moved only when it would ring too late; when it rings too early it is set again. A busy connection
// therefore does not touch the wheel.
void Connection::watch() {
  const Instant at = deadline();
  if (at.is_never()) return;
  if (!timer_.is_running() || at < timer_.at) acceptor_.loop_.start_timer(timer_, at);
}

void Connection::timed_out() {
  if (acceptor_.loop_.now() < deadline()) return watch();
  const Limits& limits = acceptor_.limits();
  if (send_.pending && limits.send_rate_min != 0 && acceptor_.loop_.now() >= rate_began_ + limits.send_rate_grace) {
    if (takes_too_little()) return cut_slow_reader();
    if (acceptor_.loop_.now() < deadline()) return watch();
  }
  const bool send_is_late = send_.pending && acceptor_.loop_.now() >= send_began_ + limits.send_timeout;
  if (send_is_late && send_.sent != sent_seen_) {
    // Slowly, but it takes what is sent.
    sent_seen_ = send_.sent;
    send_began_ = acceptor_.loop_.now();
    return watch();
  }
  acceptor_.tally.timeouts.add();
  if (send_is_late) return end();
  const bool has_task = phase_ == Phase::Handling || phase_ == Phase::Streaming;
  if (has_task && exchange_->reader.is_waited_for() && acceptor_.loop_.now() >= body_deadline()) {
    exchange_->reader.refuse(Status::RequestTimeout, late_body);
    return wake_reader();
  }
  if (phase_ == Phase::Handling) return exchange_->stop(Code::DeadlineExceeded);
  if (phase_ == Phase::Body || (phase_ == Phase::Head && partial_ != nullptr)) {
    const bool in_body = phase_ == Phase::Body;
    const bool head_only = in_body ? exchange_->head.method() == Method::Head : asks_for_head(in_.view());
    if (in_body) free_exchange();
    refuse_and_close(Status::RequestTimeout, "the request did not arrive in time", head_only);
    return settle();
  }
  end();
}

// Reset: what the kernel holds for it would stay there for as long as it likes.
void Connection::cut_slow_reader() {
  acceptor_.tally.timeouts.add();
  acceptor_.tally.slow_readers.add();
  acceptor_.log_.info("a client takes its answer too slowly, it is cut", log::field("sent", send_.sent));
  static_cast<void>(acceptor_.engine_.set_options(send_.fd, {.reset_on_close = true}));
  end();
}

std::optional<Instant> Connection::idle_since() const noexcept {
  if (phase_ == Phase::Lingering) return began_;
  const bool is_between = phase_ == Phase::Head && partial_ == nullptr && !send_.pending && !close_ && !yields_;
  if (!is_between || !in_.empty() || !out_.empty()) return std::nullopt;
  return began_;
}

void Connection::begin_drain() {
  if (phase_ == Phase::Head && partial_ == nullptr) began_ = acceptor_.loop_.now();
  watch();
}

void Connection::end() {
  if (phase_ != Phase::Ending &&
      (!out_.empty() || send_.pending || phase_ == Phase::Handling || phase_ == Phase::Streaming)) {
    acceptor_.tally.aborted.add();
  }
  record_cut();
  phase_ = Phase::Ending;
  acceptor_.loop_.stop_timer(timer_);
  acceptor_.engine_.cancel(receive_);
  acceptor_.engine_.cancel(send_);
  if (exchange_ != nullptr) exchange_->is_running() ? exchange_->stop(Code::Cancelled) : free_exchange();
  free_if_quiet();
}

void Connection::free_if_quiet() {
  if (receive_.pending || send_.pending || exchange_ != nullptr || yields_) return;
  acceptor_.engine_.close(receive_.fd);
  Acceptor& acceptor = acceptor_;
  unlink();
  this->~Connection();
  pool_free(this, sizeof(Connection));
  acceptor.ended();
}

}  // namespace keel::http
