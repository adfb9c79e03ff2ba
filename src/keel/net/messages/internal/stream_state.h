// One stream of a connection; it lives while a direction is open or a MessageStream refers to it.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/buffer_chain.h"
#include "keel/base/error.h"
#include "keel/base/pool.h"
#include "keel/net/messages/message_stream.h"

namespace keel::messages::internal {

class StreamState {
 public:
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* state, std::size_t bytes) noexcept { pool_free(state, bytes); }

  StreamState(Connection& connection, std::uint32_t id, bool is_opener, std::uint32_t credit) noexcept;

  // The head of a message counts too, so that the number of empty messages is limited.
  static std::int64_t cost(std::size_t payload) noexcept {
    return static_cast<std::int64_t>(payload + Frame::head_bytes);
  }

  // Called for frames from the peer. Each function returns null, or a sentence that says what the peer did wrong.
  const char* data(std::string_view payload);
  const char* credit(std::string_view payload) noexcept;
  const char* end(std::string_view payload) noexcept;
  void abandoned() noexcept;
  // Called when the connection has ended.
  void lost() noexcept;

  void finish(const Error* error) noexcept;
  void abandon() noexcept;
  // Called when the handle is destroyed.
  void let_go() noexcept;
  // Called when the handler has ended.
  void handled(const Error* error) noexcept;
  void retry_send() noexcept;

  std::uint32_t id() const noexcept { return id_; }
  bool is_opener() const noexcept { return is_opener_; }
  Connection& connection() const noexcept { return *connection_; }

 private:
  friend class StreamSendCore;
  friend class StreamReceiveCore;
  friend class Connection;
  friend class messages::MessageStream;
  class Pinned;
  bool try_send(StreamSendCore& send) noexcept;
  void put(FrameKind kind, std::string_view payload = {}) noexcept;
  bool has_message() const noexcept { return !in_.empty(); }
  std::uint32_t first_size() const noexcept;
  std::string_view first_message();
  // Frees this object if nothing needs it any more; a call must be the last action of the caller.
  void settle() noexcept;

  Connection* connection_;  // Null: the connection has ended, or both directions of the stream have ended.
  const std::uint32_t id_;
  const bool is_opener_;
  int pins_ = 0;  // Greater than 0 while tasks are being woken: settle() must not free this object meanwhile.
  bool has_handle_ = false;
  bool is_handled_ = false;  // True while the handler that the stream was opened for is running.
  bool out_ended_ = false;
  bool in_ended_ = false;
  bool is_abandoned_ = false;   // The peer accepts no more messages of the stream.
  bool has_abandoned_ = false;  // This side accepts no more messages of the stream: incoming messages are dropped.
  std::int64_t credit_;         // The number of bytes that this side may send.
  std::int64_t allowed_;        // The number of bytes that the peer may send.
  std::int64_t taken_ = 0;      // The number of bytes that were read since credit was last sent to the peer.
  BufferChain in_;              // The received messages: for each message, its length and its bytes.
  Buffer scratch_;              // The first message, if it is in several pieces.
  std::optional<Error> in_error_;
  StreamSendCore* sender_ = nullptr;
  StreamReceiveCore* receiver_ = nullptr;
};

}  // namespace keel::messages::internal
