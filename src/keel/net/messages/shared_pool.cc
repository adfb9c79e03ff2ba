#include "keel/net/messages/shared_pool.h"

#include "keel/base/check.h"
#include "keel/io/loop.h"

namespace keel::messages {
namespace {

// The index of the worker of the calling thread; -1: the thread is not a worker.
int worker_here() noexcept {
  const io::Loop* const loop = io::Loop::current();
  return loop != nullptr ? loop->index() : -1;
}

}  // namespace

SharedPool::SharedPool(std::string name, int workers, PoolOptions options)
    : name_(std::move(name)), options_(std::move(options)), pools_(static_cast<std::size_t>(workers)) {}

SharedPool::~SharedPool() {
  for (const auto& pool : pools_) {
    KEEL_CHECK(pool == nullptr, "a SharedPool must be detached on every worker before it is destroyed");
  }
}

void SharedPool::attach(Resolver& resolver) {
  const int here = worker_here();
  KEEL_CHECK(here >= 0 && here < static_cast<int>(pools_.size()), "a SharedPool must be attached on a worker's thread");
  auto& pool = pools_[static_cast<std::size_t>(here)];
  KEEL_CHECK(pool == nullptr, "a SharedPool can be attached to a worker only once");
  pool = std::make_unique<Pool>(resolver, options_);
}

void SharedPool::detach() {
  const int here = worker_here();
  KEEL_CHECK(here >= 0 && here < static_cast<int>(pools_.size()), "a SharedPool must be detached on a worker's thread");
  pools_[static_cast<std::size_t>(here)].reset();
}

Pool* SharedPool::here() const noexcept {
  const int here = worker_here();
  if (here < 0 || here >= static_cast<int>(pools_.size())) return nullptr;
  return pools_[static_cast<std::size_t>(here)].get();
}

Task<Peer*> SharedPool::peer() {
  Pool* const pool = here();
  if (pool == nullptr) return refuse<Peer*>(name_);
  return pool->peer();
}

Error SharedPool::unattached(const std::string& name) {
  return Error::text(Code::Internal,
                     "the pool \"" + name + "\" can be used only on a worker and while the service runs");
}

}  // namespace keel::messages
