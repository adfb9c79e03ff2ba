// keel/app/pools.h — the thread pools of an application, by name.
//
//   Pools pools(settings, lifecycle, registry, [&] { return workers; });
//   KEEL_TRY_VOID(lifecycle.ensure(pools.add("images")));
//   co_await resume_on(pools.get("images"));
//
// A pool has the properties that thread.pools gives its name: size, bounds, queue, CPUs. If the process may not use a
// CPU, that is logged and the thread is not pinned. A pool that is not listed there has thread.pool_size threads or, if
// that is 0, as many as the function returns; with thread.autoscale it is elastic instead, within the limits of that
// section. Each pool is a lazy module "pool NAME" of the lifecycle, with metrics pool_…{pool="NAME"}. When a pool
// stops, jobs that have not begun within half of common.stop_timeout_sec are discarded and logged.
//
// Threads:  add() and get() on any.
// Lifetime: settings, lifecycle and registry must outlive this object, and the lifecycle must be stopped before it is
//           destroyed; the pools live as long as this object.

#pragma once

#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "keel/app/lifecycle.h"
#include "keel/base/function.h"
#include "keel/exec/thread_pool.h"
#include "keel/observe/metric.h"

namespace keel::app {

struct Settings;

class Pools {
 public:
  // When a pool without a size starts, the thread that starts it calls `usual_size`. `executor`: see ThreadPoolOptions.
  Pools(const Settings& settings, Lifecycle& lifecycle, metrics::Registry& registry, Function<unsigned()> usual_size,
        Executor* executor = nullptr);

  // Adds the module that makes the pool `name`, and returns the name of the module; later calls only return it.
  std::string add(std::string_view name);
  // The pool `name`, whose module must be running.
  ThreadPool& get(std::string_view name) const;

 private:
  struct Pool {
    std::string name;
    std::unique_ptr<ThreadPool> threads;
    std::vector<metrics::GaugeFunction> metrics;
  };
  const Pool* find(std::string_view name) const noexcept;
  void start(Pool& pool);
  void stop(Pool& pool) noexcept;

  const Settings& settings_;
  Lifecycle& lifecycle_;
  metrics::Registry& registry_;
  const Function<unsigned()> usual_size_;
  Executor* const executor_;
  mutable std::mutex mutex_;
  std::list<Pool> pools_;
};

}  // namespace keel::app
