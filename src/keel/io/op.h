// keel/io/op.h — operations: what is asked of an engine, and where the answer goes.
//
// An operation is intrusive and completion-shaped: it lives in its owner (a connection, an awaiting coroutine's frame),
// is handed to Engine::submit, and its `done` is called on the same worker when it completes. Nothing is allocated per
// operation. From submit() until its last done() it must stay where it is.
//
// A result is a count of bytes or a descriptor when >= 0, a negative errno when < 0 (-ECANCELED after cancel()).
//
// Receive and Accept are multishot: done() is called for every arrival until a call with `more == false`, after which
// the operation is idle and may be submitted again or destroyed.

#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "keel/base/list.h"
#include "keel/io/address.h"

namespace keel::io {

enum class Kind : std::uint8_t { Accept, Receive, Send, Connect };

struct Op : Link {  // The link is the engine's: its ready, starved and cancelling lists.
  using Done = void (*)(Op&) noexcept;

  Op(Kind k, Done d) noexcept : done(d), kind(k) {}

  bool is_idle() const noexcept { return !pending; }

  Done done;
  int fd = -1;              // In: the socket.
  std::int32_t result = 0;  // Out.
  const Kind kind;
  bool more = false;        // Out: this multishot operation stays submitted.
  bool pending = false;     // The engine's: submitted and not finally done.
  bool cancelling = false;  // The engine's.
  bool armed = false;       // The engine's: the kernel has it.
  bool paused = false;      // Receive: see Engine::pause.
};

// Bytes as they arrive. done() with result > 0: `result` bytes at `data`, valid during the call unless kept by
// Engine::hold(). result == 0: the peer finished writing (final). result < 0: final.
struct Receive : Op {
  explicit Receive(Done d) noexcept : Op(Kind::Receive, d) {}
  char* data = nullptr;      // Out.
  std::uint32_t buffer = 0;  // Out, the engine's name of the buffer.
  // The engine's: arrivals that wait while paused (buffer names, first and last), and its own flags.
  std::uint32_t waiting_first = none;
  std::uint32_t waiting_last = none;
  std::int32_t waiting_final = 1;  // A final result that waits behind them; 1: none.
  bool readable = false;           // epoll, sim: there may be more to read.
  static constexpr std::uint32_t none = 0xffffffff;
};

// New connections. done() with result >= 0: the descriptor of a new connection, now the callee's to close.
// result < 0: final; -EMFILE, -ENFILE, -ENOMEM, -ENOBUFS mean "submit again later" (by a timer, not at once).
struct Accept : Op {
  explicit Accept(Done d) noexcept : Op(Kind::Accept, d) {}
  bool shared = false;  // In: others accept from the same socket; they take turns, and each arrival wakes one of them.
};

// Sends all bytes of `parts` in order, or fails. One send per stream at a time.
// result: the total on success (INT32_MAX when it is more); an error leaves it unknown how much the peer has got.
struct Send : Op {
  explicit Send(Done d) noexcept : Op(Kind::Send, d) {}
  void set(const char* data, std::size_t size) noexcept {
    single = {const_cast<char*>(data), size};
    parts = &single;
    part_count = 1;
  }
  iovec* parts = nullptr;        // In: must live until done; the engine advances base and length as bytes leave.
  std::uint32_t part_count = 0;  // In: at most 64.
  iovec single = {};             // Room for the usual case.
  std::uint64_t sent = 0;        // The engine's: bytes that have left.
  std::int32_t total() const noexcept { return sent > INT32_MAX ? INT32_MAX : static_cast<std::int32_t>(sent); }
  alignas(8) char scratch[56];  // The engine's: a msghdr for vectored sends.
};

// Connects a socket made by Engine::open_stream.
struct Connect : Op {
  explicit Connect(Done d) noexcept : Op(Kind::Connect, d) {}
  Address address;  // In.
};

// Bytes kept beyond done(), at `data` (not always where they were during the call). Give them back with
// Engine::release as soon as possible, buffers are few.
struct Held {
  char* data = nullptr;
  std::uint32_t size = 0;
  std::uint32_t buffer = Receive::none;  // The engine's.
};

}  // namespace keel::io
