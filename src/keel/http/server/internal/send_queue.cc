#include "keel/http/server/internal/send_queue.h"

namespace keel::http {

bool SendQueue::begin(Transport& transport, Instant now) {
  flight_ = std::move(waiting_);
  parts_[0] = {flight_.data(), flight_.size()};
  parts_[1] = {attached_.empty() ? nullptr : attached_.data(), attached_.size()};
  parts = parts_;
  part_count = attached_.empty() ? 1 : 2;
  began_ = rate_began_ = now;
  sent_seen_ = 0;
  taken_ = 0;
  return transport.send(*this);
}

bool SendQueue::finish() noexcept {
  flight_.release();
  if (std::exchange(parts_[1].iov_base, nullptr) != nullptr) attached_.release();
  return result >= 0;
}

bool SendQueue::takes_too_little(Transport& transport, const Limits& limits, Instant now) noexcept {
  const auto acknowledged = transport.acknowledged();
  const std::uint64_t before = std::exchange(taken_, acknowledged ? *acknowledged + 1 : 0);
  const Duration stretch = now - std::exchange(rate_began_, now);
  if (before == 0 || taken_ == 0) return false;
  const auto wanted = limits.send_rate_min * static_cast<std::uint64_t>(stretch.count_ms());
  return (taken_ - before) * 1000 < wanted;
}

bool SendQueue::extend(Instant now) noexcept {
  if (sent == sent_seen_) return false;
  sent_seen_ = sent;
  began_ = now;
  return true;
}

}  // namespace keel::http
