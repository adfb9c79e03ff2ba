// keel/telemetry/live_tasks.h — the tasks of all workers, for people (GET /admin/tasks and SIGQUIT).
//
//   LiveTasks tasks(*runtime);
//   tasks.write_text(body);
//
//   worker 0: 3 tasks
//     serve (chat.cc:61): Scope::Join for 12.031s
//       talk (chat.cc:40): Stream::Receive for 3.202s
//       read_exact (stream.cc:80) < talk (chat.cc:40): Stream::Receive for 0.004s
//   worker 1: does not respond
//
// task/live_task.h explains the lines. All workers are queried at the same time. A worker that does not return to its
// loop within a second shows no tasks; stall.h reports where that worker is. The JSON has the same content in the same
// order:
//   {"workers":[{"worker":0,"responds":true,"live":3,"tasks":[{"depth":0,"task":"serve (chat.cc:61)","state":"waits",
//     "operation":"Scope::Join","seconds":12.031,"stopped":false}]},{"worker":1,"responds":false}]}
//
// Bounds:   the JSON and the text show the first `shown_max` tasks of each worker; the log has the first `logged_max`
//           tasks of each worker. Tasks are in the order in which they began.
// Threads:  any except a worker's, because the functions wait for the workers; concurrent callers wait for each other.
//           Call the functions only while the runtime runs.
// Lifetime: the runtime outlives the LiveTasks, and must have stopped before the LiveTasks is destroyed.
// Cost:     each worker visits its tasks, at some tens of nanoseconds per task; the calling thread makes the names.

#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/io/runtime.h"
#include "keel/task/live_task.h"

namespace keel::telemetry {

class LiveTasks {
 public:
  static constexpr std::size_t shown_max = 1000;
  static constexpr std::size_t logged_max = 100;

  // Without threads (Runtime::over) all loops are on the calling thread, and the call does not wait.
  explicit LiveTasks(io::Runtime& runtime, bool have_threads = true);
  ~LiveTasks();
  LiveTasks(const LiveTasks&) = delete;
  LiveTasks& operator=(const LiveTasks&) = delete;

  void write_text(Buffer& out);
  void write_json(Buffer& out);
  // Logs a line `tasks` for each worker and a line `task` for each task.
  void log();

 private:
  struct Question;
  struct Report;
  std::vector<Report> ask();

  const bool have_threads_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Question>> questions_;  // One entry for each worker.
};

}  // namespace keel::telemetry
