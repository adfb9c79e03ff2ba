// keel/task/bulkhead.h — keeps a slow dependency from using up all resources: limits how many calls run concurrently,
// how many calls wait, and how long a call waits.
//
//   Bulkhead reports({.running_max = 4, .waiting_max = 16, .wait_max = 500_ms});   // for each worker
//   const Report report = co_await reports.run([&] { return render(id); });
//
//   Bulkhead::Place place = co_await reports.enter();        // held until it is destroyed, for several steps
//
// run() takes a place, waiting for one if necessary, calls the function, and awaits the task or operation that the
// function returns. Waiting calls enter in the order of their arrival.
//
// Result:   the unchanged result of the call.
// Errors:   ResourceExhausted when waiting_max calls wait already, or when no place became free within wait_max; in
//           both cases the function was not called. Cancelled, or DeadlineExceeded when the deadline of the awaiting
//           task has passed.
// Lifetime: outlives its runs, places and the tasks that wait (checked). A temporary closure is copied, and may capture
//           only references and plain values; store any other closure in a variable that outlives the run.
// Threads:  one loop.
// Cancel:   a waiting call leaves the queue; a running call is stopped.
// Cost:     entering without a wait is O(1) and takes no frame (try_enter); run() takes a frame from the task pool; no
//           heap.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "keel/base/time.h"
#include "keel/task/internal/closure.h"
#include "keel/task/semaphore.h"
#include "keel/task/task.h"

namespace keel::metrics {
class Registry;
}

namespace keel {

// The limits on running calls, on waiting calls, and on the time that a call waits.
struct BulkheadOptions {
  std::size_t running_max = 16;  // Concurrent calls, 1 or more.
  std::size_t waiting_max = 64;  // Calls that may wait in addition to the concurrent calls; 0: no call waits.
  Duration wait_max = 1_s;       // The longest wait for a place.
};

class Bulkhead {
 public:
  using Place = Semaphore::Permit;
  struct Stats {
    std::uint64_t rejected = 0;  // Calls that got no place, neither immediately nor within wait_max.
  };

  // Throws a Bug (base/bug.h) if `running_max` is 0.
  explicit Bulkhead(const BulkheadOptions& options = {});
  ~Bulkhead();
  Bulkhead(const Bulkhead&) = delete;
  Bulkhead& operator=(const Bulkhead&) = delete;

  template <class F>
  Task<internal::AwaitedBy<F>> run(F&& call) {
    internal::check_closure<F>();
    return run_kept<F>(std::forward<F>(call));
  }
  Task<Place> enter();
  // Takes a place if one is free and no call waits for it; otherwise returns nullopt.
  std::optional<Place> try_enter() noexcept { return places_.try_acquire(); }

  const BulkheadOptions& options() const noexcept { return options_; }
  std::size_t running() const noexcept { return options_.running_max - places_.available(); }
  std::size_t waiting() const noexcept { return places_.waiting(); }
  const Stats& stats() const noexcept { return stats_; }
  // Adds the metrics bulkhead_running, bulkhead_waiting and bulkhead_rejected_total, with the label `name`;
  // bulkhead_rejected_total counts from this call on. The registry outlives the Bulkhead.
  void expose(metrics::Registry& registry, std::string_view name);

 private:
  struct Exposed;
  template <class F>
  Task<internal::AwaitedBy<F>> run_kept(F call) {
    std::optional<Place> place = try_enter();
    if (!place) place.emplace(co_await enter());
    Result<internal::AwaitedBy<F>> result = co_await attempt(call());
    co_return co_await std::move(result);
  }
  void count_rejected() noexcept;

  const BulkheadOptions options_;
  Semaphore places_;
  Stats stats_;
  std::unique_ptr<Exposed> exposed_;
};

}  // namespace keel
