#include "dev/notify_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace keel::dev {

bool NotifySocket::Message::has(std::string_view line) const {
  return ("\n" + text + "\n").contains("\n" + std::string(line) + "\n");
}

Result<NotifySocket> NotifySocket::make(std::string path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path) {
    return Error::text(Code::InvalidArgument, path +
                                                  ": too long for the path of a Unix socket; set TMPDIR to a "
                                                  "shorter folder");
  }
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Error::from_errno("socket", errno);
  NotifySocket made(fd, std::move(path));
  const int on = 1;
  if (::setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return Error::from_errno("SO_PASSCRED", errno);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    return Error::from_errno("bind", errno).because(made.path_);
  }
  return made;
}

NotifySocket::NotifySocket(NotifySocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

NotifySocket::~NotifySocket() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(path_.c_str());
}

std::vector<NotifySocket::Message> NotifySocket::receive() {
  std::vector<Message> messages;
  while (true) {
    char text[4096];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    iovec part{.iov_base = text, .iov_len = sizeof text};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t size = ::recvmsg(fd_, &header, MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return messages;
    Message message{.process = 0, .text = std::string(text, static_cast<std::size_t>(size))};
    for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
      if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_CREDENTIALS) continue;
      ucred sender;
      std::memcpy(&sender, CMSG_DATA(at), sizeof sender);
      message.process = sender.pid;
    }
    messages.push_back(std::move(message));
  }
}

}  // namespace keel::dev
