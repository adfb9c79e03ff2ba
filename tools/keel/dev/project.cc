#include "dev/project.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "keel/data/json_parse.h"
#include "prefix.h"

namespace keel::dev {
namespace {

constexpr const char* settings_file = "keel.yaml";
// CMake's file API: an empty file at the first path is the request, and each run of CMake writes its reply below the
// second path.
constexpr const char* question = "/.cmake/api/v1/query/client-keel/codemodel-v2";
constexpr const char* replies = "/.cmake/api/v1/reply";

// The part of CMake's reply that is needed.
struct TargetFile {
  std::string name;
  std::string json_file;
  static constexpr auto name_case = Case::Camel;
};
struct Configuration {
  std::vector<TargetFile> targets;
};
struct CodeModel {
  std::vector<Configuration> configurations;
};
struct Artifact {
  std::string path;
};
struct Target {
  std::string type;
  std::vector<Artifact> artifacts;
  static constexpr std::string_view optional_fields[] = {"artifacts"};
};

struct File {
  DevSettings dev;
  void fields(config::Schema& v) { config::field(v, "dev", dev, "the program that keel dev builds and starts"); }
};

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// A pattern that matches only this path, relative to the top.
std::string pattern_of(const std::string& path) {
  std::string pattern = "/";
  for (const char c : std::filesystem::path(path).lexically_normal().string()) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  if (pattern.size() > 1 && pattern.ends_with('/')) pattern.pop_back();
  return pattern;
}

template <class T>
Result<T> read_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error::text(Code::NotFound, path + ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return json::parse<T>(text).map_error([&](Error error) { return std::move(error).because(path); });
}

// Reads the newest reply; CMake deletes older replies.
std::optional<std::string> find_reply(const std::string& folder) {
  std::optional<std::filesystem::directory_entry> newest;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator(folder, error); !error && at != std::filesystem::end(at);
       at.increment(error)) {
    if (!at->path().filename().string().starts_with("codemodel-v2-")) continue;
    if (!newest || at->last_write_time(error) > newest->last_write_time(error)) newest = *at;
  }
  if (!newest) return std::nullopt;
  return newest->path().string();
}

std::vector<std::string> environment_of_cmake() {
  const std::string path = cmake_prefix_path();
  if (path.empty()) return {};
  return {"CMAKE_PREFIX_PATH=" + path};
}

}  // namespace

void DevSettings::fields(config::Schema& v) {
  config::field(v, "preset", preset, "the preset of CMakePresets.json");
  config::field(v, "target", target, "the program that is built and started, a target of CMake");
  config::field(v, "build", build, "the build folder, relative to this file; build/PRESET unless given");
  config::field(v, "arguments", arguments, "arguments of the program; the arguments of the command line are appended");
  config::field(v, "restart_on", restart_on, "files that the program reads when it starts, as patterns of fnmatch(3)");
  config::field(v, "ignore", ignore,
                "files and folders that are ignored: /path is relative to this folder; a name "
                "matches at any depth");
}

Result<Project> Project::read(std::string folder, const std::string& preset, const std::string& target) {
  const std::string path = folder + "/" + settings_file;
  DevSettings settings;
  if (exists(path)) {
    KEEL_TRY(File file, config::load<File>({.file = path, .env_prefix = ""}));
    settings = std::move(file.dev);
  }
  if (!preset.empty()) settings.preset = preset;
  if (!target.empty()) settings.target = target;
  if (!exists(folder + "/CMakeLists.txt")) {
    return Error::text(Code::NotFound, folder +
                                           " has no CMakeLists.txt: run this in the folder of a project, or make "
                                           "one with keel new NAME");
  }
  if (settings.target.empty()) {
    return Error::text(Code::InvalidArgument,
                       "which program is to run? Write\ndev:\n  target: NAME\nto " + path + ", or give --target NAME");
  }
  if (settings.build.empty()) settings.build = "build/" + settings.preset;
  if (settings.build.starts_with('/')) {
    return Error::text(Code::InvalidArgument,
                       path + ": dev.build: " + settings.build + ": expected a folder relative to " + folder);
  }
  return Project(std::move(folder), std::move(settings));
}

std::vector<std::string> Project::ignored() const {
  std::vector<std::string> patterns = {"/build*", "/install", "*~",     "#*#",   "4913", "*.swp",
                                       "*.swx",   "*.db",     "*.db-*", "*.log", "*.o",  "__pycache__"};
  patterns.insert(patterns.end(), settings_.ignore.begin(), settings_.ignore.end());
  patterns.push_back(pattern_of(build()));
  return patterns;
}

bool Project::restarts_on(const std::string& file) const {
  return std::ranges::any_of(settings_.restart_on, [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name_of(file).c_str(), 0) == 0;
  });
}

bool Project::is_configured() const {
  const std::string at = folder_ + "/" + build();
  return exists(at + "/CMakeCache.txt") && find_reply(at + replies).has_value();
}

bool Project::has_to_configure(const std::string& changed_file) const {
  return changed_file == "CMakePresets.json" || changed_file == "CMakeUserPresets.json" || !is_configured();
}

std::vector<BuildStep> Project::steps(bool configure) const {
  std::vector<BuildStep> steps;
  if (configure) {
    const std::string asked = folder_ + "/" + build() + question;
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(asked).parent_path(), ignored);
    std::ofstream{asked};
    std::vector<std::string> words = {"cmake", "-S", ".", "-B", build()};
    const bool has_presets = exists(folder_ + "/CMakePresets.json") || exists(folder_ + "/CMakeUserPresets.json");
    if (has_presets) {
      words.insert(words.end(), {"--preset", settings_.preset});
    } else {
      words.emplace_back("-DCMAKE_BUILD_TYPE=Debug");
    }
    steps.push_back({"configure", std::move(words), environment_of_cmake()});
  }
  const std::string jobs = std::to_string(std::max(1u, std::thread::hardware_concurrency()));
  steps.push_back({"build", {"cmake", "--build", build(), "--target", settings_.target, "--parallel", jobs}});
  return steps;
}

Result<std::string> Project::program() const {
  const std::string at = folder_ + "/" + build();
  const auto reply = find_reply(at + replies);
  if (!reply)
    return Error::text(Code::NotFound, at + ": CMake has listed no targets for this folder; delete the folder");
  KEEL_TRY(const CodeModel model, read_json<CodeModel>(*reply));
  std::string others;
  for (const Configuration& configuration : model.configurations) {
    for (const TargetFile& one : configuration.targets) {
      KEEL_TRY(const Target found, read_json<Target>(at + replies + "/" + one.json_file));
      const bool is_program = found.type == "EXECUTABLE" && !found.artifacts.empty();
      if (is_program && one.name == settings_.target) {
        return (std::filesystem::path(at) / found.artifacts.front().path).string();
      }
      if (is_program) others += (others.empty() ? "" : ", ") + one.name;
    }
  }
  return Error::text(Code::NotFound, "the project has no program " + settings_.target + "; it has " +
                                         (others.empty() ? std::string("none") : others));
}

}  // namespace keel::dev
