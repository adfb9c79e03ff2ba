// keel/app/internal/registrar.h — the object that each system of an App receives, and through which the system
// registers its modules, settings, metrics, health checks and pages.
//
// A system is a named part of an App: Logging, Workers, AdminServer. The constructor of a system adds its modules to
// the lifecycle, its appliers to the configuration and its series to the registry; the system's health checks exist
// while its modules run, and its pages are added if the App has an admin listener.
//
// Lifetime: everything that a Registrar refers to outlives the systems.
// Threads:  each member documents its own rules.

#pragma once

#include <string_view>
#include <utility>

#include "keel/app/health.h"
#include "keel/app/internal/platform.h"
#include "keel/app/lifecycle.h"
#include "keel/app/program.h"
#include "keel/app/settings.h"
#include "keel/config/reloadable.h"
#include "keel/observe/metric.h"

namespace keel::app::internal {

struct Registrar {
  const Program& program;    // The name and the version of the service.
  const Settings& settings;  // The settings at the time of the start.
  const Settings& (*settings_in)(const void* value);
  config::Versions& config;
  Lifecycle& lifecycle;
  metrics::Registry& metrics;
  Health& health;
  const Platform& platform;

  // The settings that are currently in effect.
  const Settings& now() const noexcept { return settings_in(config.value()); }

  // Adds a module to the lifecycle.
  void add(Module module) const { lifecycle.add(std::move(module)); }

  // When a reload changes `path` or anything below it, calls `apply`, which returns Result<>, with the new settings.
  template <class F>
  config::Applier on_reload(std::string_view path, F apply) const {
    return {config, config.add(path, [in = settings_in, apply = std::move(apply)](
                                         const void* now, const void*) mutable { return Result<>(apply(in(now))); })};
  }
};

}  // namespace keel::app::internal
