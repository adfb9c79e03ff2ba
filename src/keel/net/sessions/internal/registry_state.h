// What the workers of one Registry share: the worker of each session, and how to reach it.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/single_writer_counter.h"
#include "keel/exec/call.h"
#include "keel/exec/executor.h"
#include "keel/net/sessions/registry.h"
#include "keel/observe/metric.h"

namespace keel::sessions {

// For counters, and for values that readers may see a moment later.
inline constexpr auto relaxed = std::memory_order_relaxed;

// The server of one worker. Jobs that are posted to that worker share this object, because they may outlive the server.
struct Home {
  Home(Executor& e, int w, Server& s) noexcept : executor(e), worker(w), server(&s) {}
  Executor& executor;
  const int worker;
  Server* server;  // Null once the server has ended: changed on its worker under the registry's lock.
};

// The data about a session that other workers may read.
struct Card {
  std::uint64_t number = 0;
  std::string name;
  std::int64_t began_at_ns = 0;
  // Guarded by the registry's lock.
  std::shared_ptr<Home> home;
  std::string address;
  // Written only by the session's worker.
  std::atomic<bool> is_connected{false};
  SingleWriterCounter sent, received, lost, resumed, ring_bytes, heartbeats_missed;
};

struct Registry::State {
  explicit State(const RegistryOptions& options);

  // False: `home` has ended, and f is dropped. Call it under the lock.
  template <class F>
  static bool post(const std::shared_ptr<Home>& home, F f) {
    if (home->server == nullptr) return false;
    return execute(home->executor,
                   [home, f = std::move(f)]() mutable {
                     if (home->server != nullptr) f(*home->server);
                   })
        .has_value();
  }

  mutable std::mutex mutex;  // Guards the members below, up to the counters.
  std::size_t sessions_max;
  std::uint64_t next_number = 1;
  std::map<std::uint64_t, std::shared_ptr<Card>> cards;
  std::vector<std::shared_ptr<Home>> homes;
  // For sessions that have ended.
  std::uint64_t lost_before = 0;
  std::uint64_t heartbeats_missed_before = 0;

  std::atomic<std::uint64_t> begun{0}, resumed{0}, forgotten{0}, taken_over{0}, expired{0}, rejected{0}, refused{0};
  std::vector<metrics::GaugeFunction> metrics;
};

}  // namespace keel::sessions
