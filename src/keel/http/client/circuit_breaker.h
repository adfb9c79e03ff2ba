// keel/http/client/circuit_breaker.h — stops asking a server that fails, and finds out when it is well again.
//
//   CircuitBreaker breaker;
//   std::optional<CircuitBreaker::Call> call = breaker.admit(now);
//   if (!call) return fail(Code::Unavailable, "the circuit is open");
//   …
//   answered ? call->succeeded(now) : call->failed(now);
//
// Closed: everything is admitted and counted over a sliding window. When at least calls_min have ended in it, and
// failure_ratio of them badly, it opens: nothing is admitted for open_time. Then it is half open: one call at a time is
// a probe; after probes_min good ones it closes and forgets, after a bad one it is open again.
//
// A call that is destroyed without an outcome counts for nothing. What began before the state changed counts no more.
//
// Lifetime: outlives its calls (checked).  Threads: one; the time is the caller's.  Cost: O(1), no allocation.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/time.h"

namespace keel::http {

struct CircuitBreakerOptions {
  double failure_ratio = 0.5;    // Above 1: it never opens.
  std::uint32_t calls_min = 20;  // Fewer in the window say nothing.
  Duration window = 10_s;        // What is older, to a tenth of it, is forgotten. Longer: slower to open and to forget.
  Duration open_time = 5_s;      // Until it is probed.
  std::uint32_t probes_min = 1;  // Good ones in a row that close it.
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
    // The outcome, once.
    void succeeded(Instant now) noexcept { std::exchange(breaker_, nullptr)->ended(era_, now, false); }
    void failed(Instant now) noexcept { std::exchange(breaker_, nullptr)->ended(era_, now, true); }

   private:
    friend class CircuitBreaker;
    Call(CircuitBreaker& breaker, std::uint64_t era) noexcept : breaker_(&breaker), era_(era) {}
    CircuitBreaker* breaker_;
    std::uint64_t era_;
  };

  explicit CircuitBreaker(const CircuitBreakerOptions& options = {}) noexcept : options_(options) {}
  ~CircuitBreaker() { KEEL_CHECK(calls_ == 0, "a circuit breaker outlives its calls"); }
  CircuitBreaker(const CircuitBreaker&) = delete;
  CircuitBreaker& operator=(const CircuitBreaker&) = delete;

  // None: it is open, or half open and being probed.
  std::optional<Call> admit(Instant now) noexcept;
  State state(Instant now) const noexcept;
  // While open: how long until it is probed.
  Duration until_probe(Instant now) const noexcept { return open_until_ - now; }

 private:
  static constexpr std::int64_t slices = 10;
  struct Slice {
    std::int64_t number = -1;  // Of the window's tenth it counts.
    std::uint32_t calls = 0;
    std::uint32_t failures = 0;
  };
  void ended(std::uint64_t era, Instant now, bool failed) noexcept;
  void abandoned(std::uint64_t era) noexcept;
  void open(Instant now) noexcept;
  void count(Instant now, bool failed) noexcept;
  bool has_too_many_failures(Instant now) const noexcept;
  std::int64_t slice_number(Instant now) const noexcept;

  const CircuitBreakerOptions options_;
  std::array<Slice, slices> window_;
  std::uint64_t era_ = 0;  // Changes with the state.
  Instant open_until_;     // Open until then, and half open from then on, when is_tripped_.
  std::uint32_t calls_ = 0;
  std::uint32_t good_probes_ = 0;
  bool is_tripped_ = false;
  bool is_probing_ = false;
};

}  // namespace keel::http
