#include "keel/io/datagrams.h"

#include <netinet/udp.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>

#include "keel/io/internal/turn_share.h"

namespace keel::io {
namespace {

constexpr std::size_t datagram_bytes_max = 64 * 1024;
constexpr unsigned sends_max = 64;
// The maximum number of segments into which the kernel divides one message: UDP_MAX_SEGMENTS of Linux before 6.9.
// Together, the segments must also fit into an IP packet.
constexpr std::size_t segments_max = 64;
constexpr std::size_t segments_bytes_max = 65'000;

// The number of unsent bytes of `next` that go into one message.
std::size_t message_bytes(const SendDatagrams& op, const OutgoingDatagram& next, std::size_t offset) noexcept {
  const std::size_t left = next.bytes.size() - offset;
  if (next.segment_bytes == 0) return left;
  if (op.by_hand || op.is_unix || next.to.is_unix()) return std::min<std::size_t>(left, next.segment_bytes);
  const std::size_t segments = std::clamp<std::size_t>(segments_bytes_max / next.segment_bytes, 1, segments_max);
  return std::min(left, segments * next.segment_bytes);
}

struct Outgoing {
  iovec bytes;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(std::uint16_t))];
};

void ask_for_segments(msghdr& message, Outgoing& outgoing, std::uint32_t segment_bytes) noexcept {
  message.msg_control = outgoing.control;
  message.msg_controllen = sizeof outgoing.control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_UDP;
  header->cmsg_type = UDP_SEGMENT;
  header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const auto size = static_cast<std::uint16_t>(segment_bytes);
  std::memcpy(CMSG_DATA(header), &size, sizeof size);
}

// Fills the result fields of `op`, except `data` and `result`.
void read_message(const msghdr& message, std::size_t size, ReceiveDatagrams& op) noexcept {
  op.from = message.msg_namelen != 0
                ? Address::from_system(static_cast<const sockaddr*>(message.msg_name), message.msg_namelen)
                : Address();
  op.cut = (message.msg_flags & MSG_TRUNC) != 0;
  op.segment_bytes = 0;
  if (message.msg_controllen < sizeof(cmsghdr)) return;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_UDP || header->cmsg_type != UDP_GRO) return;
  int segment = 0;
  std::memcpy(&segment, CMSG_DATA(header), sizeof segment);
  if (segment > 0 && static_cast<std::size_t>(segment) < size) op.segment_bytes = static_cast<std::uint32_t>(segment);
}

}  // namespace

struct DatagramBatch::Place {
  iovec bytes;
  sockaddr_storage from;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

DatagramBatch::DatagramBatch() : places_(std::make_unique<Place[]>(datagrams_read_max)) {
  void* memory = mmap(nullptr, datagrams_read_max * datagram_bytes_max, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // Keeps data of peers out of core dumps.
  madvise(memory, datagrams_read_max * datagram_bytes_max, MADV_DONTDUMP);
  memory_ = static_cast<char*>(memory);
}
DatagramBatch::~DatagramBatch() { munmap(memory_, datagrams_read_max * datagram_bytes_max); }

int DatagramBatch::read(const ReceiveDatagrams& op) noexcept {
  for (int i = 0; i < datagrams_read_max; ++i) {
    Place& place = places_[static_cast<std::size_t>(i)];
    const std::size_t room = op.join ? datagram_bytes_max : op.bytes_max;
    place.bytes = {memory_ + static_cast<std::size_t>(i) * datagram_bytes_max, room};
    msghdr& message = messages_[i].msg_hdr;
    message = {};
    message.msg_name = &place.from;
    message.msg_namelen = sizeof place.from;
    message.msg_iov = &place.bytes;
    message.msg_iovlen = 1;
    message.msg_control = place.control;
    message.msg_controllen = sizeof place.control;
  }
  for (;;) {
    const int count = recvmmsg(op.fd, messages_, datagrams_read_max, MSG_DONTWAIT, nullptr);
    if (count >= 0) return count;
    if (errno != EINTR) return errno == EWOULDBLOCK ? -EAGAIN : -errno;
  }
}

void DatagramBatch::show(int index, ReceiveDatagrams& op) noexcept {
  const mmsghdr& message = messages_[index];
  op.data = static_cast<char*>(message.msg_hdr.msg_iov->iov_base);
  op.buffer = Receive::none;
  op.result = static_cast<std::int32_t>(message.msg_len);
  read_message(message.msg_hdr, message.msg_len, op);
}

int send_datagrams(SendDatagrams& op, std::uint64_t& calls) noexcept {
  for (;;) {
    std::int64_t share = std::numeric_limits<std::int64_t>::max();
    const int error = send_datagrams(op, calls, share);
    if (error != share_is_used) return error;
  }
}

int send_datagrams(SendDatagrams& op, std::uint64_t& calls, std::int64_t& share) noexcept {
  while (op.sent != op.count) {
    if (share <= 0) return share_is_used;
    mmsghdr messages[sends_max];
    Outgoing outgoing[sends_max];
    unsigned count = 0;
    std::size_t offset = op.offset;
    std::int64_t room = share;
    for (std::uint32_t i = op.sent; i != op.count && count != sends_max && room > 0; ++count) {
      const OutgoingDatagram& next = op.datagrams[i];
      const std::size_t size = message_bytes(op, next, offset);
      msghdr& message = messages[count].msg_hdr;
      message = {};
      if (next.to.family() != AF_UNSPEC) {
        message.msg_name = const_cast<sockaddr*>(next.to.system());
        message.msg_namelen = next.to.system_size();
      }
      outgoing[count].bytes = {const_cast<char*>(next.bytes.data()) + offset, size};
      message.msg_iov = &outgoing[count].bytes;
      message.msg_iovlen = 1;
      if (next.segment_bytes != 0 && size > next.segment_bytes) {
        ask_for_segments(message, outgoing[count], next.segment_bytes);
      }
      offset += size;
      room -= share_of(size);
      if (offset == next.bytes.size()) {
        ++i;
        offset = 0;
      }
    }
    ++calls;
    const int sent = sendmmsg(op.fd, messages, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    for (int i = 0; i < sent; ++i) {
      op.offset += outgoing[i].bytes.iov_len;
      share -= share_of(outgoing[i].bytes.iov_len);
      if (op.offset != op.datagrams[op.sent].bytes.size()) continue;
      ++op.sent;
      op.offset = 0;
    }
    if (sent >= 0 || errno == EINTR) continue;
    // The segments are larger than the packets of the route, or the route does not support segmentation. Therefore,
    // from now on each segment is sent separately.
    const bool was_cut_up = messages[0].msg_hdr.msg_control != nullptr;
    if (was_cut_up && (errno == EINVAL || errno == EIO || errno == EMSGSIZE || errno == EOPNOTSUPP)) {
      op.by_hand = true;
      continue;
    }
    return errno == EWOULDBLOCK ? EAGAIN : errno;
  }
  return 0;
}

bool waits_for_room(const SendDatagrams& op) noexcept { return !op.datagrams[op.sent].to.is_unix(); }

}  // namespace keel::io
