// Socket set-up shared by the engines that use real descriptors.

#pragma once

#include <sys/types.h>

#include <vector>

#include "keel/io/engine.h"

namespace keel::io {

// Identifies the file of a Unix listener, because its path may later belong to a file of another process.
struct ListenerFile {
  int listener;
  dev_t device;
  ino_t inode;
};
using ListenerFiles = std::vector<ListenerFile>;

// Does what system_listener() of socket_options.h does, and also records the file of a Unix listener.
Result<int> system_listener(const Address& address, const ListenOptions& options, ListenerFiles& files);
// These checks of options need no socket.
enum class Protocol : std::uint8_t { Tcp, Udp, Unix };
Result<> check(const SocketOptions& options, Protocol protocol);
Result<> check(const DatagramOptions& options);
Result<> check(const EngineOptions& options);
bool is_multicast(const Address& address) noexcept;
Result<> check_group(const Address& group);
// See Engine::turn_away.
void system_turn_away(int listener, const ListenerFiles& files) noexcept;
Address system_local_address(int fd) noexcept;
Address system_peer_address(int fd) noexcept;
// See Engine::acknowledged.
std::optional<std::uint64_t> system_acknowledged(int fd) noexcept;
// See Engine::unacknowledged.
std::uint64_t system_unacknowledged(int fd) noexcept;
// See Engine::last_came.
Duration system_last_came(int fd) noexcept;
// See Engine::has_unread.
bool system_has_unread(int fd) noexcept;

// Options of the io_uring engine, which tests change.
struct UringOptions {
  unsigned submission_entries = 1024;
  unsigned completion_entries = 8192;
  std::uint32_t receive_bytes = 0;  // See EngineOptions::receive_bytes.
  bool files = true;                // False: the engine behaves as on a kernel without file operations.
  bool messages = true;             // False: the engine behaves as on a kernel without messages between rings.
  bool datagrams = true;            // False: the engine behaves as on a kernel without multishot receive for datagrams.
};
// EngineOptions explains `receive_bytes`.
Result<std::unique_ptr<Engine>> make_epoll_engine(std::uint32_t receive_bytes = 0);
Result<std::unique_ptr<Engine>> make_uring_engine(const UringOptions& options = {});
// Tries once, on a socket pair, each uring feature that the engine uses; the error says which feature failed.
Result<> probe_uring();

}  // namespace keel::io
