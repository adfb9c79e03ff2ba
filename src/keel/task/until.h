// keel/task/until.h — stops an operation once an event is set: for example an accept, when the program ends.
//
//   while (auto peer = co_await until(stopping, listener.accept())) connections.spawn(talk(*std::move(peer)));
//   co_await connections.join();
//
// Result:   the value of the awaited task or operation, std::monostate for void. nullopt: the event was set first, and
//           the operation was stopped. If the event is already set, the operation is not begun. If the operation and
//           the event are complete at the same time, the operation's value is returned.
// Errors:   those of the operation; Cancelled or DeadlineExceeded when the awaiting task is stopped.
// Cancel:   the operation is stopped and waited for.
// Threads:  the event's loop.
// Lifetime: the event outlives the await.
// Cost:     a frame that waits for the event, and another frame for an operation that is not a task.

#pragma once

#include <optional>
#include <utility>

#include "keel/base/or_monostate.h"
#include "keel/task/event.h"
#include "keel/task/group.h"

namespace keel {

// The event is the first branch: if it is set already, that branch ends immediately and the second branch is not begun.
template <class T>
class [[nodiscard]] Until : public Group<Until<T>, std::index_sequence_for<void, T>, void, T> {
 public:
  using Value = std::optional<OrMonostate<T>>;
  Until(Task<>&& event, Task<T>&& task) noexcept
      : Group<Until<T>, std::index_sequence_for<void, T>, void, T>(std::move(event), std::move(task)) {}

  Result<Value> take() noexcept {
    if (value_) return Value(*std::move(value_));
    const bool is_for_the_event = !error_ || (error_->code() == Code::Cancelled && !this->context().is_stopped());
    if (has_happened_ && is_for_the_event) return Value();
    return *std::move(error_);
  }
  template <std::size_t i, class R>
  bool ended(R&& result) noexcept {
    if (!result.has_value()) {
      if (!error_) error_.emplace(std::move(result.error()));
    } else if constexpr (i == 0) {
      has_happened_ = true;
    } else {
      value_.emplace(value_of(std::move(result)));
    }
    return true;
  }

 private:
  std::optional<OrMonostate<T>> value_;
  std::optional<Error> error_;
  bool has_happened_ = false;
};

// A task that ends when `event` is set.
inline Task<> event_as_task(Event& event) { co_await event.wait(); }

template <class X>
Until<ValueOf<X>> until(Event& event, X&& awaited) noexcept {
  return Until<ValueOf<X>>(event_as_task(event), to_task(std::forward<X>(awaited)));
}

}  // namespace keel
