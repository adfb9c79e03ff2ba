#include "keel/base/signal_stack.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

namespace keel {
namespace {

std::size_t guard_bytes() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

SignalStack::SignalStack() noexcept {
  void* const memory = mmap(nullptr, guard_bytes() + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  char* const usable = static_cast<char*>(memory) + guard_bytes();
  stack_t fresh{};
  fresh.ss_sp = usable;
  fresh.ss_size = bytes;
  stack_t before{};
  if (mprotect(usable, bytes, PROT_READ | PROT_WRITE) != 0 || sigaltstack(&fresh, &before) != 0) {
    munmap(memory, guard_bytes() + bytes);
    return;
  }
  memory_ = memory;
  if ((before.ss_flags & SS_DISABLE) == 0) {
    before_ = before.ss_sp;
    before_bytes_ = before.ss_size;
  }
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t back{};
  back.ss_sp = before_;
  back.ss_size = before_bytes_;
  back.ss_flags = before_ == nullptr ? SS_DISABLE : 0;
  sigaltstack(&back, nullptr);
  munmap(memory_, guard_bytes() + bytes);
}

}  // namespace keel
