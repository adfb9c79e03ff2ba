// A supervisor for tests: the socket that NOTIFY_SOCKET names for as long as it lives.

#pragma once

#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "keel/base/check.h"

namespace keel::app {

class Supervisor {
 public:
  explicit Supervisor(bool is_abstract) {
    std::string pattern = (std::filesystem::temp_directory_path() / "keel-notify-XXXXXX").string();
    KEEL_CHECK(::mkdtemp(pattern.data()) != nullptr, "a test must be able to create a folder");
    folder_ = pattern;
    const std::string name = is_abstract ? "@" + folder_ : folder_ + "/notify";
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, name.data(), name.size());
    if (is_abstract) at.sun_path[0] = '\0';
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const std::size_t size = offsetof(sockaddr_un, sun_path) + name.size() + (is_abstract ? 0 : 1);
    KEEL_CHECK(::bind(socket_, reinterpret_cast<sockaddr*>(&at), static_cast<socklen_t>(size)) == 0,
               "a test can bind a Unix socket");
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Supervisor() {
    ::unsetenv("NOTIFY_SOCKET");
    close();
    std::filesystem::remove_all(folder_);
  }
  Supervisor(const Supervisor&) = delete;

  // The next message; "" when none comes within `timeout_ms`.
  std::string next(int timeout_ms = 30'000) {
    pollfd readable{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, timeout_ms) <= 0) return "";
    char bytes[4096];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : "";
  }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  std::string folder_;
  int socket_ = -1;
};

}  // namespace keel::app
