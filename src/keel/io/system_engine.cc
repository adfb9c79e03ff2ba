#include "keel/io/internal/system_engine.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace keel::io {

SystemEngine::~SystemEngine() {
  files_.reset();
  while (ready_.pop_front() != nullptr) {
  }
  if (wake_ >= 0) ::close(wake_);
}

Result<> SystemEngine::open_wake(int flags) {
  wake_ = ::eventfd(0, EFD_CLOEXEC | flags);
  if (wake_ < 0) return Error::from_errno("eventfd", errno);
  return {};
}

void SystemEngine::wake() noexcept {
  if (!wake_up_->now()) return;
  wakes_.count.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

Result<int> SystemEngine::open_listener(const Address& address, const ListenOptions& options) {
  return system_listener(address, options, listener_files_);
}

Result<int> SystemEngine::open_stream(int family, const ConnectOptions& options) {
  return system_stream(family, options);
}

Result<int> SystemEngine::open_datagram(const DatagramOptions& options) { return system_datagram(options); }

Result<> SystemEngine::set_options(int fd, const SocketOptions& options) { return system_set_options(fd, options); }

SocketOptions SystemEngine::options(int fd) { return system_options(fd); }

Result<> SystemEngine::set_member(int fd, const Address& group, std::uint32_t interface, bool member) {
  return system_set_member(fd, group, interface, member);
}

void SystemEngine::turn_away(int listener) noexcept {
  ++system_calls_;
  system_turn_away(listener, listener_files_);
}

int SystemEngine::try_accept(int listener) noexcept {
  ++system_calls_;
  const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return fd >= 0 ? fd : -errno;
}

void SystemEngine::shutdown_write(int fd) noexcept {
  ++system_calls_;
  ::shutdown(fd, SHUT_WR);
}

void SystemEngine::shutdown(int fd) noexcept {
  ++system_calls_;
  ::shutdown(fd, SHUT_RDWR);
}

Address SystemEngine::local_address(int fd) noexcept { return system_local_address(fd); }

Address SystemEngine::peer_address(int fd) noexcept { return system_peer_address(fd); }

std::optional<std::uint64_t> SystemEngine::acknowledged(int fd) noexcept {
  ++system_calls_;
  return system_acknowledged(fd);
}

std::uint64_t SystemEngine::unacknowledged(int fd) noexcept {
  ++system_calls_;
  return system_unacknowledged(fd);
}

Duration SystemEngine::last_came(int fd) noexcept {
  ++system_calls_;
  return system_last_came(fd);
}

bool SystemEngine::has_unread(int fd) noexcept {
  ++system_calls_;
  return system_has_unread(fd);
}

void SystemEngine::begin_file(FileOp& op) noexcept {
  if (op.kind == Kind::WriteAt) static_cast<WriteAt&>(op).written = 0;
  op.room.make<FileProgress>();
}

void SystemEngine::submit_to_threads(FileOp& op) noexcept {
  if (files_ == nullptr) files_ = std::make_unique<FilePool>(*this);
  if (const int error = files_->submit(op)) {
    op.result = -error;
    make_ready(op);
  }
}

int SystemEngine::collect_files() noexcept {
  if (files_ == nullptr) return 0;
  List<Op> ended;
  files_->collect(ended);
  int completed = 0;
  while (Op* op = ended.pop_front()) {
    finish(*op, op->result);
    ++completed;
  }
  return completed;
}

void SystemEngine::need_datagrams() {
  if (datagrams_ == nullptr) datagrams_ = std::make_unique<DatagramBatch>();
}

}  // namespace keel::io
