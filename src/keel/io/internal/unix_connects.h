// Connects to Unix listeners whose queue is full. A full listener does not report when it has room again: connect(2)
// returns EAGAIN immediately. With every engine, each connect is tried again after a millisecond, until it succeeds,
// fails or is cancelled.
//
// Threads: the engine's thread, inside a Loop, whose timer this class uses.

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

  // Makes one attempt to connect; returns 0 or an errno. On EAGAIN, `op` is kept in this object until it is moved to
  // `ready`.
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
