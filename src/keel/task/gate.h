// keel/task/gate.h — admits passes until the gate is closed; close() then waits until the last pass is destroyed. Every
// drain is built on a Gate.
//
//   Gate gate;
//   Gate::Pass pass = co_await gate.enter();         // each piece of work, for as long as it lasts
//   co_await gate.close();                           // rejects newcomers, completes when no pass is left
//
// Errors:   enter() fails with Cancelled once close() was called. close() fails with Cancelled or DeadlineExceeded when
//           the waiting task is stopped; the gate stays closed, passes stay valid, and close() may be awaited again.
// Threads:  one loop.
// Lifetime: outlives its passes and the tasks that wait (checked).
// Cost:     O(1), no allocation.

#pragma once

#include <cstddef>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/result.h"
#include "keel/task/wait_list.h"

namespace keel {

class Gate {
 public:
  // The right to be inside the gate, until the Pass is destroyed. Movable.
  class [[nodiscard]] Pass {
   public:
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Pass& operator=(Pass&& other) noexcept {
      if (this != &other) {
        leave();
        gate_ = std::exchange(other.gate_, nullptr);
      }
      return *this;
    }
    ~Pass() { leave(); }

   private:
    friend class Gate;
    explicit Pass(Gate& gate) noexcept : gate_(&gate) { ++gate.inside_; }
    void leave() noexcept {
      if (Gate* gate = std::exchange(gate_, nullptr)) gate->left();
    }
    Gate* gate_;
  };

  class [[nodiscard]] Close : public Waiting {
   public:
    using Value = void;
    explicit Close(Gate& gate) noexcept : gate_(gate) {}
    bool start() noexcept { return gate_.inside_ == 0 || wait_in(gate_.waiting_); }
    Result<> take() noexcept { return taken(); }

   private:
    Gate& gate_;
  };

  Gate() = default;
  ~Gate() { KEEL_CHECK(inside_ == 0, "a gate must outlive its passes: co_await gate.close()"); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  Result<Pass> enter() noexcept {
    if (closed_) return fail(Code::Cancelled, "the gate is closed");
    return Pass(*this);
  }
  // Rejects new passes from this call on; completes when the last Pass is destroyed.
  Close close() noexcept {
    closed_ = true;
    return Close(*this);
  }

  bool is_closed() const noexcept { return closed_; }
  std::size_t inside() const noexcept { return inside_; }

 private:
  void left() noexcept {
    if (--inside_ == 0) waiting_.wake_all();
  }

  WaitList waiting_;
  std::size_t inside_ = 0;
  bool closed_ = false;
};

}  // namespace keel
