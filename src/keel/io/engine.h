// keel/io/engine.h — all I/O of a worker: one interface over io_uring, epoll and simulation.
//
// An Engine belongs to one worker and one thread. Everything above it (timers, deadlines, accounting, streams, HTTP) is
// written once, in terms of submit, cancel, wait and dispatch. sockets.h has the functions that create and configure
// sockets. The three implementations are in uring.cc, epoll.cc and testing/simulation.cc; the same tests run
// on all three (engine_test.cc).
//
// Threads: all calls on the owning thread, except wake(), which any thread may call.
// Errors:  operations report in Op::result; set-up calls return Result.
// Cost:    uring: one io_uring_enter per event-loop iteration for everything submitted and completed in it. epoll: one
//          epoll_wait per iteration, one recv per readable event, one send per Send that does not have to wait.

#pragma once

#include <memory>
#include <string>

#include "keel/base/host.h"
#include "keel/base/result.h"
#include "keel/io/op.h"
#include "keel/io/sockets.h"

namespace keel::io {

class Engine : public Sockets {
 public:
  // "uring", "epoll", "sim".
  virtual const char* name() const noexcept = 0;

  // Submits `op`. True: it is already complete, `op.result` is set, and done() is not called (only Send, SendFile,
  // SendDatagrams and Connect). False: done() will be called from a later dispatch(), never from inside this call. To
  // keep one sender from starving the others, it also returns false after about 1 MiB, or 256 operations, were
  // submitted in a row and completed synchronously.
  virtual bool submit(Op& op) noexcept = 0;

  // Asks a pending `op` to end; done() follows from a later dispatch(), with -ECANCELED or with the result it had
  // reached. No effect on an idle op.
  virtual void cancel(Op& op) noexcept = 0;

  // While a Receive is paused its done() is not called. Arriving bytes wait, and beyond a few buffers stay in the
  // kernel, so that the peer is slowed down. resume() delivers the waiting bytes from a later dispatch().
  static void pause(Receive& op) noexcept { op.paused = true; }
  virtual void resume(Receive& op) noexcept = 0;
  // Ends a pending Receive, paused or not, and loses no bytes: done() is called for everything received until then, and
  // last with -ECANCELED, or with the end that the stream had reached. Bytes that arrive later are for the next Receive
  // of the descriptor, which reports an end of the stream again.
  virtual void end_receive(Receive& op) noexcept = 0;

  // Call it inside done() of a Receive: keeps the bytes beyond the call.
  virtual Held hold(Receive& op) noexcept = 0;
  virtual void release(Held held) noexcept = 0;

  // Submits waiting operations, and waits for at least one completion but not beyond `until` (in the past: does not
  // wait). Returns early after wake(). Calls no done(). False: dispatch() has nothing to do.
  virtual bool wait(Instant until) noexcept = 0;
  // Calls done() for everything that had completed when wait() returned; returns how many. The loop reads the clock
  // between the two, so that done() sees the time of its completion.
  virtual int dispatch() noexcept = 0;

  // Makes a running or the next wait() return early. Any thread.
  virtual void wake() noexcept = 0;

  // Submits waiting operations, as wait() does. Call it during a long event-loop iteration, so that they need not wait
  // for its end, and after the last iteration of a loop, for closes and wake-ups of other workers.
  virtual void flush() noexcept {}

  // Does what other.wake() does, on the thread that owns this engine. The wake-up may be submitted together with the
  // operations of the next wait(), which costs less than a separate system call. A wake() of `other` before that wakes
  // it immediately.
  virtual void wake_other(Engine& other) noexcept { other.wake(); }

  // System calls this engine has made (an exact count in epoll and uring; 0 in sim).
  virtual std::uint64_t system_calls() const noexcept = 0;
};

// The engine to make; Auto is io_uring if it passes its probe, else epoll.
enum class EngineKind : std::uint8_t { Auto, Uring, Epoll };

// The engine that Auto selects on this system, and why.
struct EngineChoice {
  EngineKind kind;  // Uring or Epoll.
  // A line for the log: "io_uring passed its probe (kernel 6.18)", or why it did not.
  std::string reason;
};

// Resolves Auto by a real probe of every uring feature in use; Uring fails with Unsupported and the reason when the
// probe does not pass.
Result<EngineChoice> choose_engine(EngineKind wanted);

// The sizes of an engine's buffers.
struct EngineOptions {
  // The maximum size of one receive: the size of each buffer that io_uring fills (it keeps as many as it recently
  // used), and of epoll's only buffer. A larger value saves system calls where many bytes arrive together, and costs
  // memory and cache. 0: 16 KiB on io_uring, 64 KiB on epoll.
  std::uint32_t receive_bytes = 0;
  static constexpr std::uint32_t receive_bytes_min = 1024;
  static constexpr std::uint32_t receive_bytes_max = 1024 * 1024;
};

// An engine for the calling thread. InvalidArgument: an option is outside of its bounds.
Result<std::unique_ptr<Engine>> make_engine(EngineKind kind, const EngineOptions& options = {});

}  // namespace keel::io
