#include "keel/http/server/internal/send_queue.h"

namespace keel::http {

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
