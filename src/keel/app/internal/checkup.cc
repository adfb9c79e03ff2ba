#include "keel/app/internal/checkup.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "keel/app/checks.h"

namespace keel::app::internal {

void Checkup::start() {
  if (!registrar_.settings.monitoring.enabled) return;
  watch_disks();
  const HealthSettings& from = registrar_.settings.monitoring.health;
  if (registrar_.platform.is_simulated()) {
    registrar_.health.start(workers_.runtime(), from.check_interval);
  } else {
    registrar_.health.start(from.check_interval);
  }
  registrar_.health.wait_checked(from.check_timeout);
}

void Checkup::update() {
  if (registrar_.settings.monitoring.enabled) watch_disks();
}

void Checkup::watch_disks() {
  // In a simulation, the disk is simulated, so the file system of this machine is not checked.
  if (registrar_.platform.is_simulated()) return;
  const Settings& now = registrar_.now();
  std::vector<std::string> folders;
  const auto add_folder_of = [&folders](const std::string& file) {
    folders.push_back(std::filesystem::absolute(file).parent_path().string());
  };
  if (const std::string path = storage_.path(); !path.empty()) add_folder_of(path);
  for (const SinkSettings& sink : now.logging.sinks) {
    if (sink.to == telemetry::LogSink::To::File && now.logging.enabled) add_folder_of(sink.path);
  }
  const HealthSettings& from = now.monitoring.health;
  disks_ = {};  // Removes the earlier check first, because each name can be used only once.
  disks_ = check_disk_space(registrar_.health, std::move(folders), from.disk_free_min, from.check_timeout);
}

void Checkup::add_pages(telemetry::AdminPages& pages) {
  const auto add = [&](const char* path, bool (Health::*ask)(Buffer&)) {
    pages.add(path, [&health = registrar_.health, ask](http::Request&) {
      Buffer body;
      const bool is_good = (health.*ask)(body);
      return http::Response::body(is_good ? http::Status::Ok : http::Status::ServiceUnavailable, std::move(body),
                                  "application/json");
    });
  };
  add("/healthz", &Health::live);
  add("/readyz", &Health::ready);
  add("/startupz", &Health::started);
}

}  // namespace keel::app::internal
