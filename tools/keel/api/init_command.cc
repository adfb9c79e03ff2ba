#include "api/init_command.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "api/init.h"
#include "keel/base/result.h"
#include "prefix.h"

namespace keel::api {
namespace {

namespace fs = std::filesystem;

constexpr const char* build_folder = "build/contract";
constexpr const char* record_folder = "build/contract/records";

struct Step {
  const char* what;
  const char* command;
};
// Commands of the user's own project, as typed in a shell.
constexpr Step steps[] = {
    {"configuring", "CXXFLAGS=\"${CXXFLAGS-} -DKEEL_RECORD_CONTRACT\" cmake -S . -B build/contract"},
    {"building", "cmake --build build/contract --parallel"},
    {"running the tests", "KEEL_RECORD_CONTRACT=\"$PWD/build/contract/records\" ctest --test-dir build/contract"},
};

struct Options {
  std::string out = "api.yaml";
  std::string title;
  std::string records;
};

Result<Options> parse(const std::vector<std::string>& arguments) {
  const auto refuse = [](const std::string& text) { return Error::text(Code::InvalidArgument, text); };
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    std::string* const value = argument == "--out"       ? &options.out
                               : argument == "--title"   ? &options.title
                               : argument == "--records" ? &options.records
                                                         : nullptr;
    if (value == nullptr) return refuse(argument + ": there is no such option; keel api init --help lists them");
    if (i + 1 == arguments.size()) return refuse(argument + ": needs a value");
    *value = arguments[++i];
  }
  std::error_code error;
  const fs::path folder = fs::path(options.out).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error))
    return refuse(options.out + ": there is no folder " + folder.string());
  if (fs::exists(options.out, error))
    return refuse(options.out +
                  ": exists already, and is not overwritten; name another file with --out to compare the two");
  if (options.records.empty() && !fs::exists("CMakeLists.txt", error))
    return refuse("there is no CMakeLists.txt here: run keel api init in the folder of a service, or give --records");
  return options;
}

Result<std::vector<Record>> read_records(const std::string& folder) {
  std::vector<Record> records;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    records.push_back({.file = entry.path().string(), .text = {std::istreambuf_iterator<char>(file), {}}});
  }
  if (records.empty()) {
    return Error::text(Code::NotFound, folder +
                                           ": no test has recorded anything: tests that use a TestApp record their "
                                           "requests and responses, " +
                                           "if the sources of the service are compiled with -DKEEL_RECORD_CONTRACT");
  }
  return records;
}

int refuse(const Error& error) {
  std::fprintf(stderr, "keel api: %s\n", error.describe().c_str());
  return 2;
}

}  // namespace

const std::string_view init_help =
    R"(keel api init [--out FILE] [--title TITLE] [--records FOLDER]

Writes the OpenAPI document of a service that has none, from the requests of its tests: builds the service of this
folder and its tests in build/contract, runs the tests with ctest, and writes what they recorded.

  --out FILE         the document, a file that must not exist yet (default: api.yaml)
  --title TITLE      the title of the document (default: the name of this folder)
  --records FOLDER   builds and runs nothing: reads the records that tests have written there

Ends with 0 when the document is written; with 1 when the build or a test fails; with 2 when there is no
record, the file already exists or cannot be written, or the command line is wrong.
)";

int run_init(const std::vector<std::string>& arguments) {
  Result<Options> options = parse(arguments);
  if (!options) return refuse(options.error());
  if (options->title.empty()) options->title = fs::current_path().filename().string();
  if (options->records.empty()) {
    options->records = record_folder;
    std::error_code error;
    fs::remove_all(record_folder, error);
    if (error) return refuse(Error::text(Code::Internal, std::string(record_folder) + ": " + error.message()));
    if (const std::string path = cmake_prefix_path(); !path.empty()) ::setenv("CMAKE_PREFIX_PATH", path.c_str(), 1);
    for (const auto& [what, command] : steps) {
      std::fprintf(stderr, "keel api: %s in %s\n", what, build_folder);
      if (std::system(command) != 0) {
        std::fprintf(stderr, "keel api: %s has failed: %s\n", what, command);
        return 1;
      }
    }
  }
  Result<std::vector<Record>> records = read_records(options->records);
  if (!records) return refuse(records.error());
  const Result<std::string> document = write_contract(*std::move(records), options->title);
  if (!document) return refuse(document.error());
  std::ofstream file(options->out, std::ios::binary);
  file << *document;
  file.close();
  if (!file) {
    std::error_code ignored;
    fs::remove(options->out, ignored);  // The next run must not find an incomplete file.
    return refuse(Error::text(Code::Internal, options->out + ": cannot be written"));
  }
  std::printf("keel api: %s is written; `keel api lint %s` looks it over\n", options->out.c_str(),
              options->out.c_str());
  return 0;
}

}  // namespace keel::api
