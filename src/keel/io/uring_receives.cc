// Receiving on io_uring: bytes are shown in the kernel's buffer, held, or kept waiting during a pause.

#if KEEL_WITH_URING

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "keel/base/pool.h"
#include "keel/io/internal/uring_engine.h"

namespace keel::io {
namespace {

// How many buffers may wait during a pause before the receive is stopped: stopping and restarting a receive costs more
// than receiving a message.
constexpr unsigned waiting_max = 4;
// A multishot receive is restarted only after it has received at least this many bytes.
constexpr std::uint32_t limit_bytes_min = 64 * 1024;
// After this many arrivals in a row, the kernel interrupts a receive (MULTISHOT_MAX_RETRY). If only the end of a Unix
// socket's stream is left after this interruption, the kernel does not notice that end (seen on Linux 6.18).
constexpr unsigned filled_max = 32;
// Stands for the name of held bytes that are a copy made by the engine; these bytes were in no buffer, so they have no
// name.
constexpr std::uint32_t copied = UringBuffers::none - 1;

}  // namespace

void UringEngine::resume(Receive& op) noexcept {
  if (!op.paused) return;
  op.paused = false;
  if (op.pending && (!op.armed || state_of(op).waiting_first != Receive::none)) make_ready(op);
}

void UringEngine::end_receive(Receive& op) noexcept {
  if (!op.pending || op.cancelling || state_of(op).ending) return;
  state_of(op).ending = true;
  op.paused = false;
  if (op.linked()) op.unlink();
  if (op.armed) cancel_armed(op);
  make_ready(op);
}

Held UringEngine::hold(Receive& op) noexcept {
  held_ = true;
  const auto size = static_cast<std::uint32_t>(op.result);
  if (op.buffer == Receive::none) {
    auto* copy = static_cast<char*>(pool_allocate(size));
    std::memcpy(copy, op.data, size);
    return {copy, size, copied};
  }
  // In the buffer, information about a datagram precedes its bytes.
  const auto before = static_cast<std::uint32_t>(op.data - buffers_.at(op.buffer));
  const std::uint32_t buffer = buffers_.lend(op.buffer, before + size);
  return {buffers_.at(buffer) + before, size, buffer};
}

void UringEngine::release(Held held) noexcept {
  if (held.buffer == copied) {
    pool_free(held.data, held.size);
  } else if (held.buffer != Receive::none) {
    buffers_.take_back(held.buffer);
  }
}

// The kernel posts the completions for all bytes that have arrived for a socket together. These bytes may fill 33
// buffers or more before a pause can stop the receive. Without a limit, a peer that sends faster than this side reads
// would therefore occupy half a MiB of buffers. Since Linux 6.17 an entry states after how many bytes its receive ends,
// in a field that earlier kernels reject. A receive on an invalid descriptor shows whether this kernel rejects the
// field.
Result<> UringEngine::probe_receive_limit() {
  const std::uint32_t limit = std::max(waiting_max * buffers_.bytes(), limit_bytes_min);
  io_uring_sqe* sqe = entry();
  io_uring_prep_recv_multishot(sqe, -1, nullptr, 0, 0);
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->buf_group = 0;
  sqe->file_index = limit;
  io_uring_sqe_set_data64(sqe, ignore_key);
  io_uring_cqe* completion = nullptr;
  if (const int result = io_uring_submit_and_wait(&ring_, 1); result < 0) {
    return Error::from_errno("io_uring_enter", -result);
  }
  if (const int result = io_uring_peek_cqe(&ring_, &completion); result < 0) {
    return Error::from_errno("io_uring_enter", -result);
  }
  if (completion->res == -EBADF) receive_limit_ = limit;
  io_uring_cqe_seen(&ring_, completion);
  return {};
}

void UringEngine::begin_receive(Receive& op) noexcept {
  op.paused = false;
  op.room.make<UringReceive>();
  if (op.kind == Kind::ReceiveDatagrams) choose_how(static_cast<ReceiveDatagrams&>(op));
  arm_receive(op);
}

void UringEngine::arm_receive(Receive& op) noexcept {
  if (op.kind == Kind::ReceiveDatagrams) {
    arm_datagrams(static_cast<ReceiveDatagrams&>(op));
    return;
  }
  io_uring_sqe* sqe = entry();
  io_uring_prep_recv_multishot(sqe, op.fd, nullptr, 0, 0);
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->buf_group = 0;
  // The limit of a multishot receive; newer versions of liburing name this field optlen.
  sqe->file_index = receive_limit_;
  arm(sqe, op);
}

int UringEngine::run_receive(Receive& op) noexcept {
  UringReceive& state = state_of(op);
  int delivered = 0;
  while (state.waiting_first != Receive::none && !op.paused && !op.cancelling) {
    const std::uint32_t buffer = state.waiting_first;
    state.waiting_first = buffers_.next_of(buffer);
    if (state.waiting_first == Receive::none) state.waiting_last = Receive::none;
    --state.waiting_count;
    buffers_.end_loan(buffer);  // If done() holds the buffer, show() lends it again.
    if (!show(op, buffer, buffers_.size_of(buffer))) buffers_.recycle(buffer);
    ++delivered;
  }
  if (op.cancelling || op.paused) return delivered;
  if (state.waiting_final != 1) {
    const int result = state.waiting_final;
    state.waiting_final = 1;
    finish(op, result);
    return delivered + 1;
  }
  if (state.ending) {
    if (op.armed) return delivered;  // The kernel's final completion is on its way.
    finish(op, -ECANCELED);
    return delivered + 1;
  }
  if (!op.armed) arm_receive(op);
  return delivered;
}

// Calls done() with the bytes; returns whether done() held them.
bool UringEngine::show(Receive& op, std::uint32_t buffer, std::uint32_t size) noexcept {
  op.data = buffers_.at(buffer);
  op.buffer = buffer;
  op.result = static_cast<std::int32_t>(size);
  if (op.kind == Kind::ReceiveDatagrams) show_datagram(static_cast<ReceiveDatagrams&>(op));
  op.more = true;
  held_ = false;
  op.done(op);
  // `op` still exists, because it is pending until its final completion.
  return std::exchange(held_, false);
}

// Restarts the receive before the kernel could miss the end of the stream.
void UringEngine::note_full(Receive& op) noexcept {
  filled_ = &op == filling_ ? filled_ + 1 : 1;
  filling_ = &op;
  if (filled_ < filled_max || !op.armed || op.cancelling || state_of(op).ending) return;
  filled_ = 0;
  cancel_armed(op);
}

void UringEngine::drop_waiting(Receive& op) noexcept {
  UringReceive& state = state_of(op);
  while (state.waiting_first != Receive::none) {
    const std::uint32_t buffer = state.waiting_first;
    state.waiting_first = buffers_.next_of(buffer);
    buffers_.take_back(buffer);
  }
  state.waiting_last = Receive::none;
  state.waiting_count = 0;
}

int UringEngine::received(Receive& op, int result, std::uint32_t flags) noexcept {
  UringReceive& state = state_of(op);
  const std::uint32_t buffer = flags >> IORING_CQE_BUFFER_SHIFT;
  if ((flags & IORING_CQE_F_BUFFER) != 0) {
    buffers_.note_used();
    // The completion that reports the end of a stream may have a buffer, too.
    if (result <= 0) buffers_.recycle(buffer);
  }
  if (result > 0) {
    const auto size = static_cast<std::uint32_t>(result);
    if (op.cancelling) {
      buffers_.recycle(buffer);
      if (!op.armed) make_ready(op);
      return 0;
    }
    if (op.paused || state.waiting_first != Receive::none) {
      keep_waiting(op, buffer, size);
      if (state.ending) make_ready(op);
      return 0;
    }
    if (!show(op, buffer, size)) buffers_.recycle(buffer);
    if (size == buffers_.bytes()) [[unlikely]]
      note_full(op);
    // A multishot receive ends at its limit, or when the completion queue has little room; it is then restarted.
    if (!op.armed && op.pending) op.cancelling || op.paused || state.ending ? make_ready(op) : arm_receive(op);
    return 1;
  }
  if (op.cancelling) {
    finish(op, -ECANCELED);
    return 1;
  }
  if (result == -ENOBUFS) {
    if (op.paused) return 0;
    if (state.ending) {
      make_ready(op);
      return 0;
    }
    buffers_.want_more();
    if (!op.linked()) starved_.push_back(op);
    return 0;
  }
  if (result == -ECANCELED) {
    // The engine stopped the receive during a pause; resume() may have been called in the meantime.
    if (!op.paused) make_ready(op);
    return 0;
  }
  if (op.paused || state.waiting_first != Receive::none) {
    state.waiting_final = result;
    return 0;
  }
  finish(op, result);
  return 1;
}

void UringEngine::keep_waiting(Receive& op, std::uint32_t buffer, std::uint32_t size) noexcept {
  UringReceive& state = state_of(op);
  buffer = buffers_.lend(buffer, size);
  buffers_.end_chain(buffer, size);
  if (state.waiting_first == Receive::none) {
    state.waiting_first = buffer;
  } else {
    buffers_.link(state.waiting_last, buffer);
  }
  state.waiting_last = buffer;
  // Further bytes stay in the kernel, which slows the peer down.
  if (++state.waiting_count == waiting_max && op.armed) cancel_armed(op);
}

}  // namespace keel::io

#endif
