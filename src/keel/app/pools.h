// keel/app/pools.h — the named thread pools of an application.
//
//   Pools pools(settings, lifecycle, registry, [&] { return workers; });
//   KEEL_TRY_VOID(lifecycle.ensure(pools.add("images")));
//   co_await resume_on(pools.get("images"));
//
// The settings in thread.pools under the pool's name determine its properties: size, bounds, queue, CPUs. If the
// process may not use a CPU, no thread is pinned to that CPU, and this is logged. A pool that thread.pools does not
// list has thread.pool_size threads or, if that is 0, as many as `usual_size` returns; with thread.autoscale, such a
// pool is elastic instead, within the limits in thread.autoscale. Each pool is a lazy module "pool NAME" of the
// lifecycle, with metrics pool_…{pool="NAME"}. When a pool stops, jobs that have not begun within half of
// common.stop_timeout_sec are discarded; this is logged.
//
// Threads:  add() and get() on any thread.
// Lifetime: the settings, the lifecycle and the registry must outlive this object, and the lifecycle must be stopped
//           before this object is destroyed; the pools live as long as this object.

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
  // When a pool without a configured size starts, the thread that starts it calls `usual_size`. `executor`: see
  // ThreadPoolOptions.
  Pools(const Settings& settings, Lifecycle& lifecycle, metrics::Registry& registry, Function<unsigned()> usual_size,
        Executor* executor = nullptr);

  // The first call adds the module that makes the pool `name`, and returns the name of the module; later calls only
  // return the name.
  std::string add(std::string_view name);
  // Returns the pool `name`; its module must be running.
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
