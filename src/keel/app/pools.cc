#include "keel/app/pools.h"

#include <sched.h>

#include <utility>

#include "keel/app/settings.h"
#include "keel/base/bug.h"
#include "keel/observe/log.h"

namespace keel::app {
namespace {

const log::Logger& pools_logger() {
  static const log::Logger log("app.pools");
  return log;
}

// A machine or a container with fewer CPUs than the configuration assumes must not prevent the start.
void warn_of_unusable(const PoolSettings& pool) {
  if (pool.affinity.empty()) return;
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  for (const int cpu : pool.affinity) {
    if (CPU_ISSET(cpu, &usable)) continue;
    pools_logger().warn("a thread of a pool was not pinned: this process is not allowed to run on that CPU",
                        log::field("pool", pool.name), log::field("cpu", cpu));
  }
}

}  // namespace

Pools::Pools(const Settings& settings, Lifecycle& lifecycle, metrics::Registry& registry,
             Function<unsigned()> usual_size, Executor* executor)
    : settings_(settings),
      lifecycle_(lifecycle),
      registry_(registry),
      usual_size_(std::move(usual_size)),
      executor_(executor) {}

const Pools::Pool* Pools::find(std::string_view name) const noexcept {
  for (const Pool& pool : pools_) {
    if (pool.name == name) return &pool;
  }
  return nullptr;
}

std::string Pools::add(std::string_view name) {
  std::string module = "pool " + std::string(name);
  const std::lock_guard lock(mutex_);
  if (find(name) != nullptr) return module;
  Pool& pool = pools_.emplace_back(std::string(name));
  lifecycle_.add({.name = module,
                  .start = [this, &pool]() -> Result<> {
                    start(pool);
                    return {};
                  },
                  .stop = [this, &pool] { stop(pool); },
                  .lazy = true});
  return module;
}

ThreadPool& Pools::get(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Pool* pool = find(name);
  KEEL_EXPECT(pool != nullptr, "no pool has this name: " + std::string(name));
  KEEL_EXPECT(pool->threads != nullptr, "a pool can be used only while its module runs: " + std::string(name));
  return *pool->threads;
}

void Pools::start(Pool& pool) {
  const ThreadSettings& from = settings_.thread;
  const metrics::Histogram waited = registry_.histogram("pool_wait_seconds", "Queue time of sampled jobs",
                                                        metrics::latency_seconds, {{"pool", pool.name}});
  const metrics::Histogram ran = registry_.histogram("pool_run_seconds", "Run time of sampled jobs",
                                                     metrics::latency_seconds, {{"pool", pool.name}});
  ThreadPoolOptions options{
      .name = pool.name, .queue_max = from.queue_capacity, .measured = [waited, ran](Duration wait, Duration run) {
        waited.observe(wait);
        ran.observe(run);
      }};
  options.executor = executor_;
  options.grow_above = from.autoscale.scale_up_threshold;
  options.shrink_below = from.autoscale.scale_down_threshold;
  if (const PoolSettings* const listed = from.find(pool.name)) {
    options.threads = listed->size;
    options.threads_max = listed->max_size;
    options.cpus = listed->affinity;
    if (listed->queue_max != 0) options.queue_max = listed->queue_max;
    options.when_full = listed->when_full;
    warn_of_unusable(*listed);
  } else if (from.autoscale.enabled) {
    options.threads = from.autoscale.min_threads;
    options.threads_max = from.autoscale.max_threads;
  } else {
    options.threads = from.pool_size != 0 ? from.pool_size : static_cast<int>(usual_size_());
  }
  auto made = std::make_unique<ThreadPool>(std::move(options));
  const ThreadPool& threads = *made;
  const std::lock_guard lock(mutex_);
  pool.threads = std::move(made);
  const auto gauge = [&](std::string_view name, std::string_view help, auto read) {
    pool.metrics.push_back(registry_.gauge(name, help, {{"pool", pool.name}},
                                           [&threads, read] { return static_cast<double>(read(threads)); }));
  };
  gauge("pool_threads", "Threads of the pool", [](const ThreadPool& p) { return p.threads(); });
  gauge("pool_running", "Jobs that are running", [](const ThreadPool& p) { return p.running(); });
  gauge("pool_queued", "Jobs that are waiting", [](const ThreadPool& p) { return p.queued(); });
  gauge("pool_queued_max", "Limit of waiting jobs", [](const ThreadPool& p) { return p.queue_max(); });
  const auto counter = [&](std::string_view name, std::string_view help, auto read) {
    pool.metrics.push_back(registry_.counter(name, help, {{"pool", pool.name}},
                                             [&threads, read] { return static_cast<double>(read(threads)); }));
  };
  counter("pool_refused_total", "Jobs rejected because the queue was full",
          [](const ThreadPool& p) { return p.refused(); });
  counter("pool_jobs_total", "Jobs that were run", [](const ThreadPool& p) { return p.executed(); });
  counter("pool_jobs_in_caller_total", "Jobs that the submitting thread ran itself because the queue was full",
          [](const ThreadPool& p) { return p.ran_in_caller(); });
  counter("pool_discarded_total", "Jobs that had not started when the pool was stopped",
          [](const ThreadPool& p) { return p.discarded(); });
  counter("pool_busy_seconds_total", "Busy time of the pool's threads, summed over all threads",
          [](const ThreadPool& p) { return p.busy_seconds(); });
}

void Pools::stop(Pool& pool) noexcept {
  const std::size_t discarded = pool.threads->stop(settings_.common.stop_timeout / 2);
  if (discarded == 0) return;
  pools_logger().warn("jobs of a pool were discarded because they had not started before the deadline",
                      log::field("pool", pool.name), log::field("jobs", discarded));
}

}  // namespace keel::app
