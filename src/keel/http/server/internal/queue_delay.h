// keel/http/server/internal/queue_delay.h — measures how long requests have waited for their worker, and decides which
// requests are rejected for that reason (admission.h).
//
// Internal to http. It also records until what time the worker has worked in this event-loop iteration, and what a
// request of each route costs.
//
// The cost is the time since the previous request, which is known without reading the clock and may include other work
// in between. The value therefore shows only which routes may be costly. A request of such a route is measured from its
// own start, and is rejected only if that measurement confirms that the route is costly.
//
// Threads: the worker.
// Cost:    a few comparisons for each request; a clock read if its route may be costly; a system call if it may also be
//          late.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "keel/base/time.h"
#include "keel/http/server/admission.h"
#include "keel/io/loop.h"

namespace keel::http {

class QueueDelay {
 public:
  // Routes have numbers below `routes`; `loop` outlives this object.
  QueueDelay(io::Loop& loop, std::size_t routes) : loop_(loop), costs_(routes) {}

  // The worker has worked until `now` for a request of `route`, since its start or since the previous request.
  void worked(std::uint32_t route, Instant now) noexcept {
    // The value is limited, so that a single request during which the machine was busy elsewhere does not make a cheap
    // route look costly.
    std::int64_t& lately = costs_[route].begun_ns;
    const std::int64_t cost = since_worked(now);
    lately += (std::min(cost, 2 * lately + 20'000) - lately) >> 3;
  }
  // Records a request whose handler has waited, so that its computing time is unknown. The measured times include other
  // work, so the shortest ones are closest to its own cost: the estimate falls to them quickly, and rises slowly.
  void went_on(std::uint32_t route, Instant now) noexcept;
  // When the last request of this event-loop iteration was done, or was about to begin.
  Instant worked_until() const noexcept { return worked_until_; }

  // Whether requests of the route may be worth rejecting. The threshold is half of the cost at which a route is costly,
  // because a single request whose measurement includes other work does not double the estimate.
  bool may_be_costly(std::uint32_t route) const noexcept { return cost_ns(route) >= admission_cost_min.count_ns() / 2; }
  // A request of a route that may be costly begins: it is measured from now on.
  void begins() noexcept { worked_until_ = loop_.precise_now(); }
  // Whether its route is costly: its requests may be rejected.
  bool is_costly(std::uint32_t route) const noexcept { return cost_ns(route) >= admission_cost_min.count_ns(); }
  // Whether the request for which begins() was called, of a costly route, is rejected because it has waited for more
  // than `most`. It arrived on `fd`. The request's own connection was not ready for it until `since`, so the time
  // before that does not count. `delay` is how long it has waited.
  bool rejects(int fd, Instant since, Duration most, Duration& delay) noexcept;
  bool is_overloaded() const noexcept { return admission_.is_overloaded(); }

 private:
  // The recent cost of a request: until it waited or was complete, and after its last wait.
  struct Cost {
    std::int64_t begun_ns = 0;
    std::int64_t went_on_ns = 0;
  };
  std::int64_t cost_ns(std::uint32_t route) const noexcept { return costs_[route].begun_ns + costs_[route].went_on_ns; }
  std::int64_t since_worked(Instant now) noexcept {
    const Duration time = now - std::max(worked_until_, loop_.now());
    worked_until_ = now;
    return time.count_ns();
  }

  io::Loop& loop_;
  std::vector<Cost> costs_;
  Instant worked_until_;
  Admission admission_;
  struct {
    Instant turn;           // The loop iteration that these values belong to.
    bool is_known = false;  // Whether the kernel was asked in this iteration.
    Duration time;          // How long the sampled request had waited when the iteration's completions were collected.
    int late = 0;           // Consecutive sampled requests that were late.
    int unasked = 0;        // Requests to skip before sampling again.
  } behind_;
};

}  // namespace keel::http
