// keel/app/internal/resolvers.h — resolves host names for the clients and pools of an App: the lazy module "resolver".
//
// Threads: make and destroy the Resolvers on the main thread; call of() on the worker whose loop is passed, while the
//          module runs.

#pragma once

#include <memory>
#include <vector>

#include "keel/app/internal/registrar.h"
#include "keel/app/internal/workers.h"
#include "keel/exec/thread_pool.h"
#include "keel/net/resolver.h"

namespace keel::app::internal {

class Resolvers {
 public:
  Resolvers(const Registrar& registrar, Workers& workers);
  Resolvers(const Resolvers&) = delete;
  Resolvers& operator=(const Resolvers&) = delete;

  Resolver& of(const io::Loop& loop) noexcept { return *resolvers_[static_cast<std::size_t>(loop.index())]; }

 private:
  void start();
  void stop();

  const Registrar& registrar_;
  Workers& workers_;
  std::unique_ptr<ThreadPool> lookups_;
  std::vector<std::unique_ptr<Resolver>> resolvers_;  // By worker.
};

}  // namespace keel::app::internal
