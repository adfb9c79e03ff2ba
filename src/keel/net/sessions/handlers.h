// keel/net/sessions/handlers.h — registers handlers for the messages of a session's peer and for the events of the
// session.
//
//   Handlers handlers;
//   handlers.on<Reading>([&](Session& from, Reading reading) { last[from.number()] = reading; });
//   handlers.on<Order>([&](Session& from, Order order) -> Task<> { co_await store.add(std::move(order)); });
//   handlers.on_event([&](Session& from, const SessionEvent& event) { … });
//
// A handler is a function or a lambda. A lambda is kept, with its captures, as long as the Handlers, so even a
// coroutine lambda may have captures. A handler takes (Session&, M) and returns nothing, a Result<> or a Task<>. The
// messages and events of a session are handled one after the other in the order in which they were sent: while a Task
// runs, the next message or event waits.
//
// Errors:    an error or exception of a handler is logged and counted (SessionStats::failed); the message counts as
//            handled, because handling it again would fail again. A message of a type without a handler is logged and
//            counted in the same way, and also counts as handled. A message that cannot be decoded as its type ends the
//            session with InvalidArgument, and the peer receives the reason. Registering two handlers for one type is a
//            bug (base/bug.h).
// Lifetime:  must outlive the servers and clients that use it.
// Threads:   must not change while servers or clients run; workers may share a Handlers object if they may share its
//            handlers.
// Cancel:    a Task is stopped when its session ends.
// Cost:      for each message, a binary search for its type; a handler that is a Task also costs a coroutine frame and
//            a block of the pool.

#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/net/messages/message.h"
#include "keel/net/sessions/session.h"
#include "keel/task/task.h"

namespace keel::sessions {

class Handlers {
 public:
  Handlers() = default;
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

  // Registers f(Session&, M) for messages of type M.
  template <class M, class F>
  Handlers& on(F f) {
    add(messages::message_type_of<M>, [f = std::move(f)](Session& session, std::string_view payload) -> Result<> {
      KEEL_TRY(M message, messages::decode<M>(payload));
      call(f, session, std::move(message));
      return {};
    });
    return *this;
  }
  // Registers f(Session&, std::string_view), which gets the undecoded payload, borrowed during the call.
  template <class F>
  Handlers& on_raw(std::uint16_t type, F f) {
    static_assert(!std::is_same_v<std::invoke_result_t<F&, Session&, std::string_view>, Task<>>,
                  "a handler of raw bytes must not return a Task, because the bytes are valid only during the call");
    add(type, [f = std::move(f)](Session& session, std::string_view payload) -> Result<> {
      call(f, session, payload);
      return {};
    });
    return *this;
  }
  // Registers f(Session&, const SessionEvent&), which must not throw; only one such function may be registered.
  Handlers& on_event(Function<void(Session&, const SessionEvent&)> f);

 private:
  friend class Session;
  using Handle = Function<Result<>(Session&, std::string_view)>;
  struct Entry {
    std::uint16_t type;
    Handle handle;
  };

  template <class F, class M>
  static void call(const F& f, Session& session, M&& message) {
    using Given = std::invoke_result_t<const F&, Session&, M>;
    static_assert(std::is_void_v<Given> || std::is_same_v<Given, Result<>> || std::is_same_v<Given, Task<>>,
                  "a handler of a session must return nothing, Result<> or Task<>");
    if constexpr (std::is_same_v<Given, Task<>>) {
      session.start(f(session, std::forward<M>(message)));
    } else if constexpr (std::is_void_v<Given>) {
      f(session, std::forward<M>(message));
    } else {
      Result<> result = f(session, std::forward<M>(message));
      if (!result) session.failed(result.error());
    }
  }
  void add(std::uint16_t type, Handle handle);
  const Handle* find(std::uint16_t type) const noexcept;

  std::vector<Entry> entries_;  // Sorted by type.
  Function<void(Session&, const SessionEvent&)> on_event_;
};

}  // namespace keel::sessions
