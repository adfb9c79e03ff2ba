// keel/net/stream.h — a byte stream to a peer: TCP or a Unix socket, on the current worker.
//
//   Task<> echo(Stream stream) {
//     while (true) {
//       Chunk chunk = co_await stream.receive();        // borrowed until the next receive; empty: the peer has
//       finished if (chunk.empty()) co_return; co_await stream.write(chunk);                   // all of it, or an
//       error
//     }
//   }
//
// Errors:    Unavailable with the errno when the connection breaks (ECONNRESET, EPIPE, …), Cancelled and
//            DeadlineExceeded when the task is stopped.
// Ownership: owns its descriptor; movable between operations. Destroying it closes: what was written is still sent.
// Threads:   the worker it was made on.
// Cancel:    a cancelled receive loses nothing and may be repeated; after a cancelled write it is unknown how much has
//            been sent, so the stream is of no more use.
// Cost:      receive copies nothing on io_uring, and on epoll nothing above 4 KiB; no heap in steady state.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "keel/io/address.h"
#include "keel/io/op.h"
#include "keel/task/leaf.h"
#include "keel/task/task.h"

namespace keel {

namespace io {
class Engine;
}

// Received bytes; valid until the next receive() or read() of their stream, or its end.
using Chunk = std::string_view;

class Stream {
 public:
  class Receive;
  class Read;
  class Write;

  // Connects to `address`. Unavailable when it is refused or cannot be reached.
  static Task<Stream> connect(Address address);
  // Takes over a connected descriptor of the current worker's engine.
  explicit Stream(int fd);
  Stream(Stream&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    if (this != &other) {
      close();
      state_ = std::exchange(other.state_, nullptr);
    }
    return *this;
  }
  ~Stream() { close(); }

  // The next bytes, as many as there are (at most 64 KiB); what read() left of a chunk comes first. Empty: the peer has
  // finished writing.
  [[nodiscard]] Receive receive() noexcept;
  // Copies at most `into.size()` bytes; returns how many, 0 at the end. What is left of a chunk comes first.
  [[nodiscard]] Read read(std::span<char> into) noexcept;
  // Sends all of `bytes`, which must live until then. One write at a time.
  [[nodiscard]] Write write(std::string_view bytes) noexcept;
  // Tells the peer that nothing more will come; reading goes on. Between writes.
  void shutdown_write() noexcept;
  // At once; the destructor does the same.
  void close() noexcept;

  Address local_address() const noexcept;
  Address peer_address() const noexcept;

 private:
  friend class StreamInput;
  struct State;
  State* state_;
};

// The part of receive and read that waits.
class StreamInput : public Leaf {
 public:
  bool start() noexcept;

 protected:
  explicit StreamInput(Stream::State& state) noexcept : Leaf(&cancel), state_(state) {}
  Result<Chunk> chunk() noexcept;
  Stream::State& state_;

 private:
  friend struct Stream::State;
  static void cancel(Leaf& leaf) noexcept;
  bool cancelled_ = false;
};

class [[nodiscard]] Stream::Receive : public StreamInput {
 public:
  using Value = Chunk;
  explicit Receive(State& state) noexcept : StreamInput(state) {}
  Result<Chunk> take() noexcept;
};

class [[nodiscard]] Stream::Read : public StreamInput {
 public:
  using Value = std::size_t;
  Read(State& state, std::span<char> into) noexcept : StreamInput(state), into_(into) {}
  Result<std::size_t> take() noexcept;

 private:
  std::span<char> into_;
};

class [[nodiscard]] Stream::Write : public Leaf {
 public:
  using Value = void;
  Write(State& state, std::string_view bytes) noexcept : Leaf(&cancel), state_(state), bytes_(bytes) {}
  bool start() noexcept;
  Result<> take() noexcept;

 private:
  friend struct State;
  static void cancel(Leaf& leaf) noexcept;
  State& state_;
  std::string_view bytes_;
};

}  // namespace keel
