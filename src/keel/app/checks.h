// keel/app/checks.h — the health checks that each App adds to its Health.
//
//   worker N         liveness: the worker's loop runs the jobs posted to it. A loop that runs none for `timeout` is
//                    stuck, and a restart helps.
//   database         readiness: a read on worker 0 succeeds. Needs worker 0.
//   database writes  degrades: while the disk does not accept writes, they get 503 and reads continue, so the process
//                    stays ready. The disk is tried only after a commit failed, and from then until a commit succeeds.
//   disk space       degrades: a folder's file system has less than `free_min` left.
//   log              degrades: lines were lost since the previous run of this check.
//
// Lifetime: the arguments of a call must outlive the checks that the call returns.
// Threads:  the rules of Health (health.h) apply.

#pragma once

#include <string>
#include <vector>

#include "keel/app/health.h"
#include "keel/config/schema.h"
#include "keel/db/database.h"
#include "keel/io/runtime.h"
#include "keel/telemetry/log_writer.h"

namespace keel::app {

// For each worker, adds a check that fails when the worker's loop has not responded for `timeout`; the checks exist
// until the result is destroyed.
std::vector<Health::Check> check_workers(Health& health, io::Runtime& runtime, Duration timeout);
// Adds the checks of the database, of free disk space and of the log. Call check_workers() before any of these
// functions.
std::vector<Health::Check> check_database(Health& health, db::Database& database, io::Loop& worker, Duration timeout);
Health::Check check_disk_space(Health& health, std::vector<std::string> folders, config::ByteSize free_min,
                               Duration timeout);
Health::Check check_log(Health& health, const telemetry::LogWriter& logs);

// Adds a check that fails with ResourceExhausted when less than `free_min` is available to an unprivileged user in the
// folder; the error names the folder, the free space and `free_min`.
Result<> disk_space(const std::string& folder, config::ByteSize free_min);

}  // namespace keel::app
