#include "keel/app/internal/systems.h"

#include <sched.h>

#include <cstdio>
#include <string>

#include "keel/config/version.h"

namespace keel::app {
namespace {

// How many CPUs this process may use; 1 if the system does not say.
unsigned usable_cpus() noexcept {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&usable));
}

// "http://127.0.0.1:8080", "unix:/run/service.sock"
std::string url_of(const Address& address, bool is_secure) {
  return (address.is_unix() ? "" : is_secure ? "https://" : "http://") + address.to_string();
}

}  // namespace

App::Systems::Systems(App& app, Instant began)
    : settings(app.settings()),
      lifecycle(settings.common.stop_timeout, app.platform_.is_simulated() ? ModuleThreads::None : ModuleThreads::Own,
                settings.common.start_timeout),
      registrar{app.program_, settings,      app.settings_in_, app.config_,
                lifecycle,    app.registry_, app.health_,      app.platform_},
      start(registrar, began),
      reloads(registrar),
      logging(registrar),
      workers(registrar),
      exporter(registrar, logging, workers),
      storage(registrar, workers),
      pools(settings, lifecycle, app.registry_, &usable_cpus, app.platform_.executor),
      resolvers(registrar, workers),
      certificates(registrar),
      clients(registrar, workers, resolvers, certificates),
      message_pools(registrar, workers, resolvers, certificates),
      background(registrar, workers),
      checkup(registrar, workers, storage),
      succession(registrar, *app.supervision_, certificates),
      addresses(workers, succession),
      messages(registrar, workers, succession, certificates, addresses),
      service(registrar, workers, succession, certificates, addresses),
      admin(registrar, workers, succession, certificates, addresses) {}

std::string_view App::Systems::engine() {
  return workers.runtime().engine().kind == io::EngineKind::Uring ? "uring" : "epoll";
}

void App::Systems::print_ready() {
  const Program& program = registrar.program;
  std::printf("%s is ready (%.1f ms)\n", program.name.c_str(), start.took().count_seconds() * 1e3);
  if (!program.version.empty()) {
    std::printf("  version  %s, Keel %s\n", program.version.c_str(), std::string(keel_version()).c_str());
  }
  for (const std::string& url : service.urls()) std::printf("  service  %s\n", url.c_str());
  if (messages.is_served()) std::printf("  messages %s\n", messages.place().c_str());
  if (const http::Server* const server = admin.server(); server != nullptr) {
    std::printf("  admin    %s  %s\n", url_of(server->address(), settings.monitoring.metrics.https).c_str(),
                admin.pages().paths().c_str());
  }
  if (const http::Server* const server = admin.probes(); server != nullptr) {
    std::printf("  probes   %s\n", url_of(server->address(), settings.monitoring.probes.https).c_str());
  }
  const io::Runtime& runtime = workers.runtime();
  std::printf("  engine   %s, %d workers: %s\n", engine().data(), runtime.workers(), runtime.engine().reason.c_str());
  if (const std::string where = storage.where(); !where.empty()) std::printf("  data     %s\n", where.c_str());
  std::fflush(stdout);
}

}  // namespace keel::app
