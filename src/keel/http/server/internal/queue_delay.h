// keel/http/server/internal/queue_delay.h — measures how long requests have waited for their worker, and decides which
// requests are rejected because they waited too long (admission.h).
//
// Internal to http. A QueueDelay also records the time until which the worker has been busy in this event-loop
// iteration, and the computing time that a request of each route costs.
//
// The cost of a request is measured as the time since the end of the previous request; this time is known without
// another clock read, but may include other work. Therefore the value shows only which routes may be costly. If a route
// may be costly, each of its requests is measured from the request's own start; a request is rejected only if these
// measurements confirm that the route is costly.
//
// Threads: the worker.
// Cost:    a few comparisons for each request; a clock read if its route may be costly; and a system call if the
//          request may also be late.

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
  // Every route number must be less than `routes`; `loop` must outlive this object.
  QueueDelay(io::Loop& loop, std::size_t routes) : loop_(loop), costs_(routes) {}

  // Records the work on a request of `route`; the work ended at `now`. The work began at the call of begins() or, if
  // there was none, at the end of the previous request.
  void worked(std::uint32_t route, Instant now) noexcept {
    // The measured cost is limited, so that one request during which the machine was busy with something else does not
    // make a cheap route look costly.
    std::int64_t& lately = costs_[route].begun_ns;
    const std::int64_t cost = since_worked(now);
    lately += (std::min(cost, 2 * lately + 20'000) - lately) >> 3;
  }
  // Records a request whose handler has waited: the time since the previous request covers only the work after the
  // wait. The measured times include other work, so the shortest times are closest to the request's own cost. Therefore
  // the estimate falls quickly and rises slowly.
  void went_on(std::uint32_t route, Instant now) noexcept;
  // The time at which the work on the last request of this event-loop iteration ended, or at which the work on the next
  // request began.
  Instant worked_until() const noexcept { return worked_until_; }

  // Whether requests of this route may be costly enough to be worth rejecting. The threshold is half of
  // admission_cost_min, because a single measurement that includes other work cannot double the estimate.
  bool may_be_costly(std::uint32_t route) const noexcept { return cost_ns(route) >= admission_cost_min.count_ns() / 2; }
  // Call this function when a request of a route that may be costly begins: the request is measured from this time.
  void begins() noexcept { worked_until_ = loop_.precise_now(); }
  // Whether the route is costly, so that its requests may be rejected.
  bool is_costly(std::uint32_t route) const noexcept { return cost_ns(route) >= admission_cost_min.count_ns(); }
  // Whether a request is rejected because it has waited for more than `most`. Call this function only after begins(),
  // and only for a request of a costly route. The request arrived on `fd`. The time before `since` is not counted as
  // waiting, because the request's own connection was not ready for the request until then. `delay` is set to the time
  // that the request has waited.
  bool rejects(int fd, Instant since, Duration most, Duration& delay) noexcept;
  bool is_overloaded() const noexcept { return admission_.is_overloaded(); }

 private:
  // The recent cost of a request: the work until its handler waited or was complete, and the work after the handler's
  // last wait.
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
    Instant turn;           // The event-loop iteration to which the values of this struct belong.
    bool is_known = false;  // Whether the kernel was asked in this event-loop iteration.
    // How long the sampled request had waited when the completions of this iteration were collected.
    Duration time;
    int late = 0;     // The number of consecutive sampled requests that were late.
    int unasked = 0;  // The number of requests for which the kernel is not asked before the next sample.
  } behind_;
};

}  // namespace keel::http
