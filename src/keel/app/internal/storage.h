// keel/app/internal/storage.h — the database of an App: the lazy modules "database", which opens it while the workers
// start, and "connections", which gives each worker a connection.
//
// Threads: make and destroy the Storage on the main thread; call database() on any thread once the module "connections"
//          runs.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "keel/app/health.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/workers.h"
#include "keel/db/database.h"
#include "keel/observe/metric.h"

namespace keel::app::internal {

class Storage {
 public:
  Storage(const Registrar& registrar, Workers& workers);
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // Call this function only after the module "connections" has started.
  db::Database& database() noexcept { return *database_; }
  // The absolute path of the database's file; empty if no database was opened.
  std::string path() const;
  // Where the data is, for people: the path of the file, or the server in the form "app@db1:5432/shop". Empty if no
  // database was opened.
  std::string where() const;

 private:
  Result<> open();
  void close();
  Result<> connect();
  void disconnect();

  const Registrar& registrar_;
  Workers& workers_;
  std::unique_ptr<db::Database> database_;
  std::vector<metrics::GaugeFunction> metrics_;
  std::vector<Health::Check> checks_;
};

}  // namespace keel::app::internal
