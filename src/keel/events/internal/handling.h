// The typed part of a subscription: a filter, a handler, and how they are called with an event.

#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "keel/base/bug.h"
#include "keel/base/result.h"
#include "keel/events/internal/event_type.h"
#include "keel/events/internal/subscriber.h"
#include "keel/task/task.h"

namespace keel::events::internal {

// A member function with its object.
template <class C, class M>
struct Method {
  C& object;
  M method;
  template <class E>
    requires std::is_invocable_v<M, C&, const E&>
  auto operator()(const E& event) const {
    return (object.*method)(event);
  }
};
template <class F>
inline constexpr bool is_method = false;
template <class C, class M>
inline constexpr bool is_method<Method<C, M>> = true;

// Stands for a missing filter.
struct Everything {
  template <class E>
  constexpr bool operator()(const E&) const noexcept {
    return true;
  }
};

template <class F, class E>
concept GivesTask = std::is_invocable_v<F&, const E&> && std::same_as<std::invoke_result_t<F&, const E&>, Task<>>;
template <class F, class E>
concept GivesResult = std::is_invocable_v<F&, const E&> && std::same_as<std::invoke_result_t<F&, const E&>, Result<>>;
template <class F, class E>
concept GivesNothing = std::is_invocable_v<F&, const E&> && std::is_void_v<std::invoke_result_t<F&, const E&>>;
template <class F, class E>
concept Handler = GivesTask<F, E> || GivesResult<F, E> || GivesNothing<F, E>;

template <class E, class P, class F>
class Handling final : public Subscriber {
 public:
  static constexpr bool has_task = GivesTask<F, E>;

  Handling(TopicCore& topic, P&& filter, F&& handler, const SubscribeOptions& options)
      : Subscriber(topic, event_type<E>(), options, options.executor != nullptr ? &post : &call_here, task()),
        parts_(std::in_place, std::move(filter), std::move(handler)) {
    static_assert(alignof(F) <= alignof(std::max_align_t) && alignof(P) <= alignof(std::max_align_t),
                  "a handler must not need more alignment than the heap provides");
    KEEL_EXPECT(!has_task || options.executor == nullptr,
                "a handler that returns a Task cannot have an executor, because it runs in the publisher's task: "
                "co_await resume_on() in the handler to continue elsewhere");
  }

  Outcome handle([[maybe_unused]] const void* event) noexcept override {
    if constexpr (!has_task) {
      try {
        Result<> result = invoke(*static_cast<const E*>(event));
        if (result) {
          count(Outcome::Delivered);
          return Outcome::Delivered;
        }
        failed(std::move(result).error());
      } catch (...) {
        failed(Error::from_exception());
      }
    }
    return Outcome::Failed;
  }
  void forget() noexcept override { parts_.reset(); }

 private:
  struct Parts {
    Parts(P&& p, F&& h) : filter(std::move(p)), handler(std::move(h)) {}
    [[no_unique_address]] P filter;
    F handler;
  };

  Result<> invoke(const E& event) {
    if constexpr (GivesResult<F, E>) {
      return parts_->handler(event);
    } else {
      static_cast<void>(parts_->handler(event));
      return {};
    }
  }

  static constexpr Run task() noexcept {
    if constexpr (has_task) {
      return &run_task;
    } else {
      return nullptr;
    }
  }
  static Task<> run_task(Subscriber& subscriber, const void* event) {
    co_await static_cast<Handling&>(subscriber).parts_->handler(*static_cast<const E*>(event));
  }

  static unsigned call_here(Subscriber& subscriber, const void* at, Awaited* awaited) noexcept {
    auto& self = static_cast<Handling&>(subscriber);
    const E& event = *static_cast<const E*>(at);
    try {
      if (!self.parts_->filter(event)) return 0;
      if constexpr (has_task) {
        if (awaited == nullptr) {
          self.count(Outcome::Dropped);
        } else {
          awaited->add(self);
        }
        return 0;
      } else if constexpr (GivesNothing<F, E>) {
        self.parts_->handler(event);
        return 1;
      } else {
        Result<> result = self.parts_->handler(event);
        if (result) return 1;
        self.failed(std::move(result).error(), awaited);
      }
    } catch (...) {
      self.failed(Error::from_exception(), awaited);
    }
    return 0;
  }
  static unsigned post(Subscriber& subscriber, const void* event, Awaited* awaited) noexcept {
    auto& self = static_cast<Handling&>(subscriber);
    try {
      if (!self.parts_->filter(*static_cast<const E*>(event))) return 0;
    } catch (...) {
      self.failed(Error::from_exception(), awaited);
      return 0;
    }
    self.enqueue(event, awaited);
    return 0;
  }

  std::optional<Parts> parts_;
};

}  // namespace keel::events::internal
