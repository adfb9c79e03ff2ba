// The io_uring engine: real completions. Multishot accept, multishot receive from a provided buffer ring, sends that
// leave in one batch, files as the kernel's own operations, and one io_uring_enter per turn. What an older kernel lacks
// of files is left to a few threads.
//
// Workers wake each other by messages from ring to ring, which leave with the rest of a turn: a job passed on alone
// costs one system call instead of the eventfd's two.
//
// Tried and left out: registered descriptors (no other system call knows them) and zero-copy sends (each completes
// twice). Tried and kept: the kernel has no more buffers than it lately used. The experiment uring-choices says what
// each brings to a raw echo: bench/lab run uring-choices.

#if KEEL_WITH_URING

#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/io/datagrams.h"
#include "keel/io/internal/file_pool.h"
#include "keel/io/internal/parts.h"
#include "keel/io/internal/sockets.h"
#include "keel/io/internal/turn_share.h"
#include "keel/io/internal/unix_connects.h"
#include "keel/io/internal/uring_buffers.h"
#include "keel/io/internal/wake_up.h"
#include "keel/io/send_file.h"

namespace keel::io {
namespace {

using Statx = struct statx;

// What a paused receive may have waiting before it is taken from the kernel: to stop and begin it again costs more than
// the receiving of a message.
constexpr unsigned waiting_max = 4;
// What the kernel reads into a buffer; above it, and what is to be joined, we read it ourselves when it is there.
constexpr std::uint32_t datagram_bytes_max = 15 * 1024;
static_assert(datagram_bytes_max + sizeof(io_uring_recvmsg_out) + sizeof(sockaddr_storage) <= UringBuffers::bytes);
constexpr std::uint32_t copied =
    UringBuffers::none - 1;  // The name of what is held as a copy that never was in a buffer.
constexpr std::size_t whole_send_max = 64 * 1024;
// Of connections taken one by one, in a turn.
constexpr int accepts_by_hand_max = 64;
// In one operation of the kernel's: it is carried out while we wait, for as long as the peer keeps up.
constexpr std::size_t send_bytes_max = turn_share;
constexpr std::uint64_t ignore_key = 1;  // Completions nobody waits for: cancel, close.
constexpr std::uint64_t wake_key = 2;
constexpr std::uint64_t timeout_key = 3;
constexpr std::uint64_t message_key = 4;  // From another worker.
// A message that could not be sent, with the descriptor of its target's ring.
constexpr std::uint64_t unsent_tag = 7;
constexpr std::uint64_t own_bits = 7;  // In each of the above, and in no address of an Op.
constexpr int unsent_shift = 3;
// IORING_OP_BIND of Linux 6.11, which liburing 2.3 does not know. Since 6.10 a message to a ring with deferred task
// work is carried over to its thread; before, it takes another way, which is not tried here.
constexpr int bind_code = 56;

class UringEngine final : public Engine {
 public:
  static Result<std::unique_ptr<Engine>> make(const UringOptions& options) {
    std::unique_ptr<UringEngine> engine(new UringEngine(options));
    KEEL_TRY_VOID(engine->set_up());
    return std::unique_ptr<Engine>(std::move(engine));
  }
  ~UringEngine() override {
    files_.reset();
    if (ring_ready_) {
      // Closes of the last turn, by hand: another thread than the one that made the ring may not submit.
      for (unsigned i = ring_.sq.sqe_head; i != ring_.sq.sqe_tail; ++i) {
        io_uring_sqe& entry = ring_.sq.sqes[i & ring_.sq.ring_mask];
        if (entry.opcode != IORING_OP_CLOSE) continue;
        ::close(entry.fd);
        io_uring_prep_nop(&entry);
      }
      io_uring_submit(&ring_);
      io_uring_queue_exit(&ring_);
    }
    while (ready_.pop_front() != nullptr) {
    }
    while (starved_.pop_front() != nullptr) {
    }
    if (wake_ >= 0) ::close(wake_);
  }

  const char* name() const noexcept override { return "uring"; }

  bool submit(Op& op) noexcept override {
    KEEL_DCHECK(!op.pending, "an operation is submitted once at a time");
    op.pending = true;
    op.cancelling = false;
    op.more = false;
    if (op.kind == Kind::Send) {
      auto& send = static_cast<Send&>(op);
      send.sent = 0;
      arm_send(send);
      return false;
    }
    if (op.kind == Kind::SendDatagrams) {
      return submit_datagrams(static_cast<SendDatagrams&>(op));
    }
    submit_other(op);
    return !op.pending;
  }

  void cancel(Op& op) noexcept override {
    if (!op.pending || op.cancelling) return;
    op.cancelling = true;
    if (is_of_file(op.kind) && static_cast<FileOp&>(op).pooled) {
      if (files_->take_out(static_cast<FileOp&>(op))) make_ready(op);
      return;
    }
    if (receives(op)) drop_waiting(static_cast<Receive&>(op));
    if (op.linked()) op.unlink();
    if (op.armed) {
      cancel_armed(op);
    } else {
      make_ready(op);
    }
  }

