// dev/project.h — a CMake project that `keel dev` builds and starts: its settings in keel.yaml, and its CMake commands.
//
// Errors:  InvalidArgument for a mistake in keel.yaml, NotFound for a target that does not exist; each message says
//          what to write.
// Threads: one.

#pragma once

#include <string>
#include <vector>

#include "dev/builder.h"
#include "keel/base/result.h"
#include "keel/config/config.h"

namespace keel::dev {

// The section `dev` of keel.yaml.
struct DevSettings {
  std::string preset = "dev";
  std::string target;
  std::string build;
  std::vector<std::string> arguments;
  std::vector<std::string> restart_on = {"*.yaml", "*.yml", "*.sql"};
  std::vector<std::string> ignore = {"/data"};

  void fields(config::Schema& v);
};

class Project {
 public:
  // Reads the folder's keel.yaml, if there is one. A `preset` or `target` that is given overrides the value in
  // keel.yaml.
  static Result<Project> read(std::string folder, const std::string& preset, const std::string& target);

  const std::string& folder() const noexcept { return folder_; }
  const DevSettings& settings() const noexcept { return settings_; }
  // The build folder, relative to the project's folder.
  const std::string& build() const noexcept { return settings_.build; }
  std::string log() const { return build() + "/keel-dev.log"; }
  // Files that do not count as changes: build folders, temporary files of editors, and `ignore`.
  std::vector<std::string> ignored() const;
  // Whether the service has to restart when this file changes, even if its program is the same.
  bool restarts_on(const std::string& file) const;
  // True if CMake must run before the build, because it has not run yet or because the presets have changed.
  bool has_to_configure(const std::string& changed_file) const;
  bool is_configured() const;

  // The commands that build the target.
  std::vector<BuildStep> steps(bool configure) const;
  // The path of the target's program, which is known only after CMake has run.
  Result<std::string> program() const;

 private:
  Project(std::string folder, DevSettings settings) : folder_(std::move(folder)), settings_(std::move(settings)) {}

  std::string folder_;
  DevSettings settings_;
};

}  // namespace keel::dev
