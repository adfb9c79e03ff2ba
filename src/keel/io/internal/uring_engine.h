// keel/io/internal/uring_engine.h — the io_uring engine: real completions. Multishot accept, multishot receive from a
// provided buffer ring, sends that leave in one batch, files as the kernel's own operations, and one io_uring_enter per
// turn. What an older kernel lacks of files is left to a few threads.
//
// Workers wake each other by messages from ring to ring, which leave with the rest of a turn: a job passed on alone
// costs one system call instead of the eventfd's two.
//
// Tried and left out: registered descriptors (no other system call knows them) and zero-copy sends (each completes
// twice). Tried and kept: the kernel has no more buffers than it lately used. The experiment uring-choices says what
// each brings to a raw echo: bench/lab run uring-choices.
//
// Threads: the loop's; wake() any.

#pragma once

#include <liburing.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "keel/io/datagrams.h"
#include "keel/io/internal/file_pool.h"
#include "keel/io/internal/sockets.h"
#include "keel/io/internal/turn_share.h"
#include "keel/io/internal/unix_connects.h"
#include "keel/io/internal/uring_buffers.h"
#include "keel/io/internal/wake_up.h"

namespace keel::io {

class UringEngine final : public Engine {
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
  void wake() noexcept override;
  void flush() noexcept override;
  void wake_other(Engine& other) noexcept override;

  Result<int> open_listener(const Address& address, const ListenOptions& options) override;
  Result<int> open_stream(int family, const ConnectOptions& options) override { return system_stream(family, options); }
  Result<int> open_datagram(const DatagramOptions& options) override { return system_datagram(options); }
  void turn_away(int listener) noexcept override;
  int try_accept(int listener) noexcept override;
  void close(int fd) noexcept override;
  void shutdown_write(int fd) noexcept override;
  void shutdown(int fd) noexcept override;
  Result<> set_options(int fd, const SocketOptions& options) override { return system_set_options(fd, options); }
  SocketOptions options(int fd) override { return system_options(fd); }
  Result<> set_member(int fd, const Address& group, std::uint32_t interface, bool member) override {
    return system_set_member(fd, group, interface, member);
  }
  Address local_address(int fd) noexcept override { return system_local_address(fd); }
  Address peer_address(int fd) noexcept override { return system_peer_address(fd); }
  std::optional<std::uint64_t> acknowledged(int fd) noexcept override;
  Duration last_came(int fd) noexcept override;
  bool has_unread(int fd) noexcept override;
  std::uint64_t system_calls() const noexcept override {
    return system_calls_ + wakes_.load(std::memory_order_relaxed);
  }

 private:
  explicit UringEngine(const UringOptions& options)
      : options_(options),
        reads_datagrams_(options.datagrams),
        buffers_(options.receive_bytes != 0 ? options.receive_bytes : UringBuffers::default_bytes) {}

  Result<> set_up();
  void probe_operations() noexcept;

  // --- The ring and its turns: uring.cc.

  // Completions that it posts only when it is called.
  bool kernel_has_more() const noexcept {
    return (__atomic_load_n(ring_.sq.kflags, __ATOMIC_RELAXED) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
  }
  // As io_uring_get_sqe, of which this ring needs less: no polling thread, entries of the usual size.
  io_uring_sqe* entry() noexcept {
    const io_uring_sq& queue = ring_.sq;
    if (queue.sqe_tail - __atomic_load_n(queue.khead, __ATOMIC_ACQUIRE) >= queue.ring_entries) [[unlikely]]
      return entry_of_full_ring();
    return &queue.sqes[ring_.sq.sqe_tail++ & queue.ring_mask];
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
  void make_ready(Op& op) noexcept {
    if (!op.linked()) ready_.push_back(op);
  }
  static void finish(Op& op, int result) noexcept {
    op.result = result;
    op.more = false;
    op.pending = false;
    op.cancelling = false;
    if (op.linked()) op.unlink();
    op.done(op);
  }
  [[gnu::noinline]] void submit_other(Op& op) noexcept;
  int run_ready(Op& op) noexcept;
  int handle(const io_uring_cqe& completion) noexcept;
  [[gnu::noinline]] int handle_own(std::uint64_t key, int result) noexcept;
  [[gnu::noinline]] int answered(Op& op, int result, std::uint32_t flags) noexcept;
  void arm_send(Send& op) noexcept;
  [[gnu::noinline]] int sent(Send& op, int result) noexcept;

  // --- Receiving: uring_receives.cc.

  static bool receives(const Op& op) noexcept { return op.kind == Kind::Receive || op.kind == Kind::ReceiveDatagrams; }
  void begin_receive(Receive& op) noexcept;
  void arm_receive(Receive& op) noexcept;
  // Once a turn: those who found no buffer begin again when there are some.
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
  int file_answered(FileOp& op, int result) noexcept;
  int collect_files() noexcept;

  const UringOptions options_;
  io_uring ring_{};
  std::unique_ptr<msghdr[]> messages_;  // Of sends of several parts, one for each entry of the ring.
  unsigned file_kinds_ = 0;             // Which the kernel does, by bit().
  bool sends_messages_ = false;
  const bool reads_datagrams_;
  std::unique_ptr<DatagramBatch> datagrams_;  // With the first receive that needs it.
  std::unique_ptr<FilePool> files_;
  ListenerFiles listener_files_;
  bool ring_ready_ = false;
  bool held_ = false;
  int wake_ = -1;
  UringBuffers buffers_;
  List<Op> ready_;
  List<Op> starved_;
  const Op* filling_ = nullptr;  // What has filled its last buffers,
  unsigned filled_ = 0;          // and how many in a row.
  UnixConnects unix_connects_{ready_};
  std::uint64_t wake_count_ = 0;
  __kernel_timespec timeout_{};
  Instant timeout_at_ = Instant::never();  // When the pending time-out comes; never: none is pending.
  std::int64_t share_ = turn_share;
  std::uint64_t system_calls_ = 0;
  // Those of this turn's messages. Shared: a target may end while the message for it waits here.
  static constexpr unsigned told_max = 16;
  std::shared_ptr<WakeUp<>> told_[told_max];
  unsigned told_count_ = 0;
  const std::shared_ptr<WakeUp<>> wake_up_ = std::make_shared<WakeUp<>>();
  alignas(64) std::atomic<std::uint64_t> wakes_{0};  // By other threads.
};

}  // namespace keel::io
