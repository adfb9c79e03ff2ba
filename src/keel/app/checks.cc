#include "keel/app/checks.h"

#include <fmt/core.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "keel/observe/log_ring.h"

namespace keel::app {
namespace {

constexpr std::string_view first_worker = "worker 0";

Task<> turn() { co_return; }

}  // namespace

std::vector<Health::Check> check_workers(Health& health, io::Runtime& runtime, Duration timeout) {
  std::vector<Health::Check> checks;
  for (int i = 0; i < runtime.workers(); ++i) {
    checks.push_back(
        health.add({.name = "worker " + std::to_string(i), .kind = Health::Kind::Liveness, .timeout = timeout},
                   runtime.loop(i), [] { return turn(); }));
  }
  return checks;
}

std::vector<Health::Check> check_database(Health& health, db::Database& database, io::Loop& worker, Duration timeout) {
  std::vector<Health::Check> checks;
  checks.push_back(health.add({.name = "database", .needs = {std::string(first_worker)}, .timeout = timeout}, worker,
                              [&database] { return database.check_reads(); }));
  checks.push_back(health.add({.name = "database writes", .degrades = true, .needs = {"database"}, .timeout = timeout},
                              worker, [&database] { return database.check_writes(); }));
  return checks;
}

Health::Check check_disk_space(Health& health, std::vector<std::string> folders, config::ByteSize free_min,
                               Duration timeout) {
  return health.add({.name = "disk space", .degrades = true, .timeout = timeout},
                    [folders = std::move(folders), free_min]() -> Result<> {
                      for (const std::string& folder : folders) KEEL_TRY_VOID(disk_space(folder, free_min));
                      return {};
                    });
}

Health::Check check_log(Health& health, const telemetry::LogWriter& logs) {
  return health.add({.name = "log", .degrades = true},
                    [&logs, before = logs.counts().lines_lost + log::dropped()]() mutable -> Result<> {
                      const std::uint64_t now = logs.counts().lines_lost + log::dropped();
                      const std::uint64_t lost = now - std::exchange(before, now);
                      if (lost == 0) return {};
                      return Error::text(
                          Code::ResourceExhausted,
                          fmt::format("{} lines were lost since the last check, {} in total", lost, now));
                    });
}

Result<> disk_space(const std::string& folder, config::ByteSize free_min) {
  struct statvfs facts{};
  if (::statvfs(folder.c_str(), &facts) != 0) {
    return Error::from_errno("statvfs", errno).because(folder);
  }
  const std::uint64_t free_bytes = std::uint64_t{facts.f_bavail} * facts.f_frsize;
  if (free_bytes >= free_min.bytes) return {};
  return Error::text(Code::ResourceExhausted, fmt::format("{} has {} KiB left; expected at least {} KiB", folder,
                                                          free_bytes / 1024, free_min.bytes / 1024));
}

}  // namespace keel::app
