// Datagrams on io_uring: the kernel reads datagrams that fit into a buffer, and the engine reads all others in batches.
// Datagrams are sent in batches, or with the other operations of the iteration.

#if KEEL_WITH_URING

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "keel/io/internal/uring_engine.h"

namespace keel::io {
namespace {

// The size of the part of a buffer in which the kernel stores the sender of a datagram and its control data.
constexpr std::uint32_t told_bytes = 1024;
static_assert(sizeof(io_uring_recvmsg_out) + sizeof(sockaddr_storage) <= told_bytes);

}  // namespace

// Several datagrams are sent with one system call; a single datagram is submitted with the other operations of the
// iteration.
bool UringEngine::submit_datagrams(SendDatagrams& op) noexcept {
  op.sent = 0;
  op.offset = 0;
  op.room.make<UringSendDatagrams>();
  op.by_hand = false;
  if (op.count == 1 && op.datagrams->segment_bytes == 0) {
    arm_datagram(op);
    return false;
  }
  op.pending = !advance_datagrams(op);
  return !op.pending;
}

// True: op.result is valid.
bool UringEngine::advance_datagrams(SendDatagrams& op) noexcept {
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

int UringEngine::continue_datagrams(SendDatagrams& op) noexcept {
  if (!advance_datagrams(op)) return 0;
  finish(op, op.result);
  return 1;
}

void UringEngine::arm_datagram(SendDatagrams& op) noexcept {
  const OutgoingDatagram& datagram = *op.datagrams;
  auto& [polling, message, bytes] = op.room.as<UringSendDatagrams>();
  bytes = {const_cast<char*>(datagram.bytes.data()), datagram.bytes.size()};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (datagram.to.family() != AF_UNSPEC) {
    message.msg_name = const_cast<sockaddr*>(datagram.to.system());
    message.msg_namelen = datagram.to.system_size();
  }
  io_uring_sqe* sqe = entry();
  // The kernel itself must not wait for room: without MSG_DONTWAIT it would retry with the remainder of the bytes that
  // it had already copied, and send an empty datagram (seen with Unix sockets on Linux 6.18).
  io_uring_prep_sendmsg(sqe, op.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  arm(sqe, op);
}

void UringEngine::arm_room(SendDatagrams& op) noexcept {
  op.room.as<UringSendDatagrams>().polling = true;
  arm_poll(op, POLLOUT);
}

int UringEngine::datagrams_sent(SendDatagrams& op, int result) noexcept {
  int error = result < 0 ? -result : 0;
  const bool polling = op.room.as<UringSendDatagrams>().polling;
  if (!polling && error == 0) {
    op.sent = 1;
  } else if (op.cancelling) {
    error = ECANCELED;
  } else if (polling ? error == 0 : error == EINTR || error == EAGAIN) {
    return continue_datagrams(op);
  }
  finish(op, result_of(op, error));
  return 1;
}

// Whether the kernel reads datagrams into its buffers. The engine does not receive datagrams directly into a buffer if
// they may be too large for a buffer or have to be joined: it waits until they arrive, and then reads them.
void UringEngine::choose_how(ReceiveDatagrams& op) noexcept {
  const bool polled = !reads_datagrams_ || op.join || op.bytes_max + told_bytes > buffers_.bytes();
  state_of(op).polled = polled;
  if (polled) need_datagrams();
}

void UringEngine::arm_datagrams(ReceiveDatagrams& op) noexcept {
  if (state_of(op).polled) {
    arm_poll(op, POLLIN);
    return;
  }
  // This header states only the sizes of the name and of the control data; the remainder of the buffer is for the
  // payload. MSG_TRUNC makes the kernel report the whole length of the payload.
  auto& message = op.message_room.make<msghdr>();
  message.msg_namelen = sizeof(sockaddr_storage);
  io_uring_sqe* sqe = entry();
  io_uring_prep_recvmsg_multishot(sqe, op.fd, &message, MSG_TRUNC);
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->buf_group = 0;
  arm(sqe, op);
}

// In the buffer, a header, the sender's address and control data precede the payload.
void UringEngine::show_datagram(ReceiveDatagrams& op) noexcept {
  const auto& message = op.message_room.as<msghdr>();
  auto* const out = reinterpret_cast<io_uring_recvmsg_out*>(op.data);
  char* const name = static_cast<char*>(io_uring_recvmsg_name(out));
  op.from = out->namelen != 0 ? Address::from_system(reinterpret_cast<sockaddr*>(name), out->namelen) : Address();
  op.segment_bytes = 0;
  op.data = name + message.msg_namelen + message.msg_controllen;
  op.cut = out->payloadlen > op.bytes_max;
  op.result = static_cast<std::int32_t>(std::min(out->payloadlen, op.bytes_max));
}

// Reads datagrams that poll has reported.
int UringEngine::read_datagrams(ReceiveDatagrams& op, int result) noexcept {
  if (op.cancelling) {
    finish(op, -ECANCELED);
    return 1;
  }
  if (op.paused) return 0;  // resume() starts the operation again.
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

}  // namespace keel::io

#endif
