// Gives tests their own network, whose settings and routes they may change. Needs root.

#pragma once

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

namespace keel::io::testing {

// Moves the calling thread to a new network namespace whose loopback is up. False: the thread is not permitted to make
// a network namespace.
inline bool enter_own_network() {
  if (unshare(CLONE_NEWNET) != 0) return false;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  const bool up = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return up;
}

// Runs `body` in a new network namespace, on a separate thread. False: the thread is not permitted to make a network
// namespace, or `body` returned false.
template <class F>
bool in_own_network(F body) {
  bool done = false;
  std::thread([&] { done = enter_own_network() && body(); }).join();
  return done;
}

// Sets a value below /proc/sys/net for the network of the calling thread.
inline bool set_network_value(const char* path, const char* value) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  const bool written = std::fputs(value, file) >= 0;
  return std::fclose(file) == 0 && written;
}

// Makes loopback reject packets of more than `bytes` bytes: the sender gets the error that there is no room (a queue of
// the kind bfifo, rtnetlink(7)). False: this kernel has no such queue.
inline bool limit_loopback(std::uint32_t bytes) {
  struct {
    nlmsghdr header;
    tcmsg queue;
    rtattr kind;
    char name[8];
    rtattr options;
    tc_fifo_qopt limit;
  } request{};
  static_assert(sizeof request == NLMSG_LENGTH(sizeof(tcmsg)) + RTA_SPACE(8) + RTA_SPACE(sizeof(tc_fifo_qopt)));
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_NEWQDISC;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
  request.queue.tcm_ifindex = static_cast<int>(if_nametoindex("lo"));
  request.queue.tcm_handle = TC_H_MAKE(1u << 16, 0);
  request.queue.tcm_parent = TC_H_ROOT;
  request.kind.rta_type = TCA_KIND;
  request.kind.rta_len = RTA_LENGTH(sizeof "bfifo");
  std::memcpy(request.name, "bfifo", sizeof "bfifo");
  request.options.rta_type = TCA_OPTIONS;
  request.options.rta_len = RTA_LENGTH(sizeof(tc_fifo_qopt));
  request.limit.limit = bytes;
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return false;
  struct {
    nlmsghdr header;
    nlmsgerr error;
    char rest[512];
  } reply{};
  const bool replied = send(fd, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request) &&
                       recv(fd, &reply, sizeof reply, 0) >= static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)));
  close(fd);
  return replied && reply.header.nlmsg_type == NLMSG_ERROR && reply.error.error == 0;
}

}  // namespace keel::io::testing
