// keel/base/stack.h — the call stack of a thread: the addresses, and the names of their functions.
//
//   Stack stack;
//   capture_stack(stack);                       // this thread
//   KEEL_TRY_VOID(capture_stack_of(thread_id, stack, 100_ms));   // another one
//   log.warn("stalled", log::field("stack", to_string(stack)));
//
// Names need only the program's symbol table; with debug information, files, lines and inlined functions are also
// found.
//
// Threads: any.
// Cost:    capturing takes some microseconds, and is async-signal-safe. The first time that names are requested, the
//          symbols and the debug information of the program and its libraries are read and kept, which takes
//          milliseconds to seconds.
// Source:  the unwinder of libgcc, libbacktrace, _dl_find_object(3).

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/time.h"

namespace keel {

struct Stack {
  static constexpr int frames_max = 64;
  // The innermost frame is first. Each address lies inside the call instruction; it is not the return address.
  std::uintptr_t frames[frames_max] = {};
  int count = 0;
  bool is_cut = false;  // True: the stack had more than frames_max frames.
};

// Captures the stack of this thread, starting at the caller. Async-signal-safe.
[[gnu::noinline]] void capture_stack(Stack& stack) noexcept;
// The stack that a signal handler with SA_SIGINFO has interrupted; `context` is the handler's third argument.
// Async-signal-safe. After a jump to an address without code (a null function), the function that jumped is found too.
void capture_interrupted_stack(Stack& stack, void* context) noexcept;

// Captures the stack of another thread of this process, identified by its gettid(): stack_signal interrupts the thread,
// which then continues. `also`, if given, runs on the interrupted thread, inside a signal handler, and must obey the
// restrictions of a signal handler. DeadlineExceeded when the thread has not responded in time (it blocks the signal,
// is stopped, or waits inside the kernel for something that cannot be interrupted); NotFound when there is no such
// thread. An interrupted system call is restarted, except calls that are never restarted (signal(7)), which end with
// EINTR.
Result<> capture_stack_of(pid_t thread, Stack& stack, Duration patience, FunctionRef<void()> also);
Result<> capture_stack_of(pid_t thread, Stack& stack, Duration patience);
// stack_signal is SIGURG: the system does not send this signal unless a program requests it, it is ignored by default,
// and debuggers pass it on without stopping.
extern const int stack_signal;

// The program or library that contains an address, and the offset of the address from the base of that module: the
// arguments of addr2line. The path of the program itself is empty; an address outside of all modules has the path "?".
// Async-signal-safe.
struct ModulePlace {
  const char* path = "?";
  std::uintptr_t offset = 0;
};
// The program or library that contains `address`; its name is empty if no program or library contains `address`.
ModulePlace module_place(std::uintptr_t address) noexcept;

// The function of an address, with file and line where there is debug information.
struct FrameName {
  std::string_view function;  // "?" when the function has no name.
  std::uintptr_t offset = 0;  // The offset from the function's start, if there is no line.
  std::string_view file;      // Empty if there is no debug information.
  int line = 0;
};
// Calls `f` with the names and the index of each frame; an inlined function comes before the function that contains it.
// The views are valid only during the call. With `demangle`, names have the form of the source, and the function uses
// the heap; without `demangle`, it does not use the heap.
void name_stack(const Stack& stack, bool demangle, FunctionRef<void(int, const FrameName&)> f);

// The stack on one line, innermost function first: "shop::Cart::add(int) (cart.cc:12) < main+0x1c".
std::string to_string(const Stack& stack);

}  // namespace keel
