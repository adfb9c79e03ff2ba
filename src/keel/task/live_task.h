// keel/task/live_task.h — the tasks of an executor as a tree: where each task is suspended, what it waits for, and
// since when.
//
//   each_live_task(loop, [&](const LiveTask& task) { tasks.push_back(task); });           // on the loop
//   for (const LiveTask& task : tasks) std::puts(to_string(task, now).c_str());           // anywhere
//
//   serve (echo.cc:24): Scope::Join for 12.031s
//     talk (echo.cc:14): Stream::Receive for 3.202s
//     read_exact (stream.cc:80) < talk (echo.cc:14): Stream::Receive for 0.004s, stopped
//
// A parent is listed above its children: the tasks of a Scope, the branches of all() and any(), the task of
// with_timeout(). Tasks that plain code started (Start) are at the left margin. The oldest task is first, also among
// the children of one parent. A chain of tasks that await each other is one line, innermost first, such as "query
// (pool.cc:80) < load (page.cc:12)". Functions are named as far as base/stack.h can name them. The place in
// parentheses, which needs debug information, is where the function begins.
//
// A task that waits for no operation of its loop is either running or away. A task is away if it is on another
// executor, is about to continue, or has ended but still waits for its children. A task that plain code started and
// that has not waited yet is not listed.
//
// Threads:  each_live_task() on the executor's own thread; other threads post a Job that calls it.
// Lifetime: a LiveTask may be copied and kept.
// Cost:     a few stores each time a task begins and each time it waits. The visit is O(tasks); base/stack.h states the
//           cost of the names.

#pragma once

#include <cstdint>
#include <string>
#include <typeinfo>

#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/exec/executor.h"

namespace keel {

class Context;

struct LiveTask {
  static constexpr int frames_max = 16;
  enum class State : std::uint8_t { Waits, Runs, Away };

  State state = State::Away;
  bool is_stopped = false;
  int depth = 0;  // 0: plain code started the task.
  // The coroutines of the chain, innermost first, each as an address in its code; only the outermost coroutine for a
  // task that is Away.
  const void* frames[frames_max] = {};
  int frame_count = 0;
  bool is_cut = false;                        // Whether the chain has more than frames_max coroutines.
  const std::type_info* operation = nullptr;  // The operation that the task waits for, if any.
  Instant since;                              // The time at which the task began to wait.
  Instant deadline = Instant::never();

  // The chain as text, such as "query (pool.cc:80) < load (page.cc:12)".
  std::string chain() const;
  // The name of the operation, such as "Stream::Receive"; empty unless the task waits.
  std::string waits_for() const;
};

void each_live_task(Executor& executor, FunctionRef<void(const LiveTask&)> f);
// The tasks in a context: for a Scope, its children at depth 0.
void each_live_task(Context& context, FunctionRef<void(const LiveTask&)> f);

// Returns one line, indented by the depth of the task. `now` is the time of the executor's clock.
std::string to_string(const LiveTask& task, Instant now);

}  // namespace keel