  void resume(Receive& op) noexcept override {
    if (!op.paused) return;
    op.paused = false;
    if (op.pending && (!op.armed || op.waiting_first != Receive::none)) make_ready(op);
  }
  void end_receive(Receive& op) noexcept override {
    if (!op.pending || op.cancelling || op.ending) return;
    op.ending = true;
    op.paused = false;
    if (op.linked()) op.unlink();
    if (op.armed) cancel_armed(op);
    make_ready(op);
  }

  Held hold(Receive& op) noexcept override {
    held_ = true;
    const auto size = static_cast<std::uint32_t>(op.result);
    if (op.buffer == Receive::none) {
      auto* copy = static_cast<char*>(pool_allocate(size));
      std::memcpy(copy, op.data, size);
      return {copy, size, copied};
    }
    // Before a datagram its buffer has what is known of it.
    const auto before = static_cast<std::uint32_t>(op.data - buffers_.at(op.buffer));
    const std::uint32_t buffer = buffers_.lend(op.buffer, before + size);
    return {buffers_.at(buffer) + before, size, buffer};
  }
  void release(Held held) noexcept override {
    if (held.buffer == copied) {
      pool_free(held.data, held.size);
    } else if (held.buffer != Receive::none) {
      buffers_.take_back(held.buffer);
    }
  }

  bool wait(Instant until) noexcept override {
    buffers_.end_turn();
    buffers_.fill();
    feed_starved();
    if (!ready_.empty() || until <= Instant()) {
      if (io_uring_sq_ready(&ring_) != 0 || kernel_has_more()) {
        hand_over_messages();
        ++system_calls_;
        io_uring_submit_and_get_events(&ring_);
      }
    } else {
      if (until < timeout_at_) arm_timeout(until);
      hand_over_messages();
      ++system_calls_;
      io_uring_submit_and_wait(&ring_, 1);
    }
    return !ready_.empty() || io_uring_cq_ready(&ring_) != 0;
  }

  int dispatch() noexcept override {
    int completed = 0;
    List<Op> ready;
    ready.splice_back(ready_);
    while (Op* op = ready.pop_front()) {
      share_ = turn_share;
      completed += run_ready(*op);
    }
    // Exactly what had completed when wait() returned: a submission queue that fills up meanwhile may bring more.
    const unsigned count = io_uring_cq_ready(&ring_);
    const unsigned mask = ring_.cq.ring_mask;
    unsigned head = *ring_.cq.khead;
    for (unsigned i = 0; i < count; ++i, ++head) {
      share_ = turn_share;
      completed += handle(ring_.cq.cqes[head & mask]);
    }
    share_ = turn_share;
    io_uring_cq_advance(&ring_, count);
    return completed;
  }

  void wake() noexcept override {
    if (!wake_up_->now()) return;
    wakes_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
  }

  void flush() noexcept override {
    hand_over_messages();
    ++system_calls_;
    io_uring_submit(&ring_);
  }
  void wake_other(Engine& other) noexcept override {
    if (!sends_messages_ || std::strcmp(other.name(), "uring") != 0) {
      other.wake();
      return;
    }
    auto& target = static_cast<UringEngine&>(other);
    for (unsigned i = 0; i < told_count_; ++i) {
      if (told_[i] == target.wake_up_) return;  // Its message leaves with the turn.
    }
    if (!target.wake_up_->later()) return;
    if (told_count_ == told_max) flush();
    told_[told_count_++] = target.wake_up_;
    send_message(target.ring_.ring_fd);
  }

  Result<int> open_listener(const Address& address, const ListenOptions& options) override {
    return system_listener(address, options, listener_files_);
  }
  Result<int> open_stream(int family, const ConnectOptions& options) override { return system_stream(family, options); }
  Result<int> open_datagram(const DatagramOptions& options) override { return system_datagram(options); }
  void turn_away(int listener) noexcept override {
    ++system_calls_;
    system_turn_away(listener, listener_files_);
  }
  int try_accept(int listener) noexcept override {
    ++system_calls_;
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return fd >= 0 ? fd : -errno;
  }
  void close(int fd) noexcept override {
    io_uring_sqe* sqe = entry();
    io_uring_prep_close(sqe, fd);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data64(sqe, ignore_key);
  }
  void shutdown_write(int fd) noexcept override {
    ++system_calls_;
    ::shutdown(fd, SHUT_WR);
  }
  void shutdown(int fd) noexcept override {
    ++system_calls_;
    ::shutdown(fd, SHUT_RDWR);
  }
  Result<> set_options(int fd, const SocketOptions& options) override { return system_set_options(fd, options); }
  SocketOptions options(int fd) override { return system_options(fd); }
  Result<> set_member(int fd, const Address& group, std::uint32_t interface, bool member) override {
    return system_set_member(fd, group, interface, member);
  }
  Address local_address(int fd) noexcept override { return system_local_address(fd); }
  Address peer_address(int fd) noexcept override { return system_peer_address(fd); }
  std::optional<std::uint64_t> acknowledged(int fd) noexcept override {
    ++system_calls_;
    return system_acknowledged(fd);
  }
  Duration last_came(int fd) noexcept override {
    ++system_calls_;
    return system_last_came(fd);
  }
  std::uint64_t system_calls() const noexcept override {
    return system_calls_ + wakes_.load(std::memory_order_relaxed);
  }

