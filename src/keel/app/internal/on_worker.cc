#include "keel/app/internal/on_worker.h"

#include <atomic>

#include "keel/base/check.h"
#include "keel/task/start.h"

namespace keel::app::internal {
namespace {

// The object is on the stack of the waiting thread, which returns only after it has seen that the task has ended.
struct Run : Job, Start<void> {
  explicit Run(FunctionRef<Task<>()> m) noexcept : Job(&run_it), make(m) {}
  static void run_it(Job& job) noexcept {
    auto& self = static_cast<Run&>(job);
    if (self.begin(self.make(), &ended)) ended(self);
  }
  static void ended(StartCore& start) noexcept {
    auto& self = static_cast<Run&>(start);
    self.result = self.take();
    self.is_over.store(true, std::memory_order_release);
  }

  FunctionRef<Task<>()> make;
  Result<> result;
  std::atomic<bool> is_over{false};
};

}  // namespace

Result<> run_on_first(io::Runtime& runtime, FunctionRef<Task<>()> make) {
  KEEL_CHECK(io::Loop::current() == nullptr, "a worker must not block to wait for another worker");
  Run run(make);
  runtime.loop(0).post(run);
  runtime.wait_until([&run] { return run.is_over.load(std::memory_order_acquire); }, Duration::forever());
  return std::move(run.result);
}

}  // namespace keel::app::internal
