// The ring of the io_uring engine: submitting, waiting, completions, and sends, which are the most frequent operations.

#if KEEL_WITH_URING

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/sanitizers.h"
#include "keel/io/internal/parts.h"
#include "keel/io/internal/uring_engine.h"

namespace keel::io {
namespace {

constexpr std::size_t whole_send_max = 64 * 1024;
// The maximum size of one send by the kernel. While this thread waits, the kernel continues the send as long as the
// peer receives.
constexpr std::size_t ring_send_bytes_max = turn_share;
constexpr std::uint64_t wake_key = 2;
constexpr std::uint64_t timeout_key = 3;
constexpr std::uint64_t message_key = 4;  // From another worker.
// The key of a message that could not be sent. The key also contains the descriptor of the target's ring.
constexpr std::uint64_t unsent_tag = 7;
// Each key above has at least one of these bits set; the address of an Op has none of them.
constexpr std::uint64_t own_bits = 7;
constexpr int unsent_shift = 3;
// The code of IORING_OP_BIND (Linux 6.11), which liburing 2.3 does not know. Since Linux 6.10, the kernel sends a
// message for a ring with deferred task work to the thread of that ring, so a kernel with IORING_OP_BIND does so, too.
// Kernels before 6.10 pass a message for a ring with deferred task work in another way, which Keel does not use.
constexpr int bind_code = 56;

// liburing maps and unmaps a ring by system calls that ThreadSanitizer does not see, so ThreadSanitizer believes that a
// new ring at the address of an earlier ring is the same memory. This function tells ThreadSanitizer that each ring
// ended before any later ring began.
void order_rings() {
#if KEEL_THREAD_SANITIZER
  static std::atomic<int> rings = 0;
  rings.fetch_add(1, std::memory_order::acq_rel);
#endif
}

}  // namespace

Result<std::unique_ptr<Engine>> UringEngine::make(const UringOptions& options) {
  std::unique_ptr<UringEngine> engine(new UringEngine(options));
  KEEL_TRY_VOID(engine->set_up());
  return std::unique_ptr<Engine>(std::move(engine));
}

UringEngine::~UringEngine() {
  if (ring_ready_) {
    // Descriptors whose closing was queued but not submitted are closed by close(2), because only the thread that made
    // the ring may submit.
    for (unsigned i = ring_.sq.sqe_head; i != ring_.sq.sqe_tail; ++i) {
      io_uring_sqe& entry = ring_.sq.sqes[i & ring_.sq.ring_mask];
      if (entry.opcode != IORING_OP_CLOSE) continue;
      ::close(entry.fd);
      io_uring_prep_nop(&entry);
    }
    io_uring_submit(&ring_);
    order_rings();
    io_uring_queue_exit(&ring_);
  }
  while (starved_.pop_front() != nullptr) {
  }
}

bool UringEngine::submit(Op& op) noexcept {
  KEEL_DCHECK(!op.pending, "an operation can be submitted again only after it is done");
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

void UringEngine::cancel(Op& op) noexcept {
  if (!op.pending || op.cancelling) return;
  op.cancelling = true;
  if (is_of_file(op.kind) && progress_of(static_cast<FileOp&>(op)).is_pooled) {
    if (files_->take_out(static_cast<FileOp&>(op))) make_ready(op);
    return;
  }
  if (receives(op)) drop_waiting(static_cast<Receive&>(op));
  if (op.linked()) op.unlink();
  if (op.unhurried) hurry(op);
  if (op.armed) {
    cancel_armed(op);
  } else {
    make_ready(op);
  }
}

bool UringEngine::wait(Instant until) noexcept {
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
    // Unhurried sends complete while they are submitted, with any result: if there are more completions than unhurried
    // sends, another operation has completed.
    io_uring_submit_and_wait(&ring_, 1 + unhurried_);
  }
  return !ready_.empty() || io_uring_cq_ready(&ring_) != 0;
}

int UringEngine::dispatch() noexcept {
  int completed = 0;
  List<Op> ready;
  ready.splice_back(ready_);
  while (Op* op = ready.pop_front()) {
    share_ = turn_share;
    completed += run_ready(*op);
  }
  // Handles only the operations that had completed when wait() returned. If the submission queue fills up meanwhile,
  // further operations may complete; the next dispatch() handles those.
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

void UringEngine::flush() noexcept {
  if (io_uring_sq_ready(&ring_) == 0) return;
  hand_over_messages();
  ++system_calls_;
  io_uring_submit(&ring_);
}

void UringEngine::wake_other(Engine& other) noexcept {
  if (!sends_messages_ || std::strcmp(other.name(), "uring") != 0) {
    other.wake();
    return;
  }
  auto& target = static_cast<UringEngine&>(other);
  for (unsigned i = 0; i < told_count_; ++i) {
    if (told_[i] == target.wake_up_) return;  // The wake-up message is sent at the end of this iteration.
  }
  if (!target.wake_up_->later()) return;
  if (told_count_ == told_max) flush();
  told_[told_count_++] = target.wake_up_;
  send_message(target.ring_.ring_fd);
}

void UringEngine::close(int fd) noexcept {
  io_uring_sqe* sqe = entry();
  io_uring_prep_close(sqe, fd);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  io_uring_sqe_set_data64(sqe, ignore_key);
}

Result<> UringEngine::set_up() {
  // With deferred task work (Linux 6.1) the kernel processes completions only when this thread asks for them; without
  // deferred task work, the kernel at least does not interrupt this thread to process completions. In both cases the
  // kernel marks in the ring that there are completions to process (Linux 5.19).
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
  if (error < 0) return Error::from_errno("io_uring_setup", -error);
  ring_ready_ = true;
  order_rings();
  if ((ring_.features & IORING_FEAT_NODROP) == 0) return fail(Code::Unsupported, "io_uring may lose completions");
  messages_ = std::make_unique_for_overwrite<msghdr[]>(ring_.sq.ring_entries);
  probe_operations();
  // Registering the ring saves a descriptor lookup per call; if the registration fails, the ring works without it.
  io_uring_register_ring_fd(&ring_);

  KEEL_TRY_VOID(buffers_.set_up(ring_));
  KEEL_TRY_VOID(probe_receive_limit());

  KEEL_TRY_VOID(open_wake(0));
  arm_wake();
  return {};
}

io_uring_sqe* UringEngine::entry_of_full_ring() noexcept {
  io_uring_sqe* sqe = nullptr;
  while (sqe == nullptr) {
    buffers_.fill();
    hand_over_messages();
    ++system_calls_;
    // The kernel has no memory for the submission: pause before trying again.
    if (io_uring_submit(&ring_) < 0) poll(nullptr, 0, 1);
    sqe = io_uring_get_sqe(&ring_);
  }
  return sqe;
}

void UringEngine::send_message(int ring) noexcept {
  io_uring_sqe* sqe = entry();
  io_uring_prep_msg_ring(sqe, ring, 0, message_key, 0);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  io_uring_sqe_set_data64(sqe, static_cast<std::uint64_t>(ring) << unsent_shift | unsent_tag);
}

// Called directly before the queued entries are submitted: after this call nothing can delay the messages among these
// entries.
void UringEngine::hand_over_messages() noexcept {
  while (told_count_ != 0) std::exchange(told_[--told_count_], nullptr)->leaves();
}

void UringEngine::probe_operations() noexcept {
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

void UringEngine::submit_other(Op& op) noexcept {
  switch (op.kind) {
    case Kind::ReceiveDatagrams:
    case Kind::Receive:
      begin_receive(static_cast<Receive&>(op));
      break;
    case Kind::Accept:
      arm_accept(static_cast<Accept&>(op));
      break;
    case Kind::Connect: {
      auto& connect = static_cast<Connect&>(op);
      // connect(2) on a Unix socket completes immediately, whereas io_uring would retry without success if the
      // listener's queue is full.
      if (connect.address.is_unix()) {
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

void UringEngine::arm_send(Send& op) noexcept {
  io_uring_sqe* sqe = entry();
  const std::size_t left = op.part_count == 1 ? op.parts->iov_len : bytes_left(op.parts, op.part_count);
  // The kernel completes a small send by itself; for a large send it reports how many bytes were sent, and the engine
  // sends the remaining bytes.
  int flags = MSG_NOSIGNAL | (left <= whole_send_max ? MSG_WAITALL : 0);
  if (op.unhurried) {
    // With MSG_DONTWAIT this send never waits in the kernel; if it waited, wait() would not return for other
    // operations.
    flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    ++unhurried_;
  }
  if (op.part_count == 1) {
    io_uring_prep_send(sqe, op.fd, op.parts->iov_base, std::min(left, ring_send_bytes_max), flags);
  } else if (op.parts->iov_len > ring_send_bytes_max) {
    io_uring_prep_send(sqe, op.fd, op.parts->iov_base, ring_send_bytes_max, flags | MSG_MORE);
  } else {
    // `message` must live until the entry is submitted: since Linux 5.5 the kernel reads the message when it takes the
    // entry.
    msghdr& message = messages_[sqe - ring_.sq.sqes];
    message = {};
    message.msg_iov = op.parts;
    message.msg_iovlen = left <= ring_send_bytes_max ? op.part_count : parts_within(op, ring_send_bytes_max);
    const int more = message.msg_iovlen == op.part_count ? 0 : MSG_MORE;
    io_uring_prep_sendmsg(sqe, op.fd, &message, static_cast<unsigned>(flags | more));
  }
  arm(sqe, op);
}

void UringEngine::arm_poll(Op& op, short events) noexcept {
  io_uring_sqe* sqe = entry();
  io_uring_prep_poll_add(sqe, op.fd, static_cast<unsigned>(events));
  arm(sqe, op);
}

void UringEngine::arm_wake() noexcept {
  io_uring_sqe* sqe = entry();
  io_uring_prep_read(sqe, wake_, &wake_count_, sizeof wake_count_, 0);
  io_uring_sqe_set_data64(sqe, wake_key);
}

// All waits share one timeout, which is moved only to an earlier time: with a separate timeout for each wait, the
// kernel would start and stop a timer each time. If the timeout expires too early, wait() returns without a result, and
// the timeout is set again.
void UringEngine::arm_timeout(Instant at) noexcept {
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

void UringEngine::cancel_armed(Op& op) noexcept {
  io_uring_sqe* sqe = entry();
  io_uring_prep_cancel(sqe, &op, 0);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  io_uring_sqe_set_data64(sqe, ignore_key);
}

int UringEngine::run_ready(Op& op) noexcept {
  if (op.cancelling) {
    if (op.armed) return 0;  // The kernel's final completion is on its way.
    finish(op, result_of_cancelled(op));
    return 1;
  }
  if (is_of_file(op.kind)) {
    finish(op, op.result);  // No thread was available.
    return 1;
  }
  if (op.kind == Kind::SendFile) return sent_file(static_cast<SendFile&>(op));
  if (op.kind == Kind::SendDatagrams) return continue_datagrams(static_cast<SendDatagrams&>(op));
  if (op.kind == Kind::Connect) {
    if (!advance_unix(static_cast<Connect&>(op))) return 0;
    finish(op, op.result);
    return 1;
  }
  return receives(op) ? run_receive(static_cast<Receive&>(op)) : 0;
}

int UringEngine::handle(const io_uring_cqe& completion) noexcept {
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
      if (state_of(static_cast<ReceiveDatagrams&>(op)).polled)
        return read_datagrams(static_cast<ReceiveDatagrams&>(op), result);
      return received(static_cast<Receive&>(op), result, completion.flags);
    case Kind::Send:
      return sent(static_cast<Send&>(op), result);
    default:
      return completed(op, result, completion.flags);
  }
}

int UringEngine::handle_own(std::uint64_t key, int result) noexcept {
  if (key == ignore_key) return 0;
  if (key == timeout_key) {
    timeout_at_ = Instant::never();
    return 0;
  }
  if (key == wake_key || key == message_key) {
    wake_up_->came();
    if (key == wake_key) arm_wake();
    return collect_files();
  }
  // A message could not be sent. After the errors below, the message is sent again; any other error means that the
  // target no longer exists.
  const int error = -result;
  if (error == ENOMEM || error == EOVERFLOW || error == EAGAIN || error == EINTR) {
    send_message(static_cast<int>(key >> unsent_shift));
  }
  return 0;
}

int UringEngine::completed(Op& op, int result, std::uint32_t flags) noexcept {
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
      return file_completed(static_cast<FileOp&>(op), result);
  }
}

int UringEngine::sent(Send& op, int result) noexcept {
  if (op.unhurried) hurry(op);  // The remaining bytes are sent in the usual way.
  if (result < 0) [[unlikely]] {
    // EINPROGRESS: the first write had no valid Fast Open cookie, so the connection is being made in the usual way.
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

Result<std::unique_ptr<Engine>> make_uring_engine(const UringOptions& options) { return UringEngine::make(options); }

}  // namespace keel::io

#endif