 private:
  explicit UringEngine(const UringOptions& options) : options_(options), reads_datagrams_(options.datagrams) {}

  Result<> set_up() {
    // Deferred task work (Linux 6.1) runs completions only when we ask; without it, at least without interrupts. Either
    // way the kernel says in the ring when there are some (Linux 5.19).
    constexpr unsigned common = IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_TASKRUN_FLAG;
    constexpr unsigned wanted[] = {common | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
                                   common | IORING_SETUP_COOP_TASKRUN};
    int error = 0;
    for (const unsigned flags : wanted) {
      io_uring_params parameters{};
      parameters.flags = flags;
      parameters.cq_entries = options_.completion_entries;
      error = io_uring_queue_init_params(options_.submission_entries, &ring_, &parameters);
      if (error != -EINVAL) break;
    }
    if (error < 0) return fail_errno("io_uring_setup", -error);
    ring_ready_ = true;
    if ((ring_.features & IORING_FEAT_NODROP) == 0) return fail(Code::Unsupported, "io_uring may lose completions");
    messages_ = std::make_unique_for_overwrite<msghdr[]>(ring_.sq.ring_entries);
    probe_operations();
    io_uring_register_ring_fd(&ring_);  // Saves a descriptor look-up per call; works without.

    KEEL_TRY_VOID(buffers_.set_up(ring_));

    wake_ = eventfd(0, EFD_CLOEXEC);
    if (wake_ < 0) return fail_errno("eventfd", errno);
    arm_wake();
    return {};
  }

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
  [[gnu::noinline]] io_uring_sqe* entry_of_full_ring() noexcept {
    io_uring_sqe* sqe = nullptr;
    while (sqe == nullptr) {
      buffers_.fill();
      hand_over_messages();
      ++system_calls_;
      // The kernel has no memory for more: try again in a while instead of all the time.
      if (io_uring_submit(&ring_) < 0) poll(nullptr, 0, 1);
      sqe = io_uring_get_sqe(&ring_);
    }
    return sqe;
  }
  void send_message(int ring) noexcept {
    io_uring_sqe* sqe = entry();
    io_uring_prep_msg_ring(sqe, ring, 0, message_key, 0);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data64(sqe, static_cast<std::uint64_t>(ring) << unsent_shift | unsent_tag);
  }
  // Before what is queued is submitted: from here on nothing of ours can delay the messages among it.
  void hand_over_messages() noexcept {
    while (told_count_ != 0) std::exchange(told_[--told_count_], nullptr)->leaves();
  }
  void probe_operations() noexcept {
    io_uring_probe* probe = io_uring_get_probe_ring(&ring_);
    if (probe == nullptr) return;
    sends_messages_ = options_.messages && io_uring_opcode_supported(probe, bind_code) != 0 &&
                      (ring_.flags & IORING_SETUP_DEFER_TASKRUN) != 0;
    constexpr std::pair<Kind, int> codes[] = {
        {Kind::Open, IORING_OP_OPENAT2},    {Kind::ReadAt, IORING_OP_READ},  {Kind::WriteAt, IORING_OP_WRITEV},
        {Kind::Sync, IORING_OP_FSYNC},      {Kind::Status, IORING_OP_STATX}, {Kind::Rename, IORING_OP_RENAMEAT},
        {Kind::Remove, IORING_OP_UNLINKAT},
    };
    for (const auto& [kind, code] : codes) {
      if (options_.files && io_uring_opcode_supported(probe, code) != 0) file_kinds_ |= bit(kind);
    }
    io_uring_free_probe(probe);
  }
  static bool receives(const Op& op) noexcept { return op.kind == Kind::Receive || op.kind == Kind::ReceiveDatagrams; }
  static unsigned bit(Kind kind) noexcept { return 1u << static_cast<unsigned>(kind); }

