#include "keel/base/stack.h"

#include <backtrace.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "keel/base/ascii.h"

namespace keel {

const int stack_signal = SIGURG;

namespace {

struct Walk {
  Stack& stack;
  std::uintptr_t from;  // Frames before the one with this address are left out; 0: no frame is left out.
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  int is_exact = 0;
  const std::uintptr_t at = _Unwind_GetIPInfo(context, &is_exact);
  if (walk.from != 0) {
    if (at != walk.from) return _URC_NO_REASON;
    walk.from = 0;
  }
  if (at == 0) return _URC_END_OF_STACK;
  if (walk.stack.count == Stack::frames_max) {
    walk.stack.is_cut = true;
    return _URC_END_OF_STACK;
  }
  walk.stack.frames[walk.stack.count++] = is_exact != 0 ? at : at - 1;
  return _URC_NO_REASON;
}

bool is_in_module(std::uintptr_t address) noexcept {
  dl_find_object found;
  return _dl_find_object(reinterpret_cast<void*>(address), &found) == 0;
}

#if defined(__x86_64__)
std::uintptr_t program_counter(const ucontext_t& context) noexcept {
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
}
// Changes the context to what it would be if the last called function had returned.
void undo_call(ucontext_t& context) noexcept {
  greg_t* const registers = context.uc_mcontext.gregs;
  registers[REG_RIP] = *reinterpret_cast<const greg_t*>(registers[REG_RSP]);
  registers[REG_RSP] += static_cast<greg_t>(sizeof(greg_t));
}
#elif defined(__aarch64__)
std::uintptr_t program_counter(const ucontext_t& context) noexcept { return context.uc_mcontext.pc; }
void undo_call(ucontext_t& context) noexcept { context.uc_mcontext.pc = context.uc_mcontext.regs[30]; }
#else
#error "the program counter can be read only on x86-64 and arm64"
#endif

backtrace_state* symbols() noexcept {
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, [](void*, const char*, int) {}, nullptr);
  return state;
}

// The request for a stack; only one can be in progress.
struct Question {
  static constexpr int nobody = 0;
  static constexpr int being_captured = -1;
  std::mutex mutex;
  std::atomic<int> thread = nobody;
  std::atomic<bool> is_captured = false;
  Stack* stack = nullptr;
  FunctionRef<void()>* also = nullptr;
};
Question& question() noexcept {
  static Question& the_question = *new Question;
  return the_question;
}

void capture(int, siginfo_t*, void* context) {
  const int error = errno;
  Question& q = question();
  int self = static_cast<int>(syscall(SYS_gettid));
  // A response that comes too late is ignored, because by then there is another request, or no request.
  if (q.thread.compare_exchange_strong(self, Question::being_captured, std::memory_order_acquire)) {
    capture_interrupted_stack(*q.stack, context);
    (*q.also)();
    q.is_captured.store(true, std::memory_order_release);
  }
  errno = error;
}

Instant clock_now() noexcept {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return Instant::from_ns(std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec);
}

// Finds the names of one frame. The debug information has the inlined functions, innermost first, and then the function
// that contains them. The symbol table has a better name for the containing function, with namespaces and arguments.
struct Namer {
  FunctionRef<void(int, const FrameName&)> f;
  bool demangle;
  int index = 0;
  bool has_line = false;
  // The members from `function` to `line` are the last result from the debug information.
  const char* function = nullptr;
  const char* file = nullptr;
  int line = 0;
  const char* symbol = nullptr;
  std::uintptr_t symbol_begin = 0;

  void give(const char* name, std::uintptr_t offset) {
    char* readable = nullptr;
    if (demangle && name != nullptr) {
      int status = 0;
      readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    }
    FrameName made;
    made.function = readable != nullptr ? readable : name != nullptr ? name : "?";
    made.offset = offset;
    if (file != nullptr) made.file = file;
    made.line = line;
    f(index, made);
    std::free(readable);
  }
};

void ignore_error(void*, const char*, int) {}

int take_line(void* argument, std::uintptr_t, const char* file, int line, const char* function) {
  Namer& namer = *static_cast<Namer*>(argument);
  if (file == nullptr && function == nullptr) return 0;
  if (namer.has_line) namer.give(namer.function, 0);
  namer.has_line = true;
  namer.function = function;
  namer.file = file;
  namer.line = line;
  return 0;
}

void take_symbol(void* argument, std::uintptr_t, const char* symbol, std::uintptr_t begin, std::uintptr_t) {
  Namer& namer = *static_cast<Namer*>(argument);
  namer.symbol = symbol;
  namer.symbol_begin = begin;
}

}  // namespace

