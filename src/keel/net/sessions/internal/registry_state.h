// The data that the workers of one Registry share: the worker of each session, and how to reach that worker.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
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
#include "keel/net/sessions/server.h"
#include "keel/observe/metric.h"

namespace keel::sessions {

// Used for counters, and for values that readers may see with a small delay.
inline constexpr auto relaxed = std::memory_order_relaxed;

// A message for all sessions.
struct Broadcast {
  std::uint16_t type;
  Buffer payload;
  SendOptions options;
};

// The server of one worker. Jobs that are posted to the worker share the Home, because the jobs may outlive the server.
struct Home {
  Home(Executor& e, int w, Server& s) noexcept : executor(e), worker(w), server(&s) {}
  Executor& executor;
  const int worker;
  Server* server;  // Null once the server has ended; changed only on its worker, under the registry's lock.
  // Guarded by the registry's lock. Until this worker runs the job that handles them, `pending` holds the broadcasts
  // for this worker, and `arriving` holds the sessions that are moving to this worker.
  std::deque<std::shared_ptr<const Broadcast>> pending;
  std::vector<std::shared_ptr<internal::MovingSession>> arriving;
  // Sums over the sessions of this worker; only this worker writes the sums. When a session moves to another worker,
  // its share of `connected` and of `ring_bytes` moves too.
  SingleWriterCounter connected, ring_bytes, lost, heartbeats_missed;
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

  // Posts f to the worker of `home`. Returns false if `home` has ended; f is then dropped. The caller must hold the
  // registry's lock. Jobs that other workers post run in the order in which they are posted; jobs that the worker posts
  // to itself may run earlier.
  template <class F>
  static bool post(const std::shared_ptr<Home>& home, F f) {
    if (home->server == nullptr) return false;
    return execute(home->executor,
                   [home, f = std::move(f)]() mutable {
                     if (home->server != nullptr) f(*home->server);
                   })
        .has_value();
  }

  // Calls f(Session&) on the worker that has the session: during the call if that worker is the calling worker;
  // otherwise later, on the worker to which the session may have moved in the meantime. Returns false if there is no
  // session with this number.
  template <class F>
  bool reach(std::uint64_t number, F f) {
    std::unique_lock lock(mutex);
    const auto at = cards.find(number);
    if (at == cards.end()) return false;
    const std::shared_ptr<Home> home = at->second->home;
    if (&home->executor == Executor::current() && home->server != nullptr) {
      lock.unlock();
      if (Session* const session = home->server->find(number); session != nullptr) {
        f(*session);
        return true;
      }
      lock.lock();  // The session is moving to this worker.
    }
    return post(home, [this, number, f = std::move(f)](Server& server) mutable {
      if (Session* const session = server.find(number); session != nullptr) {
        f(*session);
      } else {
        static_cast<void>(reach(number, std::move(f)));  // The session has moved or ended.
      }
    });
  }
  // Sends a broadcast to a session that is currently on no worker. The caller must hold the registry's lock.
  void tell(internal::MovingSession& moving, const Broadcast& broadcast);

  mutable std::mutex mutex;  // Guards the members below, up to the counters.
  std::size_t sessions_max;
  std::uint64_t next_number = 1;
  std::map<std::uint64_t, std::shared_ptr<Card>> cards;
  std::vector<std::shared_ptr<Home>> homes;
  // The sums of workers that have ended.
  std::uint64_t lost_before = 0;
  std::uint64_t heartbeats_missed_before = 0;

  std::atomic<std::uint64_t> begun{0}, resumed{0}, forgotten{0}, taken_over{0}, expired{0}, rejected{0}, refused{0};
  std::vector<metrics::GaugeFunction> metrics;
};

}  // namespace keel::sessions