  [[gnu::noinline]] void submit_other(Op& op) noexcept {
    switch (op.kind) {
      case Kind::ReceiveDatagrams: {
        auto& datagrams = static_cast<ReceiveDatagrams&>(op);
        datagrams.polled = !reads_datagrams_ || datagrams.join || datagrams.bytes_max > datagram_bytes_max;
        if (datagrams.polled && datagrams_ == nullptr) datagrams_ = std::make_unique<DatagramBatch>();
        [[fallthrough]];
      }
      case Kind::Receive: {
        auto& receive = static_cast<Receive&>(op);
        receive.paused = false;
        receive.ending = false;
        receive.waiting_first = receive.waiting_last = Receive::none;
        receive.waiting_count = 0;
        receive.waiting_final = 1;
        arm_receive(receive);
        break;
      }
      case Kind::Accept:
        arm_accept(static_cast<Accept&>(op));
        break;
      case Kind::Connect: {
        auto& connect = static_cast<Connect&>(op);
        if (connect.address.is_unix()) {  // Completes at once; the kernel tries again in vain where the queue is full.
          op.pending = !advance_unix(connect);
          break;
        }
        io_uring_sqe* sqe = entry();
        io_uring_prep_connect(sqe, op.fd, connect.address.system(), connect.address.system_size());
        arm(sqe, op);
        break;
      }
      case Kind::SendFile: {
        auto& send = static_cast<SendFile&>(op);
        send.sent = 0;
        op.pending = !advance_send_file(send);
        break;
      }
      case Kind::Ready:
        arm_poll(op, static_cast<Ready&>(op).events);
        break;
      default:
        submit_file(static_cast<FileOp&>(op));
    }
  }
  void submit_file(FileOp& op) noexcept {
    if (op.kind == Kind::WriteAt) static_cast<WriteAt&>(op).written = 0;
    if (op.kind == Kind::Open) static_cast<Open&>(op).waits_for_lease = false;
    op.pooled = (file_kinds_ & bit(op.kind)) == 0;
    if (!op.pooled) {
      arm_file(op);
      return;
    }
    if (files_ == nullptr) files_ = std::make_unique<FilePool>(*this);
    if (const int error = files_->submit(op)) {
      op.result = -error;
      make_ready(op);
    }
  }
  void arm_file(FileOp& op) noexcept {
    io_uring_sqe* sqe = entry();
    switch (op.kind) {
      case Kind::Open: {
        auto& open = static_cast<Open&>(op);
        if (open.beneath) {
          io_uring_prep_openat2(sqe, open.fd, open.path, make_open_how(open));
        } else {
          io_uring_prep_openat(sqe, AT_FDCWD, open.path, open_flags(open), open.permissions);
        }
        break;
      }
      case Kind::ReadAt: {
        auto& read = static_cast<ReadAt&>(op);
        const auto size = static_cast<unsigned>(std::min<std::size_t>(read.size, 1u << 30));
        io_uring_prep_read(sqe, op.fd, read.data, size, read.offset);
        break;
      }
      case Kind::WriteAt: {
        auto& write = static_cast<WriteAt&>(op);
        io_uring_prep_writev(sqe, op.fd, write.parts, write.part_count, write.offset);
        break;
      }
      case Kind::Sync:
        io_uring_prep_fsync(sqe, op.fd, static_cast<Sync&>(op).all ? 0 : IORING_FSYNC_DATASYNC);
        break;
      case Kind::Status: {
        auto& status = static_cast<Status&>(op);
        static_assert(sizeof(Statx) <= sizeof status.scratch);
        auto* const answer = new (status.scratch) Statx{};
        const bool by_path = status.path != nullptr;
        io_uring_prep_statx(sqe, by_path ? AT_FDCWD : op.fd, by_path ? status.path : "", AT_EMPTY_PATH,
                            STATX_BASIC_STATS, answer);
        break;
      }
      case Kind::Rename:
        io_uring_prep_renameat(sqe, AT_FDCWD, static_cast<Rename&>(op).from, AT_FDCWD, static_cast<Rename&>(op).to, 0);
        break;
      default:
        io_uring_prep_unlinkat(sqe, AT_FDCWD, static_cast<Remove&>(op).path, 0);
    }
    arm(sqe, op);
  }
  int file_answered(FileOp& op, int result) noexcept {
    if (result == -EINTR) {
      // A cancellation interrupts what waits; anything else is tried again.
      if (!op.cancelling) {
        arm_file(op);
        return 0;
      }
      result = -ECANCELED;
    }
    if (op.kind == Kind::WriteAt && result >= 0) {
      auto& write = static_cast<WriteAt&>(op);
      if (advance(write, static_cast<std::size_t>(result))) {
        result = total_of(write);
      } else if (result == 0) {
        result = -EIO;
      } else if (op.cancelling) {
        result = -ECANCELED;
      } else {
        arm_file(op);
        return 0;
      }
    }
    if (op.kind == Kind::Status && result == 0) read_statx(static_cast<Status&>(op));
    if (op.kind == Kind::Open) {
      if (result >= 0) {
        ++system_calls_;
        opened(static_cast<Open&>(op), result);
      } else if (!op.cancelling && is_leased(static_cast<Open&>(op), result)) {
        arm_file(op);
        return 0;
      }
    }
    finish(op, result);
    return 1;
  }

