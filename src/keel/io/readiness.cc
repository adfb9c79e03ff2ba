#include "keel/io/readiness.h"

#include <poll.h>

#include "keel/base/check.h"
#include "keel/io/loop.h"

namespace keel {
namespace {

io::Engine& engine_that_waits() {
  io::Loop* loop = io::Loop::current();
  KEEL_CHECK(loop != nullptr, "descriptors can be waited for only on a worker");
  return loop->engine();
}

}  // namespace

ReadyLeaf::ReadyLeaf(int descriptor, short wanted) noexcept
    : Leaf([](Leaf& leaf) noexcept {
        auto& self = static_cast<ReadyLeaf&>(leaf);
        self.engine_.cancel(self);
      }),
      io::Ready([](io::Op& op) noexcept { static_cast<ReadyLeaf&>(static_cast<io::Ready&>(op)).wake(); }),
      engine_(engine_that_waits()) {
  fd = descriptor;
  events = wanted;
}
bool ReadyLeaf::start() noexcept { return engine_.submit(*this); }
Result<> ReadyLeaf::answer() const noexcept {
  if (result < 0) return Error::from_errno("poll", -result);
  return {};
}

Result<short> WhenReady::take() noexcept {
  KEEL_TRY_VOID(answer());
  return static_cast<short>(result);
}

WhenReady ready(int descriptor, short events) noexcept { return {descriptor, events}; }
WhenUsable readable(int descriptor) noexcept { return {descriptor, POLLIN}; }
WhenUsable writable(int descriptor) noexcept { return {descriptor, POLLOUT}; }

}  // namespace keel
