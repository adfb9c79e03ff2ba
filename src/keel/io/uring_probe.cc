// Tests whether the io_uring of this kernel has what the engine needs, by using it.

#if KEEL_WITH_URING

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "keel/io/internal/sockets.h"

namespace keel::io {

Result<> probe_uring() {
  KEEL_TRY(auto engine, make_uring_engine());
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return Error::from_errno("socketpair", errno);
  struct Probe : Receive {
    using Receive::Receive;
    int bytes = 0;
    bool multishot = false;
    bool ended = false;
  } probe([](Op& op) noexcept {
    auto& self = static_cast<Probe&>(op);
    if (op.result > 0) self.bytes += op.result;
    if (op.result > 0 && op.armed) self.multishot = true;
    if (!op.more) self.ended = true;
  });
  probe.fd = pair[0];
  engine->submit(probe);
  const Instant deadline = Host::system().now() + 1_s;
  const auto turn_until = [&](auto&& reached) {
    while (!reached() && Host::system().now() < deadline) {
      engine->wait(deadline);
      engine->dispatch();
    }
    return reached();
  };
  Result<> verdict;
  if (write(pair[1], "k", 1) != 1 || !turn_until([&] { return probe.bytes == 1 || probe.ended; }) || probe.bytes != 1) {
    verdict = fail(Code::Unsupported, "multishot receive from a buffer ring does not work");
  } else if (!probe.multishot) {
    verdict = fail(Code::Unsupported, "receive is not multishot");
  }
  if (!probe.ended) {
    engine->cancel(probe);
    if (!turn_until([&] { return probe.ended; })) {
      verdict = fail(Code::Unsupported, "an operation cannot be cancelled");
    }
  }
  engine.reset();
  ::close(pair[0]);
  ::close(pair[1]);
  return verdict;
}

}  // namespace keel::io

#endif
