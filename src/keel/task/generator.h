// keel/task/generator.h — Generator<T>: a coroutine that yields values on demand.
//
//   Generator<Page> pages(Client& client) {
//     for (std::string next = "/pages/1"; !next.empty();) {
//       Page page = co_await load(client, next);
//       next = page.next;
//       co_yield std::move(page);
//     }
//   }
//   Generator<Page> all = pages(client);
//   while (auto page = co_await all.next()) show(*page);        // nullopt: it has returned
//
// The body runs only inside next(), between one co_yield and the following one. The body may await anything that a task
// may, and inherits the stop request and the deadline of the task that calls next(). co_await attempt(all.next())
// yields the Result.
//
// Errors:    an error ends the body, and is the result of the next() that is waiting; later calls of next() return
//            nullopt.
// Ownership: a Generator is movable while no task waits in next(). If a Generator is destroyed early, its body ends at
//            the current co_yield, and the body's locals are destroyed.
// Threads:   the body continues on the executor on which next() was called, even after a resume_on().
// Cancel:    a next() that is cancelled ends the generator; so does a time limit that expires, as in with_timeout(1_s,
//            as_task(all.next())).
// Cost:      one frame for the generator; next() allocates nothing.

#pragma once

#include <concepts>
#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include "keel/base/bug.h"
#include "keel/task/task.h"

namespace keel {

template <class T>
class Generator;

// The promise of a Generator's coroutine.
template <class T>
class GeneratorPromise final : public PromiseCore {
 public:
  GeneratorPromise() noexcept {
    static_assert(alignof(GeneratorPromise) <= 2 * sizeof(void*),
                  "the type of a generator's value must not need a stricter alignment than malloc guarantees");
  }
  Generator<T> get_return_object() noexcept { return Generator<T>(*this); }
  void return_void() noexcept {
    returned_ = true;
    set_value();
  }
  // Hands the value to the task that awaits pull(), as the end of a task would; the next pull() resumes the generator.
  Final yield_value(T value) {
    KEEL_EXPECT(!has_scopes(), "a Scope of a generator must be joined before co_yield");
    value_.emplace(std::move(value));
    set_value();
    return {};
  }

  bool is_over() const noexcept { return returned_ || has_error(); }
  // Runs the body to its next co_yield or to its end. Returns true at the end.
  bool pull(Frame& asks, bool keeps_errors) noexcept {
    set_suspended(false);
    return start_for(asks, keeps_errors);
  }
  std::optional<T> take() noexcept { return std::exchange(value_, std::nullopt); }

 private:
  std::optional<T> value_;
  bool returned_ = false;
};

// The operation of next().
template <class T>
struct GeneratorNext {
  GeneratorPromise<T>& generator;
};
template <class T>
Attempt<GeneratorNext<T>> attempt(GeneratorNext<T>&& next) noexcept {
  return {next};
}
// next() as a Task, for functions that take tasks: with_timeout, all, any.
template <class T>
Task<std::optional<T>> as_task(GeneratorNext<T> next) {
  co_return co_await std::move(next);
}

template <class T>
class [[nodiscard]] Generator {
  static_assert(std::is_object_v<T> && std::is_nothrow_move_constructible_v<T>,
                "a generator must yield values, not references, that move without throwing");

 public:
  using promise_type = GeneratorPromise<T>;

  explicit Generator(GeneratorPromise<T>& promise) noexcept : promise_(&promise) {}
  Generator(Generator&& other) noexcept : promise_(std::exchange(other.promise_, nullptr)) {}
  Generator& operator=(Generator&& other) noexcept {
    std::swap(promise_, other.promise_);
    return *this;
  }
  ~Generator() {
    if (promise_ != nullptr) promise_->destroy();
  }

  // co_await yields a std::optional<T>: the next value, or nullopt when the generator has ended.
  [[nodiscard]] GeneratorNext<T> next() noexcept { return {*promise_}; }

 private:
  GeneratorPromise<T>* promise_;
};

// The awaiter of next().
template <class T, bool attempts>
class GeneratorAwait {
 public:
  GeneratorAwait(Frame& self, GeneratorPromise<T>& generator) noexcept : self_(self), generator_(generator) {}
  bool await_ready() noexcept {
    over_ = generator_.is_over();
    if (over_) return true;
    stopped_ = generator_.pull(self_, attempts);
    return stopped_ && (attempts || generator_.has_value());
  }
  bool await_suspend(std::coroutine_handle<>) noexcept {
    if (!stopped_) {
      if (self_.suspends()) return true;
      if (attempts || generator_.has_value()) return false;
    }
    self_.fail(std::move(generator_.error()));
    return true;
  }
  auto await_resume() {
    if constexpr (attempts) {
      if (!over_ && generator_.has_error()) return Result<std::optional<T>>(std::move(generator_.error()));
      return Result<std::optional<T>>(generator_.take());
    } else {
      return generator_.take();
    }
  }

 private:
  Frame& self_;
  GeneratorPromise<T>& generator_;
  bool over_ = false;
  bool stopped_ = false;
};

}  // namespace keel
