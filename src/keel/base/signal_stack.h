// keel/base/signal_stack.h — a stack of its own for the signal handlers of a thread.
//
// A handler that has to run after the thread's stack has overflowed needs one (sigaltstack(2), SA_ONSTACK). Threads
// that Host::system() starts have one; the main thread has one when it is made there.
//
// Errors:   without memory for it the thread continues with what it had.
// Threads:  made and destroyed on the thread it is for; nested ones are undone in reverse.
// Cost:     64 KiB of address space, and the pages that a handler touches.

#pragma once

#include <cstddef>

namespace keel {

class SignalStack {
 public:
  SignalStack() noexcept;
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

  static constexpr std::size_t bytes = 64 * 1024;

 private:
  void* memory_ = nullptr;  // A page that faults, then the stack.
  void* before_ = nullptr;
  std::size_t before_bytes_ = 0;
};

}  // namespace keel
