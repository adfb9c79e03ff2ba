// The outcome of one event that a publisher waits for: publish_and_wait() makes a Receipt, and every executor that
// still has to handle the event decides its own delivery once.
//
// Ownership: counted; shared by the publisher and each undecided delivery. A publisher can therefore stop waiting while
//            the deliveries continue.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "keel/base/result.h"
#include "keel/events/internal/countdown.h"
#include "keel/exec/executor.h"
#include "keel/task/leaf.h"

namespace keel::events::internal {

enum class Outcome : std::uint8_t { Delivered, Failed, Dropped };

class Receipt final : private Job {
 public:
  class Arrival;

  // Called by the publisher, which must wait on the executor that is current at the time of this call.
  static Receipt& make();
  // Releases the publisher's share.
  void release() noexcept;

  // Adds an outcome that is known without waiting for an executor.
  void note(Outcome outcome) noexcept { counts_[static_cast<int>(outcome)].fetch_add(1, std::memory_order_relaxed); }
  // Announces a delivery that is decided later, on any thread. The deciding thread does not touch the receipt after it
  // has decided.
  void expect() noexcept;
  void decide(Outcome outcome) noexcept;

  std::uint32_t count(Outcome outcome) const noexcept {
    return counts_[static_cast<int>(outcome)].load(std::memory_order_relaxed);
  }

 private:
  Receipt() noexcept;
  static void arrived(Job& job) noexcept;

  bool waits_for_others_ = false;  // Whether a delivery was ever expected; used only by the publisher.
  Executor* const home_;
  std::atomic<std::uint32_t> owners_ = 1;
  Countdown undecided_;  // Counts the expected deliveries.
  std::atomic<std::uint32_t> counts_[3] = {};
  Arrival* waiting_ = nullptr;  // Used only on the home executor.
};

// Waits until all expected deliveries are decided. A receipt can be awaited only once.
class Receipt::Arrival : public Leaf {
 public:
  using Value = void;
  explicit Arrival(Receipt& receipt) noexcept : Leaf(&cancel), receipt_(receipt) {}
  bool start();
  Result<> take() noexcept;

 private:
  friend class Receipt;
  using Leaf::wake;
  static void cancel(Leaf& leaf) noexcept;

  Receipt& receipt_;
  bool is_cancelled_ = false;
};

}  // namespace keel::events::internal