  static void arm(io_uring_sqe* sqe, Op& op) noexcept {
    io_uring_sqe_set_data(sqe, &op);
    op.armed = true;
  }
  void arm_receive(Receive& op) noexcept {
    io_uring_sqe* sqe = entry();
    if (op.kind == Kind::Receive) {
      io_uring_prep_recv_multishot(sqe, op.fd, nullptr, 0, 0);
    } else {
      auto& datagrams = static_cast<ReceiveDatagrams&>(op);
      if (datagrams.polled) {
        io_uring_prep_poll_add(sqe, op.fd, POLLIN);
        arm(sqe, op);
        return;
      }
      // How much room a name has, and control data; the rest is the buffer's. MSG_TRUNC: its whole length is told.
      static_assert(sizeof(msghdr) <= sizeof datagrams.scratch);
      auto* message = new (datagrams.scratch) msghdr{};
      message->msg_namelen = sizeof(sockaddr_storage);
      io_uring_prep_recvmsg_multishot(sqe, op.fd, message, MSG_TRUNC);
    }
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = 0;
    arm(sqe, op);
  }
  void arm_accept(Accept& op) noexcept {
    io_uring_sqe* sqe = entry();
    if (op.shared || op.one_by_one) {
      // The kernel wakes the first one that waits; one at a time we go to the end of the line after each.
      io_uring_prep_accept(sqe, op.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } else {
      io_uring_prep_multishot_accept(sqe, op.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
    arm(sqe, op);
  }
  void arm_send(Send& op) noexcept {
    io_uring_sqe* sqe = entry();
    const std::size_t left = op.part_count == 1 ? op.parts->iov_len : bytes_left(op.parts, op.part_count);
    // The kernel sends a small one to its end by itself; of a large one we hear how far it has come, and send the rest.
    const int flags = MSG_NOSIGNAL | (left <= whole_send_max ? MSG_WAITALL : 0);
    if (op.part_count == 1) {
      io_uring_prep_send(sqe, op.fd, op.parts->iov_base, std::min(left, send_bytes_max), flags);
    } else if (op.parts->iov_len > send_bytes_max) {
      io_uring_prep_send(sqe, op.fd, op.parts->iov_base, send_bytes_max, flags | MSG_MORE);
    } else {
      // The entry's own: since Linux 5.5 the kernel has read it when it takes the entry.
      msghdr& message = messages_[sqe - ring_.sq.sqes];
      message = {};
      message.msg_iov = op.parts;
      message.msg_iovlen = left <= send_bytes_max ? op.part_count : parts_within(op, send_bytes_max);
      const int more = message.msg_iovlen == op.part_count ? 0 : MSG_MORE;
      io_uring_prep_sendmsg(sqe, op.fd, &message, static_cast<unsigned>(flags | more));
    }
    arm(sqe, op);
  }
  void arm_poll(Op& op, short events) noexcept {
    io_uring_sqe* sqe = entry();
    io_uring_prep_poll_add(sqe, op.fd, static_cast<unsigned>(events));
    arm(sqe, op);
  }
  // Many in one system call; one alone leaves with the rest of the turn.
  bool submit_datagrams(SendDatagrams& op) noexcept {
    op.sent = 0;
    op.offset = 0;
    op.polling = false;
    op.by_hand = false;
    if (op.count == 1 && op.datagrams->segment_bytes == 0) {
      arm_datagram(op);
      return false;
    }
    op.pending = !advance_datagrams(op);
    return !op.pending;
  }
  // True: op.result holds.
  bool advance_datagrams(SendDatagrams& op) noexcept {
    const int error = send_datagrams(op, system_calls_, share_);
    if (error == share_is_used) {
      make_ready(op);
      return false;
    }
    if (error == EAGAIN && waits_for_room(op)) {
      arm_room(op);
      return false;
    }
    op.result = result_of(op, error);
    return true;
  }
  // True: op.result holds.
  bool advance_unix(Connect& op) noexcept {
    ++system_calls_;
    op.result = -unix_connects_.attempt(op);
    return op.result != -EAGAIN;
  }
  int continue_datagrams(SendDatagrams& op) noexcept {
    if (!advance_datagrams(op)) return 0;
    finish(op, op.result);
    return 1;
  }
  void arm_datagram(SendDatagrams& op) noexcept {
    const OutgoingDatagram& datagram = *op.datagrams;
    static_assert(sizeof(msghdr) + sizeof(iovec) <= sizeof op.scratch);
    auto* message = new (op.scratch) msghdr{};
    message->msg_iov = new (op.scratch + sizeof(msghdr)) iovec{};
    message->msg_iov->iov_base = const_cast<char*>(datagram.bytes.data());
    message->msg_iov->iov_len = datagram.bytes.size();
    message->msg_iovlen = 1;
    if (datagram.to.family() != AF_UNSPEC) {
      message->msg_name = const_cast<sockaddr*>(datagram.to.system());
      message->msg_namelen = datagram.to.system_size();
    }
    io_uring_sqe* sqe = entry();
    // The kernel may not wait for room by itself: it tries again with what is left of the bytes it has copied before it
    // found none, and sends an empty datagram (seen with Unix sockets on Linux 6.18).
    io_uring_prep_sendmsg(sqe, op.fd, message, MSG_NOSIGNAL | MSG_DONTWAIT);
    arm(sqe, op);
  }
  void arm_room(SendDatagrams& op) noexcept {
    op.polling = true;
    arm_poll(op, POLLOUT);
  }
  int datagrams_sent(SendDatagrams& op, int result) noexcept {
    int error = result < 0 ? -result : 0;
    if (!op.polling && error == 0) {
      op.sent = 1;
    } else if (op.cancelling) {
      error = ECANCELED;
    } else if (op.polling ? error == 0 : error == EINTR || error == EAGAIN) {
      return continue_datagrams(op);
    }
    finish(op, result_of(op, error));
    return 1;
  }
  void arm_wake() noexcept {
    io_uring_sqe* sqe = entry();
    io_uring_prep_read(sqe, wake_, &wake_count_, sizeof wake_count_, 0);
    io_uring_sqe_set_data64(sqe, wake_key);
  }
  // One time-out for all waits, moved only to an earlier time: a time-out given with each wait would cost the kernel a
  // timer started and stopped each time. One that comes too early makes wait() return for nothing, and is set again.
  void arm_timeout(Instant at) noexcept {
    timeout_.tv_sec = at.ns() / 1'000'000'000;
    timeout_.tv_nsec = at.ns() % 1'000'000'000;
    io_uring_sqe* sqe = entry();
    if (timeout_at_.is_never()) {
      io_uring_prep_timeout(sqe, &timeout_, 0, IORING_TIMEOUT_ABS);
      io_uring_sqe_set_data64(sqe, timeout_key);
    } else {
      io_uring_prep_timeout_update(sqe, &timeout_, timeout_key, IORING_TIMEOUT_ABS);
      sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
      io_uring_sqe_set_data64(sqe, ignore_key);
    }
    timeout_at_ = at;
  }
  void cancel_armed(Op& op) noexcept {
    io_uring_sqe* sqe = entry();
    io_uring_prep_cancel(sqe, &op, 0);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data64(sqe, ignore_key);
  }

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

  // Once a turn: those who found no buffer begin again when there are some.
  void feed_starved() noexcept {
    if (buffers_.is_empty()) return;
    while (Op* op = starved_.pop_front()) arm_receive(static_cast<Receive&>(*op));
  }
  int run_ready(Op& op) noexcept {
    if (op.cancelling) {
      if (op.armed) return 0;  // The kernel's own last word is on its way.
      finish(op, result_of_cancelled(op));
      return 1;
    }
    if (is_of_file(op.kind)) {
      finish(op, op.result);  // No thread could be had.
      return 1;
    }
    if (op.kind == Kind::SendFile) return sent_file(static_cast<SendFile&>(op));
    if (op.kind == Kind::SendDatagrams) return continue_datagrams(static_cast<SendDatagrams&>(op));
    if (op.kind == Kind::Connect) {
      if (!advance_unix(static_cast<Connect&>(op))) return 0;
      finish(op, op.result);
      return 1;
    }
    if (!receives(op)) return 0;
    auto& receive = static_cast<Receive&>(op);
    int delivered = 0;
    while (receive.waiting_first != Receive::none && !receive.paused && !receive.cancelling) {
      const std::uint32_t buffer = receive.waiting_first;
      receive.waiting_first = buffers_.next_of(buffer);
      if (receive.waiting_first == Receive::none) receive.waiting_last = Receive::none;
      --receive.waiting_count;
      buffers_.end_loan(buffer);  // Holding it would lend it again.
      if (!show(receive, buffer, buffers_.size_of(buffer))) buffers_.recycle(buffer);
      ++delivered;
    }
    if (receive.cancelling || receive.paused) return delivered;
    if (receive.waiting_final != 1) {
      finish(receive, std::exchange(receive.waiting_final, 1));
      return delivered + 1;
    }
    if (receive.ending) {
      if (receive.armed) return delivered;  // The kernel's own last word is on its way.
      finish(receive, -ECANCELED);
      return delivered + 1;
    }
    if (!receive.armed) arm_receive(receive);
    return delivered;
  }

  // Calls done() with the bytes; whether it held them.
  bool show(Receive& op, std::uint32_t buffer, std::uint32_t size) noexcept {
    op.data = buffers_.at(buffer);
    op.buffer = buffer;
    op.result = static_cast<std::int32_t>(size);
    if (op.kind == Kind::ReceiveDatagrams) show_datagram(static_cast<ReceiveDatagrams&>(op));
    op.more = true;
    held_ = false;
    op.done(op);
    // `op` lives on: it is pending until its final completion.
    return std::exchange(held_, false);
  }

  // The kernel has put a header before it, the sender's address and control data.
  static void show_datagram(ReceiveDatagrams& op) noexcept {
    auto* const message = reinterpret_cast<msghdr*>(op.scratch);
    auto* const out = reinterpret_cast<io_uring_recvmsg_out*>(op.data);
    char* const name = static_cast<char*>(io_uring_recvmsg_name(out));
    op.from = out->namelen != 0 ? Address::from_system(reinterpret_cast<sockaddr*>(name), out->namelen) : Address();
    op.segment_bytes = 0;
    op.data = name + message->msg_namelen + message->msg_controllen;
    op.cut = out->payloadlen > op.bytes_max;
    op.result = static_cast<std::int32_t>(std::min(out->payloadlen, op.bytes_max));
  }

  // What poll has told of is read.
  int read_datagrams(ReceiveDatagrams& op, int result) noexcept {
    if (op.cancelling) {
      finish(op, -ECANCELED);
      return 1;
    }
    if (op.paused) return 0;  // resume() begins again.
    ++system_calls_;
    const int count = result < 0 ? result : datagrams_->read(op);
    if (count < 0 && count != -EAGAIN && count != -EINTR) {
      finish(op, count);
      return 1;
    }
    int shown = 0;
    for (; shown < count && !op.cancelling; ++shown) {
      datagrams_->show(shown, op);
      op.more = true;
      op.done(op);
    }
    if (op.cancelling || op.paused) {
      if (op.cancelling) make_ready(op);
    } else {
      arm_receive(op);
    }
    return shown;
  }

  void drop_waiting(Receive& op) noexcept {
    while (op.waiting_first != Receive::none) {
      const std::uint32_t buffer = op.waiting_first;
      op.waiting_first = buffers_.next_of(buffer);
      buffers_.take_back(buffer);
    }
    op.waiting_last = Receive::none;
    op.waiting_count = 0;
  }

  int handle(const io_uring_cqe& completion) noexcept {
    const std::uint64_t key = completion.user_data;
    const int result = completion.res;
    if ((key & own_bits) != 0) [[unlikely]]
      return handle_own(key, result);
    Op& op = *reinterpret_cast<Op*>(key);
    op.armed = (completion.flags & IORING_CQE_F_MORE) != 0;
    switch (op.kind) {
      case Kind::Receive:
        return received(static_cast<Receive&>(op), result, completion.flags);
      case Kind::ReceiveDatagrams:
        if (static_cast<ReceiveDatagrams&>(op).polled)
          return read_datagrams(static_cast<ReceiveDatagrams&>(op), result);
        return received(static_cast<Receive&>(op), result, completion.flags);
      case Kind::Send:
        return sent(static_cast<Send&>(op), result);
      default:
        return answered(op, result, completion.flags);
    }
  }
  [[gnu::noinline]] int handle_own(std::uint64_t key, int result) noexcept {
    if (key == ignore_key) return 0;
    if (key == timeout_key) {
      timeout_at_ = Instant::never();
      return 0;
    }
    if (key == wake_key || key == message_key) {
      wake_up_->came();
      if (key == wake_key) arm_wake();
      return files_ != nullptr ? collect_files() : 0;
    }
    // A message that could not be sent; with any other error the target is no more.
    const int error = -result;
    if (error == ENOMEM || error == EOVERFLOW || error == EAGAIN || error == EINTR) {
      send_message(static_cast<int>(key >> unsent_shift));
    }
    return 0;
  }
  [[gnu::noinline]] int answered(Op& op, int result, std::uint32_t flags) noexcept {
    switch (op.kind) {
      case Kind::SendDatagrams:
        return datagrams_sent(static_cast<SendDatagrams&>(op), result);
      case Kind::Accept:
        return accepted(static_cast<Accept&>(op), result, flags);
      case Kind::SendFile:
        if (!op.cancelling) return sent_file(static_cast<SendFile&>(op));
        finish(op, -ECANCELED);
        return 1;
      case Kind::Connect:
      case Kind::Ready:
        finish(op, result);
        return 1;
      default:
        return file_answered(static_cast<FileOp&>(op), result);
    }
  }
  int collect_files() noexcept {
    List<Op> ended;
    files_->collect(ended);
    int completed = 0;
    while (Op* op = ended.pop_front()) {
      finish(*op, op->result);
      ++completed;
    }
    return completed;
  }

  [[gnu::noinline]] int received(Receive& op, int result, std::uint32_t flags) noexcept {
    const std::uint32_t buffer = flags >> IORING_CQE_BUFFER_SHIFT;
    if ((flags & IORING_CQE_F_BUFFER) != 0) {
      buffers_.note_used();
      if (result <= 0) buffers_.recycle(buffer);  // The end of a stream may come with one, too.
    }
    if (result > 0) {
      const auto size = static_cast<std::uint32_t>(result);
      if (op.cancelling) {
        buffers_.recycle(buffer);
        if (!op.armed) make_ready(op);
        return 0;
      }
      if (op.paused || op.waiting_first != Receive::none) {
        keep_waiting(op, buffer, size);
        if (op.ending) make_ready(op);
        return 0;
      }
      if (!show(op, buffer, size)) buffers_.recycle(buffer);
      // Multishot ends when the completion queue was short of room: begin again.
      if (!op.armed && op.pending) op.cancelling || op.paused || op.ending ? make_ready(op) : arm_receive(op);
      return 1;
    }
    if (op.cancelling) {
      finish(op, -ECANCELED);
      return 1;
    }
    if (result == -ENOBUFS) {
      if (op.paused) return 0;
      if (op.ending) {
        make_ready(op);
        return 0;
      }
      buffers_.want_more();
      if (!op.linked()) starved_.push_back(op);
      return 0;
    }
    if (result == -ECANCELED) {
      // Our own stop while paused; a resume may have come in the meantime.
      if (!op.paused) make_ready(op);
      return 0;
    }
    if (op.paused || op.waiting_first != Receive::none) {
      op.waiting_final = result;
      return 0;
    }
    finish(op, result);
    return 1;
  }

  void keep_waiting(Receive& op, std::uint32_t buffer, std::uint32_t size) noexcept {
    buffer = buffers_.lend(buffer, size);
    buffers_.end_chain(buffer, size);
    if (op.waiting_first == Receive::none) {
      op.waiting_first = buffer;
    } else {
      buffers_.link(op.waiting_last, buffer);
    }
    op.waiting_last = buffer;
    // Let the rest stay in the kernel, so that the peer is slowed down.
    if (++op.waiting_count == waiting_max && op.armed) cancel_armed(op);
  }

  int accepted(Accept& op, int result, std::uint32_t flags) noexcept {
    if (result >= 0) {
      // While it is being cancelled, too: a connection that was accepted is not lost.
      op.result = result;
      op.more = true;
      op.done(op);
      int count = 1;
      if (!op.armed && (flags & IORING_CQE_F_SOCK_NONEMPTY) != 0) count += accept_by_hand(op);
      if (!op.armed && op.pending) op.cancelling ? make_ready(op) : arm_accept(op);
      return count;
    }
    if (op.cancelling) {
      finish(op, -ECANCELED);
      return 1;
    }
    if (result == -EAGAIN || is_transient_accept_error(-result)) {
      if (!op.armed) arm_accept(op);
      return 0;
    }
    if (op.armed) return 0;
    finish(op, result);
    return 1;
  }

  // Those that wait behind one that was taken alone (the kernel says so of TCP since Linux 6.10): a system call for
  // each instead of a turn.
  int accept_by_hand(Accept& op) noexcept {
    int count = 0;
    while (op.one_by_one && !op.shared && !op.cancelling && count < accepts_by_hand_max) {
      const int fd = try_accept(op.fd);
      if (fd < 0) break;
      op.result = fd;
      op.done(op);
      ++count;
    }
    return count;
  }

  [[gnu::noinline]] int sent(Send& op, int result) noexcept {
    if (result < 0) [[unlikely]] {
      // EINPROGRESS: a first write whose cookie for Fast Open is gone; the connection is being made as ever.
      if ((result == -EINTR || result == -EAGAIN || result == -EINPROGRESS) && !op.cancelling) {
        arm_send(op);
        return 0;
      }
      finish(op, result);
      return 1;
    }
    if (advance(op, static_cast<std::size_t>(result))) {
      finish(op, op.total());
      return 1;
    }
    if (op.cancelling) {
      finish(op, -ECANCELED);
      return 1;
    }
    arm_send(op);
    return 0;
  }

  // True: op.result holds.
  bool advance_send_file(SendFile& op) noexcept {
    if (share_ <= 0) {
      make_ready(op);
      return false;
    }
    const std::uint64_t before = op.sent;
    const Share share = send_share(op, system_calls_);
    share_ -= share_of(op.sent - before);
    switch (share) {
      case Share::Last:
        return true;
      case Share::Waits:
        arm_poll(op, POLLOUT);
        return false;
      default:
        make_ready(op);
        return false;
    }
  }
  int sent_file(SendFile& op) noexcept {
    if (!advance_send_file(op)) return 0;
    finish(op, op.result);
    return 1;
  }

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

}  // namespace

Result<std::unique_ptr<Engine>> make_uring_engine(const UringOptions& options) { return UringEngine::make(options); }

Result<> probe_uring() {
  KEEL_TRY(auto engine, make_uring_engine());
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return fail_errno("socketpair", errno);
  struct Probe : Receive {
    using Receive::Receive;
    int bytes = 0;
    bool multishot = false;
    bool ended = false;
  } probe([](Op& op) noexcept {
    auto& self = static_cast<Probe&>(op);
    if (op.result > 0) self.bytes += op.result;
    if (op.result > 0 && op.armed) self.multishot = true;
    if (!op.more) self.ended = true;
  });
  probe.fd = pair[0];
  engine->submit(probe);
  const Instant deadline = Host::system().now() + 1_s;
  const auto turn_until = [&](auto&& reached) {
    while (!reached() && Host::system().now() < deadline) {
      engine->wait(deadline);
      engine->dispatch();
    }
    return reached();
  };
  Result<> verdict;
  if (write(pair[1], "k", 1) != 1 || !turn_until([&] { return probe.bytes == 1 || probe.ended; }) || probe.bytes != 1) {
    verdict = fail(Code::Unsupported, "multishot receive from a buffer ring does not work");
  } else if (!probe.multishot) {
    verdict = fail(Code::Unsupported, "receive is not multishot");
  }
  if (!probe.ended) {
    engine->cancel(probe);
    if (!turn_until([&] { return probe.ended; })) {
      verdict = fail(Code::Unsupported, "an operation cannot be cancelled");
    }
  }
  engine.reset();
  ::close(pair[0]);
  ::close(pair[1]);
  return verdict;
}

}  // namespace keel::io

#endif
