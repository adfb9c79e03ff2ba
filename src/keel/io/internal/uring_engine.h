// keel/io/internal/uring_engine.h — the io_uring engine. This engine uses multishot accept, multishot receive from a
// provided buffer ring, sends that are submitted in one batch, the kernel's own file operations, and one io_uring_enter
// per event-loop iteration. File operations that an older kernel lacks are executed by a few threads.
//
// Workers wake each other by messages from ring to ring, which are submitted with the other operations of an iteration:
// to pass a single job to another worker costs one system call, whereas an eventfd would cost two.
//
// Tried and left out: registered descriptors (no other system call knows them) and zero-copy sends (each send completes
// twice). Tried and kept: giving the kernel no more buffers than it recently used. The experiment uring-choices
// measures the effect of each choice on a raw echo (bench/lab run uring-choices).
//
// Threads: the loop's thread; wake() on any thread.

#pragma once

#include <liburing.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>

#include "keel/io/internal/system_engine.h"
#include "keel/io/internal/uring_buffers.h"

namespace keel::io {

// The state of a Receive, stored in its room: how the Receive continues, and the bytes that arrived while it was
// paused.
struct [[gnu::packed, gnu::aligned(2)]] UringReceive {
  std::uint16_t ending : 1 = 0;  // See Engine::end_receive.
  // True: this engine reads datagrams itself after poll has reported them, instead of letting the kernel fill provided
  // buffers.
  std::uint16_t polled : 1 = 0;
  std::uint16_t waiting_count : 14 = 0;
  std::uint32_t waiting_first = Receive::none;  // The names of waiting buffers.
  std::uint32_t waiting_last = Receive::none;
  // The final result, to be delivered after the waiting buffers; 1: no final result waits.
  std::int32_t waiting_final = 1;
};
struct UringSendDatagrams {
  bool polling = false;  // True while the send waits for room.
  msghdr message;
  iovec bytes;
};

class UringEngine final : public SystemEngine {
 public:
  static Result<std::unique_ptr<Engine>> make(const UringOptions& options);
  ~UringEngine() override;

  const char* name() const noexcept override { return "uring"; }

  bool submit(Op& op) noexcept override;
  void cancel(Op& op) noexcept override;
  void resume(Receive& op) noexcept override;
  void end_receive(Receive& op) noexcept override;
  Held hold(Receive& op) noexcept override;
  void release(Held held) noexcept override;
  bool wait(Instant until) noexcept override;
  int dispatch() noexcept override;
  void flush() noexcept override;
  void wake_other(Engine& other) noexcept override;

  void close(int fd) noexcept override;

 private:
  // The key of completions for which no operation waits, which are those of cancel and close.
  static constexpr std::uint64_t ignore_key = 1;

  explicit UringEngine(const UringOptions& options)
      : options_(options),
        reads_datagrams_(options.datagrams),
        buffers_(options.receive_bytes != 0 ? options.receive_bytes : UringBuffers::default_bytes) {}

  Result<> set_up();
  void probe_operations() noexcept;

  // --- The ring: uring.cc.

