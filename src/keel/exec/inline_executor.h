// keel/exec/inline_executor.h — runs each job inside the call that posts it: for tests, and for plain programs that
// choose their executor at run time.
//
//   InlineExecutor here;
//   Submitted<int> sum = submit(here, [&] { return add(); });       // has run already
//
// A job that the running job posts waits until the running job has returned, so that nothing recurses.
//
// An InlineExecutor has no clock and no thread: execute_after() and submit_after() return Unsupported.
//
// Tasks cannot run on an InlineExecutor, because tasks rely on post() never running a job within the call.
//
// Threads: one.
// Cost:    an indirect call; no allocation.

#pragma once

#include "keel/exec/executor.h"

namespace keel {

class InlineExecutor final : public Executor {
 public:
  InlineExecutor() noexcept = default;
  InlineExecutor(const InlineExecutor&) = delete;
  InlineExecutor& operator=(const InlineExecutor&) = delete;

  void post(Job& job) noexcept override;

 private:
  Job* first_ = nullptr;  // The jobs that the running job has posted.
  Job** last_ = &first_;
  bool runs_ = false;
};

}  // namespace keel
