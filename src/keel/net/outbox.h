// keel/net/outbox.h — a queue of bytes to be written to a stream, so that the code that produces them need not wait for
// the peer.
//
//   Task<> talk(Room& room, Stream stream) {
//     Outbox outbox(stream);
//     Scope writing;
//     writing.spawn(outbox.run());
//     …                                                // room.add(outbox), read from the stream, room.remove(outbox)
//     outbox.close();
//     co_await writing.join();                          // what was queued has been written
//   }
//   void Room::say(std::string_view line) {
//     for (Member& member : members) {
//       if (!member.outbox.push(line)) member.stream.shutdown();   // too slow: drop the line, or the member
//     }
//   }
//
// A producer that can wait pushes until is_above_high(), then awaits below_low().
//
// Errors:    push: ResourceExhausted when the queue would hold more than bytes_max, FailedPrecondition after close(),
//            Unavailable when run() has ended; the bytes are then not queued. run: as Stream::write. below_low,
//            drained: Unavailable when run() ends before the wait has completed.
// Ownership: bytes are copied, or moved in. The outbox refers to the stream, to which nothing else may write while
//            run() is running.
// Lifetime:  must outlive run() and every waiting task; bytes that are still queued when the outbox is destroyed are
//            not sent.
// Threads:   the stream's worker.
// Cancel:    run() ends immediately; after that the stream can no longer be written to. A cancelled wait of below_low()
//            or drained() has no effect.
// Cost:      bytes that are pushed during a write are sent in the next write. A write takes one system call for at most
//            16 blocks of 16 KiB. No heap in steady state; an empty queue has no buffers.

#pragma once

#include <cstddef>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/buffer_chain.h"
#include "keel/net/stream.h"
#include "keel/task/event.h"
#include "keel/task/task.h"
#include "keel/task/wait_list.h"

namespace keel {

// The limits of the queued bytes.
struct OutboxOptions {
  std::size_t high_bytes = 256 * 1024;  // A producer should pause when more than this many bytes are queued.
  std::size_t low_bytes = 64 * 1024;    // A paused producer may continue when at most this many bytes are queued.
  // The maximum number of queued bytes, which limits the memory for a peer that does not read; a push() that would
  // exceed it fails.
  std::size_t bytes_max = 1024 * 1024;
};

class Outbox {
 public:
  class Wait;

  explicit Outbox(Stream& stream, const OutboxOptions& options = {}) noexcept : stream_(stream), options_(options) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;
  ~Outbox();

  // Appends to the queue; never waits.
  Result<> push(std::string_view bytes);
  Result<> push(Buffer&& bytes);

  // The number of queued bytes, including those that are being written.
  std::size_t queued_bytes() const noexcept { return queue_.size(); }
  bool is_above_high() const noexcept { return queued_bytes() > options_.high_bytes; }
  // below_low() completes when at most low_bytes bytes are queued; drained() completes when the queue is empty.
  [[nodiscard]] Wait below_low() noexcept;
  [[nodiscard]] Wait drained() noexcept;

  // Writes the queued bytes, until close() was called and everything is written, or until a write fails. Call it once.
  Task<> run();
  // Ends pushing: every later push() fails.
  void close() noexcept;

 private:
  class Flight;
  class Running;
  Result<> admits(std::size_t bytes) const noexcept;
  void end() noexcept;

  Stream& stream_;
  const OutboxOptions options_;
  BufferChain queue_;
  Event more_;  // This event is set when there are bytes to write, and after close().
  WaitList waiting_low_;
  WaitList waiting_drained_;
  bool began_ = false;
  bool closed_ = false;
  bool ended_ = false;
};

class [[nodiscard]] Outbox::Wait : public Waiting {
 public:
  using Value = void;
  Wait(const Outbox& outbox, WaitList& list, std::size_t level) noexcept
      : outbox_(outbox), list_(list), level_(level) {}
  bool start() noexcept { return outbox_.ended_ || outbox_.queued_bytes() <= level_ || wait_in(list_); }
  Result<> take() noexcept;

 private:
  const Outbox& outbox_;
  WaitList& list_;
  std::size_t level_;
};

}  // namespace keel
