#include "keel/app/internal/resolvers.h"

#include <utility>

namespace keel::app::internal {
namespace {

constexpr int lookup_threads = 2;

}  // namespace

Resolvers::Resolvers(const Registrar& registrar, Workers& workers) : registrar_(registrar), workers_(workers) {
  registrar.add({.name = "resolver",
                 .needs = {"workers"},
                 .start = [this]() -> Result<> {
                   start();
                   return {};
                 },
                 .stop = [this] { stop(); },
                 .lazy = true});
}

void Resolvers::start() {
  const Platform& platform = registrar_.platform;
  lookups_ = std::make_unique<ThreadPool>(
      ThreadPoolOptions{.name = "resolver", .threads = lookup_threads, .executor = platform.executor});
  resolvers_.resize(static_cast<std::size_t>(workers_.runtime().workers()));
  workers_.runtime().each([&](io::Loop& loop) {
    Resolver::Lookup look_up = &Resolver::system_lookup;
    if (platform.look_up) look_up = [&platform](const std::string& host) { return platform.look_up(host); };
    resolvers_[static_cast<std::size_t>(loop.index())] =
        std::make_unique<Resolver>(*lookups_, ResolverOptions(), std::move(look_up));
  });
}

void Resolvers::stop() {
  workers_.runtime().each([this](io::Loop& loop) { resolvers_[static_cast<std::size_t>(loop.index())].reset(); });
  // The results of lookups in progress are dropped; the lookups end before the loops end.
  lookups_->stop(registrar_.settings.common.stop_timeout / 2);
  lookups_.reset();
}

}  // namespace keel::app::internal
