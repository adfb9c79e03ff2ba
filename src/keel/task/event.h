// keel/task/event.h — an event that is set or not; any number of tasks wait for it.
//
//   Event loaded;
//   co_await loaded.wait();                          // in as many tasks as need it
//   loaded.set();                                    // all of them continue; later ones do not wait
//
// Errors:   Cancelled or DeadlineExceeded when the waiting task is stopped.
// Threads:  one loop; other threads post a Job that calls set().
// Lifetime: outlives the tasks that wait (checked).
// Cost:     no allocation; set() is O(n) for n waiting tasks.

#pragma once

#include "keel/task/wait_list.h"

namespace keel {

class Event {
 public:
  class [[nodiscard]] Wait : public Waiting {
   public:
    using Value = void;
    explicit Wait(Event& event) noexcept : event_(event) {}
    bool start() noexcept { return event_.set_ || wait_in(event_.waiting_); }
    Result<> take() noexcept { return taken(); }

   private:
    Event& event_;
  };

  // Completes when the event is set; immediately when it is set already. A task that was woken continues even if
  // reset() is called before it runs.
  Wait wait() noexcept { return Wait(*this); }
  // Idempotent.
  void set() noexcept {
    set_ = true;
    waiting_.wake_all();
  }
  // A wait that begins after reset() does not complete until the next set().
  void reset() noexcept { set_ = false; }
  bool is_set() const noexcept { return set_; }

 private:
  WaitList waiting_;
  bool set_ = false;
};

}  // namespace keel
