#include "keel/base/stack.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "keel/base/host.h"
#include "keel/base/sanitizers.h"

namespace keel::stack_test {
namespace {

// Not inlined and not a tail call, so that each is a frame.
[[gnu::noinline]] void inner_function(Stack& stack) {
  capture_stack(stack);
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void outer_function(Stack& stack) {
  inner_function(stack);
  asm volatile("" ::: "memory");
}

std::vector<std::string> functions_of(const Stack& stack, bool demangle = true) {
  std::vector<std::string> names;
  name_stack(stack, demangle, [&names](int, const FrameName& name) { names.emplace_back(name.function); });
  return names;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// The first frame whose name contains `part`, -1 when there is none.
int find(const std::vector<std::string>& names, std::string_view part) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (contains(names[i], part)) return static_cast<int>(i);
  }
  return -1;
}

TEST(Stack, names_functions_without_linkage_innermost_first) {
  Stack stack;
  outer_function(stack);

  const std::vector<std::string> names = functions_of(stack);
  EXPECT_EQ(find(names, "inner_function(keel::Stack&)"), 0) << to_string(stack);
  EXPECT_EQ(find(names, "outer_function(keel::Stack&)"), 1) << to_string(stack);
  EXPECT_GT(find(names, "main"), 1);
  EXPECT_FALSE(stack.is_cut);
}

TEST(Stack, is_one_line_of_text) {
  Stack stack;
  outer_function(stack);

  const std::string text = to_string(stack);
  EXPECT_TRUE(contains(text, "inner_function(keel::Stack&)")) << text;
  EXPECT_TRUE(contains(text, " < ")) << text;
  EXPECT_FALSE(contains(text, "\n")) << text;
}

TEST(Stack, names_without_the_heap_are_as_the_linker_has_them) {
  Stack stack;
  outer_function(stack);

  EXPECT_GE(find(functions_of(stack, false), "14inner_functionERNS_5StackE"), 0);
}

[[gnu::noinline]] void go_down(int depth, Stack& stack) {
  if (depth == 0) {
    capture_stack(stack);
  } else {
    go_down(depth - 1, stack);
  }
  asm volatile("" ::: "memory");
}

TEST(Stack, says_when_there_were_more_frames_than_it_holds) {
  Stack stack;
  go_down(2 * Stack::frames_max, stack);

  EXPECT_EQ(stack.count, Stack::frames_max);
  EXPECT_TRUE(stack.is_cut);
  EXPECT_TRUE(contains(to_string(stack), "…"));
}

TEST(Stack, tells_the_module_of_an_address) {
  Stack stack;
  outer_function(stack);
  const auto in_library = reinterpret_cast<std::uintptr_t>(&getpid);

  EXPECT_STREQ(module_place(stack.frames[0]).path, "") << "the program itself";
  EXPECT_LT(module_place(stack.frames[0]).offset, stack.frames[0]);
  EXPECT_TRUE(contains(module_place(in_library).path, ".so")) << module_place(in_library).path;
  EXPECT_STREQ(module_place(8).path, "?");
  EXPECT_EQ(module_place(8).offset, 8u);
}

// A thread that spins inside a function of its own until it is told to go.
struct Spinner {
  std::atomic<pid_t> id = 0;
  std::atomic<bool> go = false;
  std::unique_ptr<Thread> thread = Host::system().start_thread("spinner", [this] { spin_in_here(); });

