// keel/http/server/internal/queue_delay.h — how long requests have waited for their worker, and which are rejected for
// it (admission.h).
//
// Internal to http. It also keeps until when the worker has worked in this event-loop iteration, and what a request of
// each route takes of it.
//
// Threads: the worker.  Cost: a few comparisons for each request; a system call where requests may have come late.

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
  // Routes are numbered below `routes`; `loop` outlives this.
  QueueDelay(io::Loop& loop, std::size_t routes) : loop_(loop), cost_ns_(routes) {}

  // Everything until `now` has been done for a request of `route`.
  void worked(std::uint32_t route, Instant now) noexcept {
    // Bounded, so that one request in which the machine was busy elsewhere does not make a cheap route costly.
    std::int64_t& lately = cost_ns_[route];
    const std::int64_t cost = (now - std::max(worked_until_, loop_.now())).count_ns();
    worked_until_ = now;
    lately += (std::min(cost, 2 * lately + 20'000) - lately) >> 3;
  }
  // When the last request of this event-loop iteration was done.
  Instant worked_until() const noexcept { return worked_until_; }

  // Whether requests of the route are worth rejecting.
  bool is_costly(std::uint32_t route) const noexcept { return cost_ns_[route] >= admission_cost_min.count_ns(); }
  // Whether a request that came on `fd` is rejected because it has waited for more than `most`. Its own connection was
  // not ready for it until `since`, which is nobody's delay. `delay` is how long it has waited.
  bool rejects(int fd, Instant since, Duration most, Duration& delay) noexcept;
  bool is_overloaded() const noexcept { return admission_.is_overloaded(); }

 private:
  io::Loop& loop_;
  std::vector<std::int64_t> cost_ns_;
  Instant worked_until_;
  Admission admission_;
  struct {
    Instant turn;           // In this iteration
    bool is_known = false;  // the kernel was asked
    Duration time;          // how long before the iteration's harvest a request had come;
    int late = 0;           // so many that were asked about, one after the other, were late,
    int unasked = 0;        // and so many are not asked about.
  } behind_;
};

}  // namespace keel::http
