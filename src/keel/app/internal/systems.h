// keel/app/internal/systems.h — the parts of an App: the lifecycle, and a system for each of the other parts.
//
// The systems are constructed in the order in which they register their modules, and destroyed in reverse order.

#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "keel/app/app.h"
#include "keel/app/container.h"
#include "keel/app/internal/addresses.h"
#include "keel/app/internal/admin_server.h"
#include "keel/app/internal/background.h"
#include "keel/app/internal/certificates.h"
#include "keel/app/internal/checkup.h"
#include "keel/app/internal/clients.h"
#include "keel/app/internal/exporter.h"
#include "keel/app/internal/logging.h"
#include "keel/app/internal/message_pools.h"
#include "keel/app/internal/messages.h"
#include "keel/app/internal/platform.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/reloads.h"
#include "keel/app/internal/resolvers.h"
#include "keel/app/internal/service.h"
#include "keel/app/internal/start_report.h"
#include "keel/app/internal/storage.h"
#include "keel/app/internal/succession.h"
#include "keel/app/internal/supervision.h"
#include "keel/app/internal/workers.h"
#include "keel/app/lifecycle.h"
#include "keel/app/pools.h"

namespace keel::app {

struct App::Systems {
  Systems(App& app, Instant began);

  // "uring" or "epoll".
  std::string_view engine();
  // Prints to standard output that the application is ready, the addresses at which it listens, and the location of its
  // data.
  void print_ready();

  const Settings& settings;  // The settings that were in effect at the start.
  Lifecycle lifecycle;
  const internal::Registrar registrar;
  internal::StartReport start;
  internal::Reloads reloads;
  internal::Logging logging;
  internal::Workers workers;
  internal::Exporter exporter;
  internal::Storage storage;
  Pools pools;
  internal::Resolvers resolvers;
  internal::Certificates certificates;
  internal::Clients clients;
  internal::MessagePools message_pools;
  internal::Background background;
  internal::Checkup checkup;
  internal::Succession succession;
  internal::Addresses addresses;
  internal::Messages messages;
  internal::Service service;
  internal::AdminServer admin;
  const Services* services = nullptr;
  std::vector<telemetry::AdminPage> own_pages;  // Pages that the application added.
  bool is_stopped = false;
  // Atomic, because the mistake in the configuration may be found by the start of a module, on another thread.
  std::atomic<bool> is_refused = false;
};

}  // namespace keel::app
