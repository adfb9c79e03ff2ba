#include "keel/app/pools.h"

#include <utility>

#include "keel/base/check.h"

namespace keel::app {

Pools::Pools(const Settings& settings, Lifecycle& lifecycle, metrics::Registry& registry,
             Function<unsigned()> usual_size)
    : settings_(settings), lifecycle_(lifecycle), registry_(registry), usual_size_(std::move(usual_size)) {}

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
                  .stop = [&pool] { pool.threads->stop(); },
                  .start_timeout = settings_.common.start_timeout,
                  .lazy = true});
  return module;
}

ThreadPool& Pools::get(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Pool* pool = find(name);
  KEEL_CHECK(pool != nullptr && pool->threads != nullptr, "a pool is used when its module runs");
  return *pool->threads;
}

void Pools::start(Pool& pool) {
  const ThreadSettings& from = settings_.thread;
  const unsigned size = from.size_of(pool.name, from.pool_size);
  auto made =
      std::make_unique<ThreadPool>(ThreadPoolOptions{.name = pool.name,
                                                     .threads = static_cast<int>(size != 0 ? size : usual_size_()),
                                                     .queue_max = from.queue_capacity});
  const ThreadPool& threads = *made;
  const std::lock_guard lock(mutex_);
  pool.threads = std::move(made);
  const auto gauge = [&](std::string_view name, std::string_view help, auto read) {
    pool.metrics.push_back(registry_.gauge(name, help, {{"pool", pool.name}},
                                           [&threads, read] { return static_cast<double>(read(threads)); }));
  };
  gauge("pool_threads", "Threads of the pool", [](const ThreadPool& p) { return p.threads(); });
  gauge("pool_running", "Jobs that run now", [](const ThreadPool& p) { return p.running(); });
  gauge("pool_queued", "Jobs that wait now", [](const ThreadPool& p) { return p.queued(); });
  gauge("pool_queued_max", "Jobs that may wait", [](const ThreadPool& p) { return p.queue_max(); });
  pool.metrics.push_back(registry_.counter("pool_refused_total", "Jobs refused because too many waited",
                                           {{"pool", pool.name}},
                                           [&threads] { return static_cast<double>(threads.refused()); }));
}

}  // namespace keel::app
