// A handler that is subscribed to a topic: how to call it, and its lifetime.
//
// Ownership: by count. A Subscriber is owned by the topic's list of subscribers (an old list until no thread reads it),
//            the Subscription, and each posted job of the mailbox. The handler itself is destroyed by end() of the
//            Subscription.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "keel/base/pool.h"
#include "keel/base/result.h"
#include "keel/events/internal/countdown.h"
#include "keel/events/internal/receipt.h"
#include "keel/events/subscription.h"
#include "keel/task/leaf.h"
#include "keel/task/task.h"

namespace keel::events::internal {

class Awaited;
class Mailbox;
class TasksEnded;
struct EventType;

class Subscriber {
 public:
  // Passes an event to the subscriber. Returns 1 when the handler has handled the event within this call, else 0.
  // `awaited` is null if the call comes from publish(); it is not null if the call comes from publish_and_wait(), which
  // waits for all handlers.
  using Call = unsigned (*)(Subscriber& subscriber, const void* event, Awaited* awaited) noexcept;
  // Set for a handler that returns a Task, else null.
  using Run = Task<> (*)(Subscriber& subscriber, const void* event);
  // Replaces the call of a handler whose subscription has ended.
  static unsigned pass_over(Subscriber&, const void*, Awaited*) noexcept { return 0; }

  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* at, std::size_t bytes) noexcept { pool_free(at, bytes); }
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  // Called on the executor.
  virtual Outcome handle(const void* event) noexcept = 0;
  // Destroys the handler, once it can no longer be called.
  virtual void forget() noexcept = 0;

  TopicCore& topic() const noexcept { return topic_; }
  int priority() const noexcept { return priority_; }
  Mailbox* mailbox() const noexcept { return mailbox_.get(); }

  void retain() noexcept { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  void count(Outcome outcome) const noexcept;
  // Counts and reports a failure of the handler.
  void failed(Error&& error) const noexcept;
  void failed(Error&& error, Awaited* awaited) const noexcept;
  // Puts a copy of the event into the mailbox, for the executor.
  void enqueue(const void* event, Awaited* awaited) const noexcept;

  // pin() is called when a Task of the handler begins, and unpin() when that Task has ended.
  void pin() noexcept { tasks_.begin(); }
  void unpin() noexcept;
  bool has_tasks() const noexcept { return !tasks_.is_zero(); }

  std::atomic<Call> call;
  const Run run;
  bool is_listed = true;  // Used by the topic, under its lock.

 protected:
  Subscriber(TopicCore& topic, const EventType& type, const SubscribeOptions& options, Call how, Run task);
  virtual ~Subscriber();

 private:
  friend class TasksEnded;
  TopicCore& topic_;
  const int priority_;
  std::atomic<std::uint32_t> owners_ = 2;  // There are two owners at first: the list and the Subscription.
  Countdown tasks_;
  TasksEnded* awaits_tasks_ = nullptr;
  std::unique_ptr<Mailbox> mailbox_;  // Used only if the subscription has an executor.
};

// Waits until no Task of the handler is running. No new Task can begin during this wait, because the subscriber has
// left the list.
class TasksEnded : public Leaf {
 public:
  using Value = void;
  explicit TasksEnded(Subscriber& subscriber) noexcept
      : Leaf(nullptr, WhenStopped::Begins), subscriber_(subscriber), last_(*this) {}
  bool start();
  Result<> take() noexcept { return {}; }

 private:
  friend class Subscriber;
  struct Last : keel::Job {
    explicit Last(TasksEnded& w) noexcept
        : Job([](Job& job) noexcept { static_cast<Last&>(job).waits.wake(); }), waits(w) {}
    TasksEnded& waits;
  };

  Subscriber& subscriber_;
  Executor* home_ = nullptr;
  Last last_;
};

// The handlers of one event that publish_and_wait() waits for.
class Awaited {
 public:
  Awaited() : receipt_(Receipt::make()) {}
  Awaited(const Awaited&) = delete;
  ~Awaited() {
    for (; next_ < tasks_.size(); ++next_) tasks_[next_]->unpin();
    receipt_.release();
  }

  Receipt& receipt() const noexcept { return receipt_; }
  // Adds a handler that returns a Task, which publish_and_wait() has to run.
  void add(Subscriber& subscriber) {
    tasks_.push_back(&subscriber);
    subscriber.pin();
  }
  // The first handler whose Task has not been run; null when no Task is left to run.
  Subscriber* task() const noexcept { return next_ < tasks_.size() ? tasks_[next_] : nullptr; }
  void task_ended() noexcept { tasks_[next_++]->unpin(); }

 private:
  Receipt& receipt_;
  std::vector<Subscriber*> tasks_;
  std::size_t next_ = 0;
};

}  // namespace keel::events::internal
