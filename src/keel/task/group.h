// keel/task/group.h — several concurrent tasks: all of them, or any one.
//
//   auto both = co_await all(load_profile(user), load_feed(user));
//   auto& [profile, feed] = both;                   // named first, bound second
//   std::string page = co_await any(from(mirror_a), from(mirror_b));
//
// Arguments are tasks or operations of the same expression. The tasks are started in the order of the arguments, and
// each runs until it ends or first waits; no task outlives the await.
//
// Result:  all() yields a tuple of the values (std::monostate for void), and any() yields the value of the first task
//          that succeeds.
// Errors:  all() fails with the first error, after the other tasks were stopped and waited for. any() fails with the
//          first error if all tasks failed, and with Cancelled or DeadlineExceeded if the group was stopped.
// Dropped: the values that the other tasks of any(), or the successful tasks of a failed all(), yielded before the end
//          of the group. A result for which a task of the group was still waiting is not lost: if a Channel had given
//          the task a value, or a Semaphore had given it a permit, and the task had not continued yet, the value or the
//          permit is given back. A bug (base/bug.h) among the dropped errors is logged and counted
//          (observe/unhandled.h).
// Cancel:  all tasks of the group are stopped and waited for.
// Threads: the loop where the awaiting task began.
// Cost:    no coroutine frame besides those of the tasks.

#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "keel/base/or_monostate.h"
#include "keel/base/result.h"
#include "keel/task/leaf.h"
#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel {

namespace internal {
// Drops the error of a branch that is not the result of the group; a bug is logged and counted.
void drop_branch_error(const Error& error) noexcept;
}  // namespace internal

// One task of a group, as a base class of the group.
template <std::size_t index, class T>
struct Branch : Start<T> {
  explicit Branch(Task<T>&& task) noexcept : Start<T>(std::move(task)) {}
};

// The common part of all() and any(): starts the branches in a separate context, and counts the branches that still
// run. Derived::ended<i>(result) returns true if the other branches have to be stopped.
template <class Derived, class Indices, class... Ts>
class Group;
template <class Derived, std::size_t... indices, class... Ts>
class Group<Derived, std::index_sequence<indices...>, Ts...> : public Leaf, private Branch<indices, Ts>... {
 public:
  bool start() {
    Leaf::context().expect_home(Leaf::place());
    below_.open(&Leaf::context(), Instant::never());
    (begin<indices, Ts>(), ...);
    if (running_ != 0) return false;
    below_.close();
    return true;
  }

 protected:
  explicit Group(Task<Ts>&&... tasks) noexcept : Branch<indices, Ts>(std::move(tasks))... {}

 private:
  template <std::size_t i, class T>
  void begin() noexcept {
    if (decided_) return;
    Branch<i, T>& branch = *this;
    if (branch.begin_in(below_, Instant::never(), &done<i, T>)) {
      settle<i, T>();
    } else {
      ++running_;
    }
  }
  template <std::size_t i, class T>
  static void done(StartCore& start) noexcept {
    auto& group = static_cast<Group&>(static_cast<Branch<i, T>&>(start));
    --group.running_;
    group.template settle<i, T>();
    if (group.running_ != 0) return;
    group.below_.close();
    group.wake();
  }
  template <std::size_t i, class T>
  void settle() noexcept {
    Branch<i, T>& branch = *this;
    if (!static_cast<Derived*>(this)->template ended<i>(branch.take()) || std::exchange(decided_, true)) return;
    below_.stop(Code::Cancelled);
  }

  Context below_;
  std::size_t running_ = 0;
  bool decided_ = false;
};

// The operation of all().
template <class... Ts>
class [[nodiscard]] All : public Group<All<Ts...>, std::index_sequence_for<Ts...>, Ts...> {
 public:
  using Value = std::tuple<OrMonostate<Ts>...>;
  explicit All(Task<Ts>&&... tasks) noexcept
      : Group<All<Ts...>, std::index_sequence_for<Ts...>, Ts...>(std::move(tasks)...) {}

  Result<Value> take() noexcept {
    if (first_error_) return *std::move(first_error_);
    return std::apply([](auto&... values) { return Result<Value>(Value(*std::move(values)...)); }, values_);
  }
  template <std::size_t i, class T>
  bool ended(Result<T>&& result) noexcept {
    if (result.has_value()) {
      std::get<i>(values_).emplace(value_of(std::move(result)));
      return false;
    }
    if (first_error_) {
      internal::drop_branch_error(result.error());
    } else {
      first_error_.emplace(std::move(result.error()));
    }
    return true;
  }

 private:
  std::tuple<std::optional<OrMonostate<Ts>>...> values_;
  std::optional<Error> first_error_;
};

// The operation of any().
template <class T, class... Same>
class [[nodiscard]] Any : public Group<Any<T, Same...>, std::make_index_sequence<sizeof...(Same)>, Same...> {
 public:
  using Value = T;
  explicit Any(Task<Same>&&... tasks) noexcept
      : Group<Any<T, Same...>, std::make_index_sequence<sizeof...(Same)>, Same...>(std::move(tasks)...) {}

  Result<T> take() noexcept {
    // After a stop, the group ends because of the stop, and not because of a branch that failed earlier.
    const bool is_stopped = !value_ && this->context().is_stopped();
    if (!value_ && !is_stopped) return *std::move(first_error_);
    if (first_error_) internal::drop_branch_error(*first_error_);
    if (is_stopped) return this->context().reason();
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return *std::move(value_);
    }
  }
  template <std::size_t i>
  bool ended(Result<T>&& result) noexcept {
    if (result.has_value()) {
      if (!value_) value_.emplace(value_of(std::move(result)));
      return true;
    }
    if (first_error_) {
      internal::drop_branch_error(result.error());
    } else {
      first_error_.emplace(std::move(result.error()));
    }
    return false;
  }

 private:
  std::optional<OrMonostate<T>> value_;
  std::optional<Error> first_error_;
};

// An operation as a Task.
template <class T>
Task<T>&& to_task(Task<T>&& task) noexcept {
  return std::move(task);
}
template <Operation L>
auto to_task(L&& leaf) {
  return as_task(leaf);
}
template <class T>
auto to_task(Task<T>& task) noexcept {
  static_cast<void>(internal::NamedTask<T>());
  return Task<T>(task.release());
}
// The type that awaiting X yields.
template <class X>
using ValueOf = typename std::remove_reference_t<X>::Value;

template <class... Xs>
  requires(sizeof...(Xs) >= 2)
All<ValueOf<Xs>...> all(Xs&&... awaited) noexcept {
  return All<ValueOf<Xs>...>(to_task(std::forward<Xs>(awaited))...);
}

template <class X, class... Xs>
  requires(sizeof...(Xs) >= 1 && (std::is_same_v<ValueOf<X>, ValueOf<Xs>> && ...))
Any<ValueOf<X>, ValueOf<X>, ValueOf<Xs>...> any(X&& first, Xs&&... others) noexcept {
  return Any<ValueOf<X>, ValueOf<X>, ValueOf<Xs>...>(to_task(std::forward<X>(first)),
                                                     to_task(std::forward<Xs>(others))...);
}

}  // namespace keel
