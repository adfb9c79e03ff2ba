#include "keel/http/server/internal/queue_delay.h"

#include "keel/io/engine.h"

namespace keel::http {
namespace {

// After several consecutive late requests, up to this many following requests are assumed to be equally late, and the
// kernel is not asked when they arrived: for each of them, asking costs a tenth of what a rejection costs.
constexpr int late_unasked_max = 7;

}  // namespace

void QueueDelay::went_on(std::uint32_t route, Instant now) noexcept {
  std::int64_t& lately = costs_[route].went_on_ns;
  const std::int64_t cost = since_worked(now);
  lately += cost < lately ? (cost - lately) >> 1 : std::min(cost - lately, lately + 4'000) >> 5;
}

bool QueueDelay::rejects(int fd, Instant since, Duration most, Duration& delay) noexcept {
  const Instant turn = loop_.now();
  const Instant now = std::max(worked_until_, turn);
  const Duration in_turn = now - turn;
  // If one harvest leaves completions in the kernel, these have already waited when the next harvest returns them.
  // Linux 6.13 and later leave completions in the kernel, because they return only about 20 completions in one harvest.
  // Requests are processed in the order of their arrival. Therefore a later request has waited no longer than an
  // earlier one, and requests that arrive shortly after a late request are about as late.
  if (behind_.turn != turn) behind_ = {turn, false, Duration(), 0, 0};
  if (in_turn <= most && (!behind_.is_known || in_turn + behind_.time > most)) {
    if (behind_.unasked > 0) {
      --behind_.unasked;
    } else {
      behind_.is_known = true;
      behind_.time = loop_.engine().last_came(fd) - in_turn;
      behind_.late = in_turn + behind_.time > most ? std::min(behind_.late + 1, late_unasked_max + 1) : 0;
      behind_.unasked = std::max(behind_.late - 1, 0);
    }
  }
  delay = std::max(in_turn, std::min(in_turn + behind_.time, now - since));
  return admission_.refuses(turn, now, delay, most);
}

}  // namespace keel::http
