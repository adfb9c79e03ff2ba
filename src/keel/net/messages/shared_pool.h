// keel/net/messages/shared_pool.h — a Pool for all workers: each worker has its own connections, under one name.
//
//   messages::SharedPool rooms("rooms", runtime.workers(), {.endpoints = {"rooms.internal:7000"}});
//   runtime.each([&](io::Loop& loop) { rooms.attach(resolver_of(loop)); });
//   …
//   const Average kitchen{"kitchen"};
//   const Celsius now = co_await rooms.request<Celsius>(kitchen);        // on any worker
//   …
//   runtime.each([&](io::Loop&) { rooms.detach(); });
//
// An App attaches and detaches the pool on every worker: use app.message_pool("rooms"), and send only the requests.
//
// Errors:   those of Pool; Internal when the calling thread is not a worker, or the pool is not attached to that
//           worker.
// Threads:  any worker's thread; attach and detach each worker separately. Each worker has its own circuit breakers,
//           retry budgets and state of targets: limits apply to each worker, and each worker detects a failing endpoint
//           by itself.
// Lifetime: must be detached on every worker before its destructor runs, and only when that worker has no request in
//           progress (checked); the resolvers, and objects that the options refer to, must live until then.
// Cost:     that of Pool, plus finding the calling worker.

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "keel/net/messages/pool.h"

namespace keel::messages {

class SharedPool {
 public:
  SharedPool(std::string name, int workers, PoolOptions options);
  ~SharedPool();
  SharedPool(const SharedPool&) = delete;
  SharedPool& operator=(const SharedPool&) = delete;

  // Call attach() on a worker's thread: that worker may then send requests until detach().
  void attach(Resolver& resolver);
  void detach();

  template <class Reply = void, class M>
  Task<Reply> request(M&& message, Pool::Repeat repeat = Pool::Repeat::Never) {
    internal::refuse_made_in_call<M>();
    Pool* const pool = here();
    if (pool == nullptr) return refuse<Reply>(name_);
    return pool->request<Reply>(std::forward<M>(message), repeat);
  }
  template <class M>
  Task<> send(M&& message) {
    internal::refuse_made_in_call<M>();
    Pool* const pool = here();
    if (pool == nullptr) return refuse<void>(name_);
    return pool->send(std::forward<M>(message));
  }
  // A connection of this worker, for a stream. The pointer is valid until the next await.
  Task<Peer*> peer();

  // The Pool of the calling worker; null if that worker is not attached.
  Pool* here() const noexcept;
  const std::string& name() const noexcept { return name_; }
  const PoolOptions& options() const noexcept { return options_; }

 private:
  static Error unattached(const std::string& name);
  template <class T>
  static Task<T> refuse(std::string name) {
    co_return unattached(name);
  }

  const std::string name_;
  const PoolOptions options_;
  std::vector<std::unique_ptr<Pool>> pools_;  // By worker.
};

}  // namespace keel::messages
