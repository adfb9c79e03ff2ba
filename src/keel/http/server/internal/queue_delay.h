// keel/http/server/internal/queue_delay.h — how long requests have waited for their worker, and which are rejected for
// it (admission.h).
//
// Internal to http. It also keeps until when the worker has worked in this event-loop iteration, and what a request of
// each route takes of it.
//
// That cost is the time since the request before, which is known without a look at the clock and may hold whatever the
// worker did for others in between. So it only says which routes may be costly. A request of those is measured from its
// own begin, and rejected when that says so too.
//
// Threads: the worker.  Cost: a few comparisons for each request; a look at the clock where its route may be costly; a
// system call where it may also have come late.

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
  QueueDelay(io::Loop& loop, std::size_t routes) : loop_(loop), costs_(routes) {}

  // Everything until `now` has been done for a request of `route`, since it began or since the one before it.
  void worked(std::uint32_t route, Instant now) noexcept {
    // Bounded, so that one request in which the machine was busy elsewhere does not make a cheap route costly.
    std::int64_t& lately = costs_[route].begun_ns;
    const std::int64_t cost = since_worked(now);
    lately += (std::min(cost, 2 * lately + 20'000) - lately) >> 3;
  }
  // The same of a request that had waited for something: nobody knows when it continued. Among the times since whatever
  // was done before it, the shortest are its own; the cost sinks to them fast, and rises slowly.
  void went_on(std::uint32_t route, Instant now) noexcept;
  // When the last request of this event-loop iteration was done, or was about to begin.
  Instant worked_until() const noexcept { return worked_until_; }

  // Whether requests of the route may be worth rejecting. From half of that cost on: one request that is not measured
  // alone does not double it.
  bool may_be_costly(std::uint32_t route) const noexcept { return cost_ns(route) >= admission_cost_min.count_ns() / 2; }
  // A request of `route`, which may be costly, begins: it is measured from here on.
  void begins() noexcept { worked_until_ = loop_.precise_now(); }
  // Whether a request of `route`, which may be costly and begins, is rejected because it has waited for more than
  // `most`. It came on `fd`. Its own connection was not ready for it until `since`, which is nobody's delay. `delay` is
  // how long it has waited.
  bool rejects(std::uint32_t route, int fd, Instant since, Duration most, Duration& delay) noexcept;
  bool is_overloaded() const noexcept { return admission_.is_overloaded(); }

 private:
  // Of a request, lately: until it waited or was done, and from its last wait on.
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
    Duration time;          // How long that request had waited when the iteration's completions were collected.
    int late = 0;           // Consecutive sampled requests that were late.
    int unasked = 0;        // Requests to skip before sampling again.
  } behind_;
};

}  // namespace keel::http
