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

bool SendQueue::extend(const Transport& transport, Instant now) noexcept {
  const auto seen = static_cast<std::uint32_t>(transport.progress(*this));
  if (seen == sent_seen_) return false;
  sent_seen_ = seen;
  began_ = now;
  return true;
}

std::optional<Instant> SendQueue::next_look(Transport& transport, const Limits& limits, std::uint64_t bytes_max,
                                            Duration pause, Instant now) noexcept {
  const std::uint64_t now_unread = sent_before_ > bytes_max ? unread(transport) : 0;
  if (now_unread <= bytes_max) return std::nullopt;
  const Duration stretch =
      limits.send_rate_min == 0 ? limits.send_timeout : std::min(limits.send_timeout, limits.send_rate_grace);
  const Duration passed = now - rate_began_;
  if (taken_ != 0 && passed >= stretch) {
    const std::uint64_t taken = taken_ - std::min(taken_, now_unread);
    const auto wanted = limits.send_rate_min * static_cast<std::uint64_t>(passed.count_ms());
    if (taken == 0 || taken * 1000 < wanted) return std::nullopt;
    taken_ = 0;
  }
  if (taken_ == 0) {
    taken_ = now_unread;
    rate_began_ = now;
  }
  return now + std::min(pause, stretch);
}

}  // namespace keel::http
