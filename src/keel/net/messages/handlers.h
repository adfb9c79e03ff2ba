// keel/net/messages/handlers.h — registers handlers for the messages of a peer.
//
//   Handlers handlers;
//   handlers.on<Reading>([&](Peer&, Reading reading) -> Task<> { co_await store.add(std::move(reading)); });
//   handlers.on<Average>([&](Peer&, Average of) -> Task<Celsius> { co_return co_await store.average(of.device); });
//   handlers.on<Ping>([](Peer&, Ping) { return Pong(); });                   // without a task: synchronously
//   handlers.on_raw(9, [](Peer&, std::string_view bytes) { return std::string(bytes); });
//   handlers.on_stream<Rows>([&](Peer&, Rows which, MessageStream out) -> Task<> { … });
//
// A handler is a function or a lambda. A lambda is kept, with its captures, as long as the Handlers, so even a
// coroutine lambda may have captures. A handler takes (Peer&, M), and returns a Task<Reply>, a Task<>, a Result<Reply>,
// a reply or nothing. The handler's result is sent as the reply if the message was a request; the result for a one-way
// message is dropped, but an error is counted.
//
// The handlers of one-way messages start in the order of arrival; handlers that wait run concurrently.
//
// Errors:    an error or exception of a handler is sent to the peer (put_error in frame.h). Registering two handlers
//            for one type is a bug (base/bug.h).
// Lifetime:  must outlive the servers and clients that use it.
// Threads:   must not change while servers or clients run; workers may share a Handlers object if they may share its
//            handlers.
// Cancel:    a handler is stopped when the peer cancels its request, when its deadline passes, and when the connection
//            ends.
// Cost:      a search among the registered types; a handler that is a task also costs a coroutine frame and a block of
//            the pool.

#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "keel/base/function.h"
#include "keel/net/messages/internal/incoming.h"
#include "keel/net/messages/message.h"
#include "keel/net/messages/peer.h"
#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel::messages {

class Handlers {
 public:
  Handlers() = default;
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

  // Registers f(Peer&, M) for messages and requests of type M.
  template <class M, class F>
  Handlers& on(F f) {
    add(message_type_of<M>, internal::Incoming::What::Message, [f = std::move(f)](internal::Incoming& in) mutable {
      Result<M> message = decode<M>(in.payload());
      if (!message) return in.reject(std::move(message).error());
      in.handle([&](Peer& peer) -> decltype(auto) { return f(peer, *std::move(message)); });
    });
    return *this;
  }
  // Registers f(Peer&, std::string_view), which gets the undecoded payload. The payload is borrowed during the call, so
  // a handler that returns a Task must take a Buffer instead.
  template <class F>
  Handlers& on_raw(std::uint16_t type, F f) {
    add(type, internal::Incoming::What::Message, [f = std::move(f)](internal::Incoming& in) mutable {
      if constexpr (std::is_invocable_v<F&, Peer&, std::string_view>) {
        using Given = std::invoke_result_t<F&, Peer&, std::string_view>;
        static_assert(!internal::is_task<Given>,
                      "a handler of raw bytes that returns a Task must take a Buffer: a std::string_view is valid only "
                      "during the call");
        in.handle([&](Peer& peer) -> decltype(auto) { return f(peer, in.payload()); });
      } else {
        in.handle([&](Peer& peer) -> decltype(auto) {
          Buffer bytes;
          bytes.append(in.payload());
          return f(peer, std::move(bytes));
        });
      }
    });
    return *this;
  }
  // Registers f(Peer&, M, MessageStream) -> Task<> for streams that the peer opens with an M; see message_stream.h.
  template <class M, class F>
  Handlers& on_stream(F f);

  // Called by a connection. Null: no handler is registered.
  using Handle = Function<void(internal::Incoming&)>;
  const Handle* find(std::uint16_t type, internal::Incoming::What what) const noexcept;

 private:
  struct Entry {
    std::uint16_t type;
    internal::Incoming::What what;
    Handle handle;
  };
  void add(std::uint16_t type, internal::Incoming::What what, Handle handle);
  std::vector<Entry> entries_;  // Sorted by type.
};

}  // namespace keel::messages