  [[gnu::noinline]] void spin_in_here() {
    id = gettid();
    // Its naps are for ThreadSanitizer, which hands signals over at such calls only.
    while (!go) usleep(10);
    asm volatile("" ::: "memory");
  }
  pid_t wait_for_id() const {
    while (id == 0) usleep(100);
    return id;
  }
  ~Spinner() {
    go = true;
    thread->join();
  }
};

TEST(StackOfAnotherThread, names_what_it_is_doing) {
  const Spinner spinner;
  const pid_t id = spinner.wait_for_id();

  Stack stack;
  const Result<> captured = capture_stack_of(id, stack, 20_s);

  ASSERT_TRUE(captured) << captured.error().describe();
  EXPECT_GE(find(functions_of(stack), "spin_in_here"), 0) << to_string(stack);
  EXPECT_EQ(find(functions_of(stack), "capture"), -1) << "the handler's own frames are left out: " << to_string(stack);
}

TEST(StackOfAnotherThread, runs_what_is_asked_for_on_that_thread) {
  const Spinner spinner;
  const pid_t id = spinner.wait_for_id();
  pid_t ran_on = 0;

  Stack stack;
  ASSERT_TRUE(capture_stack_of(id, stack, 20_s, [&ran_on] { ran_on = gettid(); }));

  EXPECT_EQ(ran_on, id);
}

TEST(StackOfAnotherThread, is_refused_when_the_thread_blocks_the_signal) {
  sigset_t mask;
  sigset_t before;
  sigemptyset(&mask);
  sigaddset(&mask, stack_signal);
  pthread_sigmask(SIG_BLOCK, &mask, &before);
  const pid_t self = gettid();
  Code code = Code::Internal;

  Stack stack;
  Host::system()
      .start_thread("asker",
                    [&] {
                      const Result<> captured = capture_stack_of(self, stack, 20_ms);
                      if (!captured) code = captured.error().code();
                    })
      ->join();
  // It arrives now, answers nobody, and does no harm.
  pthread_sigmask(SIG_SETMASK, &before, nullptr);

  EXPECT_EQ(code, Code::DeadlineExceeded);
  EXPECT_EQ(stack.count, 0);
}

TEST(StackOfAnotherThread, is_not_found_when_the_thread_is_gone) {
  pid_t id = 0;
  {
    const Spinner spinner;
    id = spinner.wait_for_id();
  }
  Stack stack;

  // The system may take a moment to forget it.
  Result<> captured = capture_stack_of(id, stack, 20_ms);
  for (int i = 0; i < 1000 && !captured && captured.error().code() == Code::DeadlineExceeded; ++i) {
    captured = capture_stack_of(id, stack, 20_ms);
  }

  ASSERT_FALSE(captured);
  EXPECT_EQ(captured.error().code(), Code::NotFound);
}

TEST(StackOfAnotherThread, leaves_a_read_that_waits_to_wait_on) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::atomic<pid_t> id = 0;
  ssize_t got = -2;
  {
    const auto reader = Host::system().start_thread("reader", [&] {
      id = gettid();
      char byte = 0;
      got = read(ends[0], &byte, 1);
    });
    while (id == 0) usleep(100);
    for (int i = 0; i < 20; ++i) {
      Stack stack;
      EXPECT_TRUE(capture_stack_of(id, stack, 20_s));
      usleep(500);
    }
    ASSERT_EQ(write(ends[1], "x", 1), 1);
  }
  EXPECT_EQ(got, 1);
  close(ends[0]);
  close(ends[1]);
}

#if !KEEL_SANITIZED
Stack fault_stack;
sigjmp_buf behind_fault;

void take_fault(int, siginfo_t*, void* context) {
  capture_interrupted_stack(fault_stack, context);
  siglongjmp(behind_fault, 1);
}

// Runs `f`, which faults; its stack is in fault_stack then.
template <class F>
void catch_fault(F f) {
  struct sigaction action = {};
  action.sa_sigaction = take_fault;
  action.sa_flags = SA_SIGINFO;
  struct sigaction before;
  sigaction(SIGSEGV, &action, &before);
  if (sigsetjmp(behind_fault, 1) == 0) f();
  sigaction(SIGSEGV, &before, nullptr);
}

[[gnu::noinline]] void write_to_null() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

TEST(InterruptedStack, begins_where_the_fault_was) {
  catch_fault([] { write_to_null(); });

  EXPECT_EQ(find(functions_of(fault_stack), "write_to_null()"), 0) << to_string(fault_stack);
}

[[gnu::noinline]] void call_null() {
  void (*volatile nobody)() = nullptr;
  nobody();
  asm volatile("" ::: "memory");
}

TEST(InterruptedStack, finds_the_caller_of_a_null_function) {
  catch_fault([] { call_null(); });

  ASSERT_GT(fault_stack.count, 2);
  EXPECT_EQ(fault_stack.frames[0], 0u);
  EXPECT_EQ(find(functions_of(fault_stack), "call_null()"), 1) << to_string(fault_stack);
}
#endif

}  // namespace
}  // namespace keel::stack_test
