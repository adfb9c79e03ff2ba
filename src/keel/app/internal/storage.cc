#include "keel/app/internal/storage.h"

#include <filesystem>
#include <utility>

#include "keel/app/checks.h"
#include "keel/app/internal/database_metrics.h"
#include "keel/app/internal/options.h"

namespace keel::app::internal {

Storage::Storage(const Registrar& registrar, Workers& workers) : registrar_(registrar), workers_(workers) {
  registrar.add(
      {.name = "database", .start = [this] { return open(); }, .stop = [this] { database_->close(); }, .lazy = true});
  registrar.add({.name = "connections",
                 .needs = {"database", "workers"},
                 .start = [this] { return connect(); },
                 .stop = [this] { checks_.clear(); },
                 .lazy = true});
}

std::string Storage::path() const {
  if (database_ == nullptr) return {};
  return std::filesystem::absolute(registrar_.settings.database.path).string();
}

Result<> Storage::open() {
  const std::string& path = registrar_.settings.database.path;
  KEEL_TRY_VOID(make_folder_of(path).because("database.path"));
  auto opened = db::Database::open(database_options(registrar_.settings));
  if (!opened) return std::unexpected(std::move(opened).error().because("database '" + path + "'"));
  database_ = *std::move(opened);
  return {};
}

Result<> Storage::connect() {
  io::Runtime& runtime = workers_.runtime();
  Result<> attached;
  runtime.each([&](io::Loop& loop) {
    if (attached) attached = database_->attach(loop);
  });
  KEEL_TRY_VOID(std::move(attached));
  const Settings& settings = registrar_.settings;
  metrics_ = expose(*database_, settings.database, registrar_.metrics);
  checks_ = check_database(registrar_.health, *database_, runtime.loop(0), settings.monitoring.health.check_timeout);
  return {};
}

}  // namespace keel::app::internal
