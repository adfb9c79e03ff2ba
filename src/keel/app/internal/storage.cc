#include "keel/app/internal/storage.h"

#include <filesystem>
#include <utility>

#include "keel/app/checks.h"
#include "keel/app/internal/database.h"

namespace keel::app::internal {

Storage::Storage(const Registrar& registrar, Workers& workers) : registrar_(registrar), workers_(workers) {
  registrar.add({.name = "database", .start = [this] { return open(); }, .stop = [this] { close(); }, .lazy = true});
  registrar.add({.name = "connections",
                 .needs = {"database", "workers"},
                 .start = [this] { return connect(); },
                 .stop = [this] { disconnect(); },
                 .lazy = true});
}

std::string Storage::path() const {
  if (database_ == nullptr || registrar_.settings.database.type != DatabaseType::Sqlite) return {};
  return std::filesystem::absolute(registrar_.settings.database.path).string();
}

std::string Storage::where() const {
  if (database_ == nullptr || registrar_.settings.database.type == DatabaseType::Sqlite) return path();
  return static_cast<const db::postgres::Database&>(*database_).where();
}

Result<> Storage::open() {
  KEEL_TRY(database_, open_database(registrar_.settings, registrar_.platform));
  return {};
}

void Storage::close() {
  // In a simulation, pending statements complete only while the loops run.
  if (registrar_.platform.is_simulated()) {
    workers_.runtime().wait_until([this] { return database_->is_idle(); }, registrar_.settings.common.stop_timeout);
  }
  database_->close();
}

void Storage::disconnect() {
  checks_.clear();
  io::Runtime& runtime = workers_.runtime();
  runtime.each([&](io::Loop& loop) { database_->detach(loop); });
  runtime.wait_until([this] { return database_->is_detached(); }, registrar_.settings.common.stop_timeout);
}

Result<> Storage::connect() {
  io::Runtime& runtime = workers_.runtime();
  if (!registrar_.platform.is_simulated()) {
    // Makes /readyz report an outage as soon as it is detected, and not only at the next check.
    database_->watch([&health = registrar_.health] { health.check_soon("database"); });
  }
  Result<> attached;
  runtime.each([&](io::Loop& loop) {
    if (attached) attached = database_->attach(loop);
  });
  KEEL_TRY_VOID(std::move(attached));
  const Settings& settings = registrar_.settings;
  metrics_ = database_->expose(registrar_.metrics);
  checks_ = check_database(registrar_.health, *database_, runtime.loop(0), settings.monitoring.health.check_timeout);
  return {};
}

}  // namespace keel::app::internal
