// keel/base/signal_stack.h — a separate stack for the signal handlers of a thread.
//
// A handler that has to run after the thread's stack has overflowed needs a separate stack (sigaltstack(2),
// SA_ONSTACK). Threads that Host::system() starts have a SignalStack; on the main thread, the program has to create a
// SignalStack.
//
// Errors:   if there is no memory for the stack, the thread continues without a separate stack.
// Threads:  create and destroy a SignalStack on the thread that it serves; nested SignalStacks must be destroyed in
//           reverse order.
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
  void* memory_ = nullptr;  // A guard page, then the stack.
  void* before_ = nullptr;
  std::size_t before_bytes_ = 0;
};

}  // namespace keel
