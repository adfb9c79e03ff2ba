#include "load/generator.h"

#include <algorithm>
#include <cmath>

#include "keel/base/check.h"

namespace keel::load {
namespace {

// The precision of timeouts, of ramps, and of the end of the run.
constexpr Duration tick_time = 20_ms;
constexpr double seconds_max = 86'400;  // The longest series.

}  // namespace

Duration Connections::opens(int index) const noexcept {
  if (index < from || to <= from) return Duration();
  return Duration::nanoseconds(over.count_ns() / (to - from) * (index - from + 1));
}

Generator::Generator(io::Loop& loop, const Mix& mix, const Plan& plan, int thread, Instant begins)
    : loop_(loop),
      mix_(mix),
      plan_(plan),
      thread_(thread),
      begins_(begins),
      measured_from_(begins + plan.warmup),
      measured_to_(begins + plan.warmup + plan.duration),
      random_(plan.seed * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(thread)),
      caches_(mix.requests().size()),
      second_ends_(measured_from_ + 1_s) {
  for (int i = thread; i < plan.connections.to; i += plan.threads) {
    connections_.push_back(std::make_unique<Connection>(*this, plan.depth));
  }
  counts_.seconds.resize(static_cast<std::size_t>(std::min(seconds_max, std::ceil(plan.duration.count_seconds()))));
  if (plan.open) {
    schedule_.emplace(*plan.open, thread, plan.threads);
    advance_due();
  }
  loop_.start_timer(tick_timer_, begins_);
}

Generator::~Generator() {
  KEEL_CHECK(is_finished(), "a generator must have finished before it is destroyed");
  loop_.stop_timer(tick_timer_);
}

Duration Generator::measured() const noexcept { return std::max(Duration(), measured_to_ - measured_from_); }

void Generator::advance_due() noexcept {
  next_due_ = begins_ + schedule_->next();
  if (next_due_ >= measured_to_) next_due_ = Instant::never();
}

bool Generator::send_due() noexcept {
  if (!schedule_ || state_ == State::Ending || state_ == State::Finished) return false;
  const Instant now = loop_.precise_now();
  const bool is_due = next_due_ <= now && !free_.empty();
  while (next_due_ <= now && !free_.empty()) {
    // Requests are given out one at a time, each to the connection that has been idle longest.
    free_.pop_front()->fill(now, 1);
  }
  if (!free_.empty() && !next_due_.is_never()) loop_.start_timer(due_timer_, next_due_);
  return is_due;
}

const Request* Generator::next_request(Instant now, Instant& intended) noexcept {
  if (schedule_) {
    if (next_due_ > now || next_due_.is_never()) return nullptr;
    intended = next_due_;
    advance_due();
  } else {
    if (state_ != State::Running || now >= measured_to_) return nullptr;
    intended = now;
  }
  if (is_measured(intended)) ++counts_.due;
  return &mix_.pick(random_);
}

void Generator::write(const Request& request, Buffer& out, bool closes) {
  const std::uint64_t n =
      numbered_++ * static_cast<std::uint64_t>(plan_.threads) + static_cast<std::uint64_t>(thread_) + 1;
  request.write(out, n, random_, closes, scratch_);
}

Second& Generator::second_at(Instant now) noexcept {
  while (now >= second_ends_ && second_ + 1 < counts_.seconds.size()) {
    ++second_;
    second_ends_ = second_ends_ + 1_s;
  }
  return counts_.seconds[second_];
}

void Generator::responded(const Connection::Outstanding& request, int status, bool has_expected_body) noexcept {
  const Instant now = loop_.now();
  const Duration latency = now - request.intended;
  progress_.responses.add();
  if (latency.count_ns() > progress_.latency_max_ns.load(std::memory_order_relaxed)) {
    progress_.latency_max_ns.store(latency.count_ns(), std::memory_order_relaxed);
  }
  if (is_measured(now)) {
    ++counts_.completed;
    Second& second = second_at(now);
    ++second.responses;
    second.latency_max_ns = std::max(second.latency_max_ns, latency.count_ns());
  }
  ++counts_.by_status[static_cast<std::size_t>(status)];
  const bool is_expected = request.request->check().has_status(status);
  if (!is_measured(request.intended)) return;
  ++counts_.responses;
  ++counts_.by_class[static_cast<std::size_t>(status / 100)];
  counts_.latency.record(latency);
  if (schedule_) counts_.service.record(now - request.sent);
  if (!is_expected) {
    counts_.other_status.record(latency);
    count_error(Failure::Status);
  } else if (!has_expected_body) {
    count_error(Failure::Body);
  }
}

void Generator::count_error(Failure failure) noexcept {
  ++counts_.failures[static_cast<std::size_t>(failure)];
  progress_.errors.add();
  const Instant now = loop_.now();
  if (is_measured(now)) ++second_at(now).errors;
}

void Generator::failed(const Connection::Outstanding& request, Failure failure) noexcept {
  if (is_stopped_) {  // After stop(), a missing response is no failure, so the request is not counted at all.
    if (request.intended >= measured_from_) --counts_.due;
    return;
  }
  if (!is_measured(request.intended)) return;
  const Instant now = loop_.now();
  ++counts_.waiting;
  counts_.latency.record(now - request.intended);
  if (schedule_) counts_.service.record(now - request.sent);
  count_error(failure);
}

void Generator::failed_to_connect() noexcept {
  if (is_measured(loop_.now())) count_error(Failure::Connect);
}

void Generator::opened() noexcept {
  ++counts_.connections;
  progress_.open.add();
}

void Generator::has_room(Connection& connection) noexcept {
  if (!schedule_ || connection.linked()) return;
  free_.push_back(connection);
  if (!due_timer_.is_running() && !next_due_.is_never()) loop_.start_timer(due_timer_, next_due_);
}

void Generator::closed(bool was_open, bool for_good) noexcept {
  if (was_open) progress_.open.subtract();
  if (for_good) --alive_;
  if (state_ == State::Ending && alive_ == 0) {
    loop_.stop_timer(due_timer_);
    // Wakes the loop immediately. Otherwise, if the tick timer ended the run, no further event might follow, and the
    // current iteration would wait forever.
    loop_.start_timer(tick_timer_, loop_.now());
    state_ = State::Finished;
  }
}

void Generator::open_more(Instant now) noexcept {
  for (; begun_ < connections_.size(); ++begun_) {
    const int index = static_cast<int>(begun_) * plan_.threads + thread_;
    if (now < begins_ + plan_.connections.opens(index)) return;
    ++alive_;
    connections_[begun_]->open();
  }
}

bool Generator::is_drained() const noexcept {
  if (!next_due_.is_never()) return false;
  return std::all_of(connections_.begin(), connections_.end(), [](const auto& one) { return one->is_idle(); });
}

void Generator::tick() noexcept {
  if (state_ == State::Finished) return;
  const Instant now = loop_.now();
  if (state_ == State::Running && now >= measured_to_) state_ = State::Draining;
  if (state_ == State::Draining && (is_drained() || now >= measured_to_ + plan_.timeout)) return cut_off();
  if (state_ == State::Running) open_more(now);
  for (std::size_t i = 0; i < begun_; ++i) connections_[i]->check_time(now);
  loop_.start_timer(tick_timer_, now + tick_time);
}

void Generator::stop() noexcept {
  if (state_ == State::Ending || state_ == State::Finished) return;
  measured_to_ = std::clamp(loop_.now(), measured_from_, measured_to_);
  is_stopped_ = true;
  cut_off();
}

void Generator::cut_off() noexcept {
  const Instant now = loop_.now();
  state_ = State::Ending;
  for (; schedule_ && next_due_ < measured_to_ && next_due_ <= now; advance_due()) {
    if (!is_measured(next_due_)) continue;
    ++counts_.due;
    ++counts_.waiting;
    counts_.latency.record(now - next_due_);
    count_error(Failure::Unanswered);
  }
  next_due_ = Instant::never();
  ++alive_;  // Keeps the generator from finishing before all connections have been ended.
  for (std::size_t i = 0; i < begun_; ++i) connections_[i]->end(Failure::Unanswered);
  closed(false, true);
}

}  // namespace keel::load
