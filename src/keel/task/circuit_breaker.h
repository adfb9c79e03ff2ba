// keel/task/circuit_breaker.h — stops calling a failing dependency, and detects when it has recovered.
//
//   CircuitBreaker payments;                                 // one for each dependency and worker
//   const Receipt receipt = co_await payments.run([&] { return charge(order); });
//
// While closed, a CircuitBreaker admits every call and counts outcomes over a sliding window. When at least calls_min
// calls have ended in the window, and the share of failed calls is at least failure_ratio, the CircuitBreaker opens: it
// admits no call for open_time. After open_time, the CircuitBreaker is half open: it admits one call at a time, as a
// probe. After probes_min successful probes, a half-open CircuitBreaker closes and forgets its counts; after a failed
// probe, it opens again.
//
// run() calls the function and awaits the task or operation that it returns. A failure is an error for which
// options.fails returns true. Cancelled and ResourceExhausted are not counted at all, because the caller stopped the
// call, or a limit of this program was reached. Every error that is neither a failure nor one of these two is counted
// as a success. For code that judges outcomes itself:
//
//   std::optional<CircuitBreaker::Call> call = breaker.admit(now);
//   if (!call) return fail(Code::Unavailable, "the circuit is open");
//   …
//   has_response ? call->succeeded(now) : call->failed(now);
//
// A call that is destroyed without an outcome is not counted. A call that began before the state changed is no longer
// counted.
//
// Result:   the unchanged result of the call.
// Errors:   Unavailable, "the circuit is open: …", when the call was not admitted; the function was then not called.
// Lifetime: outlives its runs and calls (checked). A temporary closure is copied, and may capture only references and
//           plain values; store any other closure in a variable that outlives the run.
// Threads:  one loop; the caller passes the time to admit(), succeeded() and failed().
// Cancel:   the call is stopped.
// Cost:     O(1); run() takes a frame from the task pool; no heap.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/base/time.h"
#include "keel/task/internal/closure.h"
#include "keel/task/task.h"

namespace keel::metrics {
class Registry;
}

namespace keel {

// True for Unavailable, for DeadlineExceeded (of any time limit), for Upstream, and for Internal (which includes
// exceptions).
bool is_outage(const Error& error) noexcept;

// The conditions under which a circuit opens and closes again.
struct CircuitBreakerOptions {
  double failure_ratio = 0.5;    // Above 1: the circuit never opens.
  std::uint32_t calls_min = 20;  // The circuit stays closed while the window has fewer calls than this.
  // Older calls are forgotten, a tenth of the window at a time. With a longer window, the circuit opens and forgets
  // more slowly.
  Duration window = 10_s;
  Duration open_time = 5_s;                  // How long the circuit stays open before it is probed.
  std::uint32_t probes_min = 1;              // The number of successful probes in a row that close the circuit.
  bool (*fails)(const Error&) = &is_outage;  // The errors that count as failures.
};

class CircuitBreaker {
 public:
  enum class State : std::uint8_t { Closed, Open, HalfOpen };

  class [[nodiscard]] Call {
   public:
    Call(Call&& other) noexcept : breaker_(std::exchange(other.breaker_, nullptr)), era_(other.era_) {}
    Call& operator=(Call&&) = delete;
    ~Call() {
      if (breaker_ != nullptr) breaker_->abandoned(era_);
    }
    // To report the outcome, call either succeeded() or failed(), exactly once.
    void succeeded(Instant now) noexcept { std::exchange(breaker_, nullptr)->ended(era_, now, false); }
    void failed(Instant now) noexcept { std::exchange(breaker_, nullptr)->ended(era_, now, true); }

   private:
    friend class CircuitBreaker;
    Call(CircuitBreaker& breaker, std::uint64_t era) noexcept : breaker_(&breaker), era_(era) {}
    CircuitBreaker* breaker_;
    std::uint64_t era_;
  };

  struct Stats {
    std::uint64_t rejected = 0;  // Calls that were not admitted.
    std::uint64_t opened = 0;    // How often the circuit opened; opening after a failed probe counts too.
  };

  explicit CircuitBreaker(const CircuitBreakerOptions& options = {}) noexcept;
  ~CircuitBreaker();
  CircuitBreaker(const CircuitBreaker&) = delete;
  CircuitBreaker& operator=(const CircuitBreaker&) = delete;

  template <class F>
  Task<internal::AwaitedBy<F>> run(F&& call) {
    internal::check_closure<F>();
    return run_kept<F>(std::forward<F>(call));
  }

  // Returns nullopt if the circuit is open, or is half open and being probed.
  std::optional<Call> admit(Instant now) noexcept;
  // Whether admit() would return a call now; this function counts nothing.
  bool admits(Instant now) const noexcept { return !is_tripped_ || (now >= open_until_ && !is_probing_); }
  State state(Instant now) const noexcept;
  // The time until the next probe, while the circuit is open.
  Duration until_probe(Instant now) const noexcept { return open_until_ - now; }
  const Stats& stats() const noexcept { return stats_; }
  // Adds two metrics with the label `name`: circuit_rejected_total, which counts from this call on, and circuits, by
  // state ("open", "half_open"). The registry outlives the CircuitBreaker.
  void expose(metrics::Registry& registry, std::string_view name);

 private:
  static constexpr std::int64_t slices = 10;
  struct Slice {
    std::int64_t number = -1;  // The number of the tenth of a window in which this slot counts calls; -1: none.
    std::uint32_t calls = 0;
    std::uint32_t failures = 0;
  };
  struct Exposed;
  template <class F>
  Task<internal::AwaitedBy<F>> run_kept(F call) {
    std::optional<Call> admitted = admit(Host::current().now());
    if (!admitted) co_return fail(Code::Unavailable, "the circuit is open: too many calls have failed");
    Result<internal::AwaitedBy<F>> result = co_await attempt(call());
    judge(*admitted, result ? nullptr : &result.error());
    co_return co_await std::move(result);
  }
  void judge(Call& call, const Error* error) const noexcept;
  void ended(std::uint64_t era, Instant now, bool failed) noexcept;
  void abandoned(std::uint64_t era) noexcept;
  void open(Instant now) noexcept;
  void count(Instant now, bool failed) noexcept;
  bool has_too_many_failures(Instant now) const noexcept;
  std::int64_t slice_number(Instant now) const noexcept;

  const CircuitBreakerOptions options_;
  std::array<Slice, slices> window_;
  std::uint64_t era_ = 0;  // Incremented each time the circuit opens or closes.
  Instant open_until_;     // If is_tripped_: open until this time, and half open afterwards.
  std::uint32_t calls_ = 0;
  std::uint32_t good_probes_ = 0;
  bool is_tripped_ = false;
  bool is_probing_ = false;
  Stats stats_;
  std::unique_ptr<Exposed> exposed_;
};

}  // namespace keel
