// keel/task/semaphore.h — gives out at most N permits at a time; tasks that get none wait in the order of their
// arrival.
//
//   Semaphore uploads(4);
//   Semaphore::Permit permit = co_await uploads.acquire();      // held until it is destroyed, across awaits
//
// Errors:   Cancelled or DeadlineExceeded when the waiting task is stopped; the stopped task has no permit.
// Threads:  one loop, on which permits are both acquired and destroyed.
// Lifetime: outlives its permits and the tasks that wait (checked).
// Cost:     no allocation; O(1).

#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "keel/base/check.h"
#include "keel/task/wait_list.h"

namespace keel {

class Semaphore {
 public:
  // One of the N permits, until the Permit is destroyed. Movable; empty after it was moved from or released.
  class [[nodiscard]] Permit {
   public:
    Permit() noexcept = default;
    Permit(Permit&& other) noexcept : semaphore_(std::exchange(other.semaphore_, nullptr)) {}
    Permit& operator=(Permit&& other) noexcept {
      if (this != &other) {
        release();
        semaphore_ = std::exchange(other.semaphore_, nullptr);
      }
      return *this;
    }
    ~Permit() { release(); }

    // Gives the permit back early. Idempotent.
    void release() noexcept {
      if (Semaphore* semaphore = std::exchange(semaphore_, nullptr)) semaphore->give_back();
    }
    explicit operator bool() const noexcept { return semaphore_ != nullptr; }

   private:
    friend class Semaphore;
    explicit Permit(Semaphore& semaphore) noexcept : semaphore_(&semaphore) {}
    Semaphore* semaphore_ = nullptr;
  };

  class [[nodiscard]] Acquire : public Waiting {
   public:
    using Value = Permit;
    explicit Acquire(Semaphore& semaphore) noexcept : semaphore_(semaphore) {}
    bool start() noexcept { return semaphore_.take_one() || wait_in(semaphore_.waiting_); }
    Result<Permit> take() noexcept {
      if (Result<> waited = taken(); !waited) return std::move(waited).error();
      return Permit(semaphore_);
    }

   private:
    Semaphore& semaphore_;
  };

  explicit Semaphore(std::size_t permits) noexcept : permits_(permits), available_(permits) {}
  ~Semaphore() { KEEL_CHECK(available_ == permits_, "a semaphore must outlive its permits"); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  // Waits for a permit, in the order of arrival.
  Acquire acquire() noexcept { return Acquire(*this); }
  // Takes a permit if one is free and no task waits for it; otherwise returns nullopt.
  std::optional<Permit> try_acquire() noexcept {
    if (!take_one()) return std::nullopt;
    return Permit(*this);
  }

  std::size_t available() const noexcept { return available_; }
  std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
  bool take_one() noexcept {
    if (available_ == 0) return false;
    --available_;
    return true;
  }
  // A permit for which a task waits is handed to that task directly: `available_` stays 0, so no other task can take
  // the permit first.
  void give_back() noexcept {
    if (!waiting_.wake_first()) ++available_;
  }

  const std::size_t permits_;
  std::size_t available_;
  WaitList waiting_;
};

}  // namespace keel