void capture_stack(Stack& stack) noexcept {
  stack.count = 0;
  stack.is_cut = false;
  Walk walk{stack, reinterpret_cast<std::uintptr_t>(__builtin_extract_return_addr(__builtin_return_address(0)))};
  _Unwind_Backtrace(take_frame, &walk);
}

void capture_interrupted_stack(Stack& stack, void* context) noexcept {
  stack.count = 0;
  stack.is_cut = false;
  ucontext_t& interrupted = *static_cast<ucontext_t*>(context);
  const std::uintptr_t at = program_counter(interrupted);
  if (is_in_module(at)) {
    Walk walk{stack, at};
    _Unwind_Backtrace(take_frame, &walk);
  }
  if (stack.count > 0) return;
  stack.frames[stack.count++] = at;
  // Nothing is known about the code at this address: continue with its caller. Because the unwinder reads this context,
  // the context is changed for the walk, and restored afterwards.
  const ucontext_t before = interrupted;
  undo_call(interrupted);
  Walk walk{stack, program_counter(interrupted)};
  if (is_in_module(walk.from)) {
    _Unwind_Backtrace(take_frame, &walk);
    if (stack.count > 1) --stack.frames[1];
  }
  interrupted.uc_mcontext = before.uc_mcontext;
}

Result<> capture_stack_of(pid_t thread, Stack& stack, Duration patience) {
  return capture_stack_of(thread, stack, patience, [] {});
}

Result<> capture_stack_of(pid_t thread, Stack& stack, Duration patience, FunctionRef<void()> also) {
  Question& q = question();
  std::lock_guard lock(q.mutex);
  struct sigaction action = {};
  action.sa_sigaction = capture;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  sigaction(stack_signal, &action, nullptr);
  q.stack = &stack;
  q.also = &also;
  q.is_captured.store(false, std::memory_order_relaxed);
  q.thread.store(thread, std::memory_order_release);
  if (syscall(SYS_tgkill, getpid(), thread, stack_signal) != 0) {
    q.thread.store(Question::nobody, std::memory_order_relaxed);
    return fail(Code::NotFound, "no such thread");
  }
  const Instant until = clock_now() + patience;
  while (!q.is_captured.load(std::memory_order_acquire)) {
    int asked = thread;
    if (clock_now() >= until && q.thread.compare_exchange_strong(asked, Question::nobody)) {
      return fail(Code::DeadlineExceeded, "the thread did not respond");
    }
    // This function must wait for a thread that has begun to respond, because that thread writes to `stack`.
    const timespec pause{0, 100'000};
    nanosleep(&pause, nullptr);
  }
  q.thread.store(Question::nobody, std::memory_order_relaxed);
  return {};
}

ModulePlace module_place(std::uintptr_t address) noexcept {
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return {"?", address};
  return {found.dlfo_link_map->l_name, address - found.dlfo_link_map->l_addr};
}

void name_stack(const Stack& stack, bool demangle, FunctionRef<void(int, const FrameName&)> f) {
  for (int i = 0; i < stack.count; ++i) {
    const std::uintptr_t address = stack.frames[i];
    Namer namer{f, demangle, i};
    if (symbols() != nullptr) {
      backtrace_pcinfo(symbols(), address, take_line, ignore_error, &namer);
      backtrace_syminfo(symbols(), address, take_symbol, ignore_error, &namer);
    }
    if (namer.symbol != nullptr) {
      namer.give(namer.symbol, namer.has_line ? 0 : address - namer.symbol_begin);
    } else {
      namer.give(namer.function, 0);
    }
  }
}

std::string to_string(const Stack& stack) {
  std::string text;
  name_stack(stack, true, [&text](int, const FrameName& name) {
    if (!text.empty()) text += " < ";
    text += name.function;
    if (!name.file.empty()) {
      text += " (" + std::string(name.file.substr(name.file.rfind('/') + 1)) + ":" + std::to_string(name.line) + ")";
    } else if (name.offset != 0) {
      char offset[2 + 16 + 1];
      text += "+0x";
      char* at = offset + sizeof offset;
      for (std::uintptr_t rest = name.offset; rest != 0; rest >>= 4) *--at = ascii::hex_lower[rest & 15];
      text.append(at, offset + sizeof offset);
    }
  });
  if (stack.is_cut) text += " < …";
  return text;
}

}  // namespace keel
