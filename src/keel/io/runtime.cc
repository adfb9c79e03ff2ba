#include "keel/io/runtime.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <system_error>
#include <utility>

#include "keel/base/check.h"
#include "keel/io/internal/sockets.h"

namespace keel::io {
namespace {

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

void pin_to(int core) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace

struct Runtime::Worker {
  std::unique_ptr<Thread> thread;
  std::unique_ptr<Loop> owned;
  Loop* loop = nullptr;
  std::unique_ptr<Error> error;
  std::atomic<int> state{0};  // 0 starting, 1 running, 2 failed.
};

Runtime::Runtime(EngineChoice choice) : choice_(std::move(choice)) {}

Result<std::unique_ptr<Runtime>> Runtime::make(const RuntimeOptions& options) {
  KEEL_TRY_VOID(check(options.engine_options));
  KEEL_TRY(EngineChoice choice, choose_engine(options.engine));
  std::unique_ptr<Runtime> runtime(new Runtime(std::move(choice)));
  runtime->options_ = options;
  const int count = options.workers > 0 ? options.workers : static_cast<int>(allowed_cores().size());
  for (int i = 0; i < count; ++i) runtime->workers_.push_back(std::make_unique<Worker>());
  return runtime;
}

std::unique_ptr<Runtime> Runtime::over(std::vector<Loop*> loops, Turn turn) {
  KEEL_CHECK(turn, "a Runtime over loops without threads needs a function that runs the loops");
  std::unique_ptr<Runtime> runtime(new Runtime({EngineKind::Auto, "the simulation runs the loops"}));
  runtime->turn_ = std::move(turn);
  for (Loop* const loop : loops) {
    runtime->workers_.push_back(std::make_unique<Worker>());
    runtime->workers_.back()->loop = loop;
  }
  return runtime;
}

Runtime::~Runtime() { stop(); }

Loop& Runtime::loop(int worker) noexcept {
  Worker& at = *workers_[static_cast<std::size_t>(worker)];
  KEEL_CHECK(at.loop != nullptr, "a worker's loop can be used only after start()");
  return *at.loop;
}

Result<> Runtime::start() {
  if (turn_) return {};
  const std::vector<int> cores = allowed_cores();
  int index = 0;
  for (auto& worker : workers_) {
    char name[32];
    std::snprintf(name, sizeof name, "worker-%d", index);
    const int core = options_.pin ? cores[static_cast<std::size_t>(index) % cores.size()] : -1;
    Worker* at = worker.get();
    auto work = [this, at, index, core] {
      if (core >= 0) pin_to(core);
      // io_uring requires that the submitting thread is the one that made the ring.
      auto engine = make_engine(choice_.kind, options_.engine_options);
      if (!engine) {
        at->error = std::make_unique<Error>(std::move(engine).error());
        at->state.store(2, std::memory_order_release);
        at->state.notify_all();
        return;
      }
      at->owned = std::make_unique<Loop>(*std::move(engine), Host::system(), index);
      at->loop = at->owned.get();
      at->state.store(1, std::memory_order_release);
      at->state.notify_all();
      at->loop->run();
      at->loop->finish();
    };
    try {
      at->thread = Host::system().start_thread(name, std::move(work));
    } catch (const std::system_error& problem) {
      Error error = Error::text(Code::ResourceExhausted, problem.what());
      stop();
      return std::move(error).because("starting a worker");
    }
    at->state.wait(0, std::memory_order_acquire);
    if (at->state.load(std::memory_order_acquire) == 2) {
      Error error = std::move(*at->error);
      stop();
      return std::move(error).because("starting a worker");
    }
    ++index;
  }
  return {};
}

void Runtime::each(FunctionRef<void(Loop&)> f) {
  if (turn_) {
    for (auto& worker : workers_) {
      const Loop::Entered entered(*worker->loop);
      f(*worker->loop);
    }
    return;
  }
  struct Call : Job {
    Call(Loop& l, FunctionRef<void(Loop&)> function)
        : Job([](Job& job) noexcept {
            auto& self = static_cast<Call&>(job);
            self.call(self.loop);
            self.finished.store(true, std::memory_order_release);
            self.finished.notify_all();
          }),
          loop(l),
          call(function) {}
    Loop& loop;
    FunctionRef<void(Loop&)> call;
    std::atomic<bool> finished{false};
  };
  for (auto& worker : workers_) {
    if (worker->loop == nullptr) continue;
    KEEL_CHECK(worker->thread != nullptr, "each() must be called between start() and stop()");
    Call call(*worker->loop, f);
    worker->loop->post(call);
    call.finished.wait(false, std::memory_order_acquire);
  }
}

bool Runtime::wait_until(FunctionRef<bool()> done, Duration limit) {
  if (turn_) return turn_(done, limit);
  Host& host = Host::system();
  const Instant end = host.now() + limit;
  Duration pause = 100_us;
  while (!done()) {
    if (host.now() >= end) return false;
    host.sleep(pause);
    pause = std::min(pause * 2, Duration(5_ms));
  }
  return true;
}

void Runtime::stop() noexcept {
  if (turn_) {
    turn_([] { return false; }, 5_ms);
    return;
  }
  for (auto& worker : workers_) {
    if (worker->loop != nullptr) worker->loop->stop();
  }
  for (auto& worker : workers_) {
    if (worker->thread != nullptr) worker->thread->join();
    worker->thread.reset();
  }
}

}  // namespace keel::io