  // Whether the kernel has completions that it posts only during a system call of this thread.
  bool kernel_has_more() const noexcept {
    return (__atomic_load_n(ring_.sq.kflags, __ATOMIC_RELAXED) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
  }
  // Returns the next free submission entry, filled with zeros; like io_uring_get_sqe, but without support for polling
  // threads and large entries. The zeros are needed because not every version of liburing clears unused fields in its
  // io_uring_prep_… functions.
  io_uring_sqe* entry() noexcept {
    const io_uring_sq& queue = ring_.sq;
    if (queue.sqe_tail - __atomic_load_n(queue.khead, __ATOMIC_ACQUIRE) >= queue.ring_entries) [[unlikely]]
      return entry_of_full_ring();
    io_uring_sqe* sqe = &queue.sqes[ring_.sq.sqe_tail++ & queue.ring_mask];
    *sqe = {};
    return sqe;
  }
  [[gnu::noinline]] io_uring_sqe* entry_of_full_ring() noexcept;
  static void arm(io_uring_sqe* sqe, Op& op) noexcept {
    io_uring_sqe_set_data(sqe, &op);
    op.armed = true;
  }
  void arm_poll(Op& op, short events) noexcept;
  void arm_wake() noexcept;
  void arm_timeout(Instant at) noexcept;
  void cancel_armed(Op& op) noexcept;
  void send_message(int ring) noexcept;
  void hand_over_messages() noexcept;
  [[gnu::noinline]] void submit_other(Op& op) noexcept;
  int run_ready(Op& op) noexcept;
  int handle(const io_uring_cqe& completion) noexcept;
  [[gnu::noinline]] int handle_own(std::uint64_t key, int result) noexcept;
  [[gnu::noinline]] int completed(Op& op, int result, std::uint32_t flags) noexcept;
  void arm_send(Send& op) noexcept;
  // From now on the completion of `op`, which must be a send that was armed as unhurried, is counted like any other.
  void hurry(Op& op) noexcept {
    --unhurried_;
    op.unhurried = false;
  }
  [[gnu::noinline]] int sent(Send& op, int result) noexcept;

  // --- Receiving: uring_receives.cc.

  static UringReceive& state_of(Receive& op) noexcept { return op.room.as<UringReceive>(); }
  static bool receives(const Op& op) noexcept { return op.kind == Kind::Receive || op.kind == Kind::ReceiveDatagrams; }
  Result<> probe_receive_limit();
  void begin_receive(Receive& op) noexcept;
  void arm_receive(Receive& op) noexcept;
  // Call it once in each iteration: it restarts the receives that found no buffer, as soon as there are buffers again.
  void feed_starved() noexcept {
    if (buffers_.is_empty()) return;
    while (Op* op = starved_.pop_front()) arm_receive(static_cast<Receive&>(*op));
  }
  int run_receive(Receive& op) noexcept;
  int received(Receive& op, int result, std::uint32_t flags) noexcept;
  bool show(Receive& op, std::uint32_t buffer, std::uint32_t size) noexcept;
  [[gnu::noinline]] void note_full(Receive& op) noexcept;
  void keep_waiting(Receive& op, std::uint32_t buffer, std::uint32_t size) noexcept;
  void drop_waiting(Receive& op) noexcept;

  // --- Accepting, connecting, files to sockets: uring_sockets.cc.

  void arm_accept(Accept& op) noexcept;
  int accepted(Accept& op, int result, std::uint32_t flags) noexcept;
  int accept_by_hand(Accept& op) noexcept;
  bool advance_unix(Connect& op) noexcept;
  bool advance_send_file(SendFile& op) noexcept;
  int sent_file(SendFile& op) noexcept;

  // --- Datagrams: uring_datagrams.cc.

  bool submit_datagrams(SendDatagrams& op) noexcept;
  bool advance_datagrams(SendDatagrams& op) noexcept;
  int continue_datagrams(SendDatagrams& op) noexcept;
  void arm_datagram(SendDatagrams& op) noexcept;
  void arm_room(SendDatagrams& op) noexcept;
  int datagrams_sent(SendDatagrams& op, int result) noexcept;
  void choose_how(ReceiveDatagrams& op) noexcept;
  void arm_datagrams(ReceiveDatagrams& op) noexcept;
  static void show_datagram(ReceiveDatagrams& op) noexcept;
  int read_datagrams(ReceiveDatagrams& op, int result) noexcept;

  // --- Files: uring_files.cc.

  static unsigned bit(Kind kind) noexcept { return 1u << static_cast<unsigned>(kind); }
  void submit_file(FileOp& op) noexcept;
  void arm_file(FileOp& op) noexcept;
  int file_completed(FileOp& op, int result) noexcept;

  const UringOptions options_;
  io_uring ring_{};
  std::unique_ptr<msghdr[]> messages_;  // The headers of sends of several parts, one for each entry of the ring.
  unsigned file_kinds_ = 0;             // The kinds of file operations that the kernel supports, by bit().
  bool sends_messages_ = false;
  const bool reads_datagrams_;
  bool ring_ready_ = false;
  bool held_ = false;
  std::uint32_t receive_limit_ = 0;  // The number of bytes after which a receive ends and starts again; 0: no limit.
  UringBuffers buffers_;
  List<Op> starved_;
  const Op* filling_ = nullptr;  // The operation whose bytes filled the most recent buffers.
  unsigned filled_ = 0;          // The number of buffers in a row that filling_ has filled.
  std::uint64_t wake_count_ = 0;
  __kernel_timespec timeout_{};
  // The time at which the pending timeout expires; never(): no timeout is pending.
  Instant timeout_at_ = Instant::never();
  // The maximum number of messages to other workers in an iteration.
  static constexpr unsigned told_max = 16;
  std::shared_ptr<WakeUp<>> told_[told_max];
  unsigned told_count_ = 0;
  unsigned unhurried_ = 0;  // The number of unhurried sends that are armed, or whose completions were not handled yet.
};

}  // namespace keel::io
