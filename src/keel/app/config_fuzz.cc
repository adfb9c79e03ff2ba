// Any bytes as a configuration file: never a crash, and what loads is described and loads again to the same.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "keel/app/settings.h"
#include "keel/base/check.h"

namespace {

struct File {
  File() : fd(memfd_create("config", MFD_CLOEXEC)), name("/proc/self/fd/" + std::to_string(fd)) {}
  void write(const void* data, std::size_t size) const {
    KEEL_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == static_cast<ssize_t>(size), "the file is written");
  }
  int fd;
  std::string name;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  static const File file;
  file.write(data, size);
  const char* const none[] = {nullptr};
  config::Origins origins;
  const config::Sources sources = {.file = file.name, .environment = none, .origins = &origins};
  const Result<app::Settings> loaded = config::load<app::Settings>(sources);
  if (!loaded) return 0;

  const std::string described = config::describe(*loaded, config::Origins());
  file.write(described.data(), described.size());
  const Result<app::Settings> again = config::load<app::Settings>(sources);
  KEEL_CHECK(again.is_ok(), "what describe() prints loads again");
  KEEL_CHECK(config::describe(*again, config::Origins()) == described, "and is the same");
  return 0;
}
