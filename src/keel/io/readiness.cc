#include "keel/io/readiness.h"

#include <poll.h>

#include <cerrno>

#include "keel/base/bug.h"
#include "keel/io/loop.h"

namespace keel {
namespace {

io::Engine& engine_that_waits() {
  io::Loop* loop = io::Loop::current();
  KEEL_EXPECT(
      loop != nullptr,
      "a task can wait for a descriptor only on a worker: first co_await resume_on() with the loop of a worker");
  return loop->engine();
}

}  // namespace

ReadyLeaf::ReadyLeaf(int descriptor, short wanted)
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
Result<> ReadyLeaf::checked() const noexcept {
  if (result == -EBUSY) [[unlikely]]
    return Error::from_bug(
        Bug("a task waits for a descriptor that another task already waits for: only one task may wait for it at a "
            "time",
            place()));
  if (result < 0) return Error::from_errno("poll", -result);
  return {};
}

Result<short> WhenReady::take() noexcept {
  KEEL_TRY_VOID(checked());
  return static_cast<short>(result);
}

WhenReady ready(int descriptor, short events) { return {descriptor, events}; }
WhenUsable readable(int descriptor) { return {descriptor, POLLIN}; }
WhenUsable writable(int descriptor) { return {descriptor, POLLOUT}; }

}  // namespace keel
