// Connects to Unix listeners whose queue is full, which do not report when they have room: connect(2) returns EAGAIN
// immediately. Each is tried again after a millisecond, on every engine, until it is cancelled.
//
// Threads: the engine's, inside a Loop, whose timer it uses.

#pragma once

#include <sys/socket.h>

#include <cerrno>

#include "keel/base/host.h"
#include "keel/base/list.h"
#include "keel/base/wheel.h"
#include "keel/io/op.h"

namespace keel::io {

class UnixConnects : private Timer {
 public:
  // Operations that have to be tried again are moved to `ready`.
  explicit UnixConnects(List<Op>& ready) noexcept : Timer(&fired), ready_(ready) {}
  ~UnixConnects() {
    while (waiting_.pop_front() != nullptr) {
    }
  }

  // Returns the result of an attempt: 0 or an errno. EAGAIN: `op` is linked here until it goes to `ready`.
  int attempt(Connect& op) noexcept {
    if (::connect(op.fd, op.address.system(), op.address.system_size()) == 0) return 0;
    if (errno != EAGAIN) return errno;
    waiting_.push_back(op);
    if (!is_running()) Host::current().start_timer(*this, Host::current().precise_now() + 1_ms);
    return EAGAIN;
  }

 private:
  static void fired(Timer& timer) noexcept {
    auto& self = static_cast<UnixConnects&>(timer);
    self.ready_.splice_back(self.waiting_);
  }
  List<Op>& ready_;
  List<Op> waiting_;
};

}  // namespace keel::io
