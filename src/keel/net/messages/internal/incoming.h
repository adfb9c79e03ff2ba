// The arguments that a connection passes to a handler, and the state that is kept while a handler waits.

#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/list.h"
#include "keel/base/pool.h"
#include "keel/base/wheel.h"
#include "keel/net/messages/frame.h"
#include "keel/net/messages/message.h"
#include "keel/observe/span.h"
#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel::messages {

class Peer;

namespace internal {

class Connection;
class StreamState;

template <class X>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<Task<T>> = true;
template <class X>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<Result<T>> = true;

// The response to a request; the response is encoded directly at the end of the send queue. If send() is not called, or
// the connection has closed, the response is removed from the queue.
class Reply {
 public:
  Reply(Connection& connection, std::uint32_t id);
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply();
  Buffer& payload() noexcept { return out_; }  // Append the payload to this buffer.
  void send();

 private:
  void give_back() noexcept;

  Connection& connection_;
  const std::uint32_t id_;
  bool is_held_ = true;
  Buffer out_;  // The send queue, with the response at its end.
  std::size_t begin_;
};

// A message whose handler waits.
class Handling : public Link {
 public:
  enum class Kind : std::uint8_t { Message, Request, Stream };

  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;
  virtual StartCore& start() noexcept = 0;
  virtual void destroy() noexcept = 0;
  virtual bool begin(const StartOptions& options) noexcept = 0;
  virtual void finish() noexcept = 0;  // Sends the reply, and notifies the connection, which destroys this object.

 protected:
  explicit Handling(Connection& connection) noexcept : connection_(connection), timer_(*this) {}
  virtual ~Handling() = default;
  void respond_error(Error&& error) noexcept;
  void respond_empty() noexcept;
  bool wants_response() const noexcept { return kind_ == Kind::Request; }
  void ended() noexcept;

  Connection& connection_;
  Kind kind_ = Kind::Message;
  std::uint32_t id_ = 0;

 private:
  friend class Connection;
  friend class PeerWait;
  struct Deadline final : Timer {
    explicit Deadline(Handling& of) noexcept : Timer(&passed), handling(of) {}
    static void passed(Timer& timer) noexcept;
    Handling& handling;
  };
  StreamState* stream_ = nullptr;
  std::uint32_t waits_ = 0;  // The number of waits for the peer that are in progress.
  Span span_;
  Deadline timer_;
};

template <class R>
class HandlingOf final : public Handling, public Start<R> {
 public:
  HandlingOf(Connection& connection, Task<R>&& task) noexcept : Handling(connection), task_(&task.release()) {}
  ~HandlingOf() override {
    if (task_ != nullptr) task_->destroy();
  }
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* handling, std::size_t bytes) noexcept { pool_free(handling, bytes); }

  StartCore& start() noexcept override { return *this; }
  void destroy() noexcept override { delete this; }
  bool begin(const StartOptions& options) noexcept override {
    return Start<R>::begin(Task<R>(*std::exchange(task_, nullptr)), &done, options);
  }
  void finish() noexcept override {
    Result<R> result = Start<R>::take();
    if (!result) {
      respond_error(std::move(result).error());
    } else if constexpr (std::is_void_v<R>) {
      respond_empty();
    } else if (wants_response()) {
      try {
        Reply reply(connection_, id_);
        encode(reply.payload(), *result);
        reply.send();
      } catch (...) {
        respond_error(Error::from_exception());
      }
    }
    ended();
  }

 private:
  static void done(StartCore& start) noexcept { static_cast<HandlingOf&>(static_cast<Start<R>&>(start)).finish(); }
  Promise<R>* task_;  // The task, until it begins.
};

// A message that has just arrived.
class Incoming {
 public:
  enum class What : std::uint8_t { Message, Stream };

  Incoming(Connection& connection, const Frame& frame, Handling::Kind kind, StreamState* stream = nullptr) noexcept
      : connection_(connection), frame_(frame), kind_(kind), stream_(stream) {}

  std::string_view payload() const noexcept { return frame_.payload; }
  StreamState& stream() const noexcept { return *stream_; }
  // Call reject() when the message was not handled.
  void reject(Error&& error) noexcept;

  // Handles the message with f(Peer&), which returns a task, a result, a reply or nothing.
  template <class F>
  void handle(F&& f) noexcept {
    using Given = std::remove_cvref_t<std::invoke_result_t<F&, Peer&>>;
    try {
      if constexpr (is_task<Given>) {
        start(*new HandlingOf<typename Given::Value>(connection_, f(peer())));
      } else if constexpr (std::is_void_v<Given>) {
        f(peer());
        respond_empty();
      } else if constexpr (is_result<Given>) {
        Given result = f(peer());
        if (!result) return reject(std::move(result).error());
        if constexpr (std::is_void_v<typename Given::value_type>) {
          respond_empty();
        } else {
          respond(*result);
        }
      } else {
        respond(f(peer()));
      }
    } catch (...) {
      reject(Error::from_exception());
    }
  }

 private:
  template <class R>
  void respond(const R& value) {
    if (kind_ != Handling::Kind::Request) return;
    Reply reply(connection_, frame_.id);
    encode(reply.payload(), value);
    reply.send();
  }
  void respond_empty();
  void start(Handling& handling) noexcept;
  Peer& peer() const noexcept;

  Connection& connection_;
  const Frame& frame_;
  Handling::Kind kind_;
  StreamState* stream_;
};

}  // namespace internal
}  // namespace keel::messages
