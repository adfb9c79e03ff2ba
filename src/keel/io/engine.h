// keel/io/engine.h — all I/O of a worker, through one interface for io_uring, epoll and the simulation.
//
// An Engine belongs to one worker and one thread. Everything above the engine (timers, deadlines, accounting, streams,
// HTTP) is written once, in terms of submit, cancel, wait and dispatch. sockets.h has the functions that create and
// configure sockets. The three implementations are in uring.cc, epoll.cc and testing/simulation.cc; the same tests run
// on all three (engine_test.cc).
//
// Threads: all calls on the owning thread, except wake(), which any thread may call.
// Errors:  operations report in Op::result; set-up calls return Result.
// Cost:    on io_uring, one io_uring_enter per event-loop iteration for everything that is submitted and completed in
//          that iteration. On epoll, one epoll_wait per iteration, one recv per readable event, one send per Send that
//          does not have to wait.

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

  // Submits `op`. True: `op` is already complete, `op.result` is set, and done() is not called; this is possible only
  // for Send, SendFile, SendDatagrams and Connect. False: done() will be called from a later dispatch(), never from
  // inside this call. To keep one sender from starving the others, submit() also returns false after about 1 MiB, or
  // 256 operations, were submitted in a row and completed synchronously.
  virtual bool submit(Op& op) noexcept = 0;

  // Asks a pending `op` to end; done() is called from a later dispatch(), with -ECANCELED, or with the result of `op`
  // if it had already completed or was partly done. Has no effect on an idle `op`.
  virtual void cancel(Op& op) noexcept = 0;

  // While a Receive is paused, its done() is not called. Bytes that arrive during the pause wait for resume(). If
  // more bytes arrive than a few buffers hold, the further bytes stay in the kernel, which slows the peer down.
  // resume() delivers the waiting bytes from a later dispatch().
  static void pause(Receive& op) noexcept { op.paused = true; }
  virtual void resume(Receive& op) noexcept = 0;
  // Ends a pending Receive, paused or not, without losing bytes: done() is called for all bytes that were received
  // until then, and finally with -ECANCELED, or with the end of the stream if the stream had already ended. Bytes that
  // arrive later are delivered to the next Receive on the descriptor. The next Receive also reports the end of the
  // stream, even if that end was reported before.
  virtual void end_receive(Receive& op) noexcept = 0;

  // Call it inside done() of a Receive to keep the received bytes after done() returns, until release().
  virtual Held hold(Receive& op) noexcept = 0;
  virtual void release(Held held) noexcept = 0;

  // Submits queued operations, and waits until at least one operation has completed, but not beyond `until`; if `until`
  // is in the past, it does not wait. Returns early after wake(). Does not call done(). False: dispatch() has nothing
  // to do.
  virtual bool wait(Instant until) noexcept = 0;
  // Calls done() for every operation that had completed when wait() returned; returns the number of these operations.
  // The loop reads the clock between wait() and dispatch(), so that done() sees the time at which its operation
  // completed.
  virtual int dispatch() noexcept = 0;

  // Makes the running wait() return early, or the next wait() if none is running. May be called on any thread.
  virtual void wake() noexcept = 0;

  // Submits queued operations, as wait() does. Call it during a long event-loop iteration, so that the queued
  // operations need not wait for the end of the iteration. Call it also after the last iteration of a loop, so that
  // queued closes, and queued wake-ups for other workers, are submitted.
  virtual void flush() noexcept {}

  // Wakes `other` as other.wake() does, but must be called on the thread that owns this engine. The wake-up may be
  // submitted together with the operations of the next wait(), which costs less than a separate system call. If another
  // thread calls other.wake() before that submission, `other` is woken immediately.
  virtual void wake_other(Engine& other) noexcept { other.wake(); }

  // The number of system calls that this engine has made: exact for epoll and uring, 0 for sim.
  virtual std::uint64_t system_calls() const noexcept = 0;
};

// The engine to make; Auto is io_uring if it passes its probe, else epoll.
enum class EngineKind : std::uint8_t { Auto, Uring, Epoll };

// The engine that Auto selects on this system, and why.
struct EngineChoice {
  EngineKind kind;  // Uring or Epoll.
  // The reason for the choice, as a line for the log: "io_uring passed its probe (kernel 6.18)", or the reason why
  // io_uring did not pass.
  std::string reason;
};

// Resolves Auto by trying every uring feature that the engine uses. If `wanted` is Uring and one of the features does
// not work, fails with Unsupported and the reason.
Result<EngineChoice> choose_engine(EngineKind wanted);

// The sizes of an engine's buffers.
struct EngineOptions {
  // The maximum size of one receive: the size of each buffer that io_uring fills (the engine keeps as many buffers as
  // it recently used), and of epoll's only buffer. A larger value saves system calls where many bytes arrive together,
  // and costs memory and cache. 0 means 16 KiB on io_uring and 64 KiB on epoll.
  std::uint32_t receive_bytes = 0;
  static constexpr std::uint32_t receive_bytes_min = 1024;
  static constexpr std::uint32_t receive_bytes_max = 1024 * 1024;
};

// Makes an engine for the calling thread. InvalidArgument: an option is outside its bounds.
Result<std::unique_ptr<Engine>> make_engine(EngineKind kind, const EngineOptions& options = {});

}  // namespace keel::io
