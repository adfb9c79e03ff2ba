// Datagrams by system calls that take many at a time: what epoll does with them, and io_uring where it does not read
// them itself.

#pragma once

#include <netinet/udp.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "keel/io/op.h"

namespace keel::io {

// What was read at once by recvmmsg(2), in memory of its own: 16 times 64 KiB, of which the system gives what is
// touched.
class DatagramBatch {
 public:
  DatagramBatch();
  ~DatagramBatch();

  // How many have come, or a negative errno.
  int read(const ReceiveDatagrams& op) noexcept;
  // Shows the one at `index` in the answers of `op`.
  void show(int index, ReceiveDatagrams& op) noexcept;

 private:
  struct Place;
  char* memory_;
  std::unique_ptr<Place[]> places_;
  mmsghdr messages_[datagrams_read_max];
};

// Fills the answers of `op` from a message with room for a name and control data, but for `data` and `result`.
void read_message(const msghdr& message, std::size_t size, ReceiveDatagrams& op) noexcept;

// Sends what is left of `op`. 0: all has left; EAGAIN: there is no room; else the errno of the next one. Counts its
// system calls in `calls`.
int send_datagrams(SendDatagrams& op, std::uint64_t& calls) noexcept;
// What `op` answers when that was `error`.
inline int result_of(const SendDatagrams& op, int error) noexcept {
  return op.sent != 0 || error == 0 ? static_cast<int>(op.sent) : -error;
}
// Whether room is worth waiting for: poll(2) of a Unix socket that is not connected knows nothing of its receiver's.
bool waits_for_room(const SendDatagrams& op) noexcept;

inline constexpr std::size_t segment_control_bytes = CMSG_SPACE(sizeof(int));

}  // namespace keel::io
