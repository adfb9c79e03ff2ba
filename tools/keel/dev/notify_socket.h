// dev/notify_socket.h — receives the messages with which processes report that they are ready: the supervisor's side of
// sd_notify(3).
//
// Threads: one.

#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "keel/base/result.h"

namespace keel::dev {

class NotifySocket {
 public:
  struct Message {
    pid_t process = 0;  // The id of the sending process, as the kernel reports it.
    std::string text;   // "READY=1\nSTATUS=serving on 127.0.0.1:8080"
    bool has(std::string_view line) const;
  };

  // Creates a socket at `path`; the destructor removes the file.
  static Result<NotifySocket> make(std::string path);
  NotifySocket(NotifySocket&& other) noexcept;
  NotifySocket& operator=(NotifySocket&&) = delete;
  ~NotifySocket();

  const std::string& path() const noexcept { return path_; }
  int fd() const noexcept { return fd_; }
  // Returns the messages that have arrived; does not wait.
  std::vector<Message> receive();

 private:
  NotifySocket(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
};

}  // namespace keel::dev
