// Any bytes as a configuration file: never a crash, and what loads is described and loads again to the same. Bytes
// behind a zero byte are the file that a reload finds: it changes everything it may or nothing, and a second reload
// nothing.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "keel/app/reloadable.h"
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
  const std::uint8_t* const end = data + size;
  const std::uint8_t* const zero = std::find(data, end, std::uint8_t{0});
  size = static_cast<std::size_t>(zero - data);
  file.write(data, size);
  const char* const none[] = {nullptr};
  config::Origins origins;
  const config::Sources sources = {.file = file.name, .environment = none, .origins = &origins};
  const Result<app::Settings> loaded = config::load<app::Settings>(sources);
  if (!loaded) return 0;

  if (zero != end) {
    auto config = config::Reloadable<app::Settings>::load(sources).value();
    const app::Settings& before = *config;
    const std::string described = config.describe();
    file.write(zero + 1, static_cast<std::size_t>(end - zero - 1));
    const auto is_applied = [](const config::Change& change) { return change.is_applied; };
    if (const auto changes = config.reload()) {
      const std::string now = config.describe();
      const auto again = config.reload();
      KEEL_CHECK(again.is_ok(), "the same file loads again");
      KEEL_CHECK(std::none_of(again->begin(), again->end(), is_applied), "a second reload changes nothing");
      KEEL_CHECK(config.describe() == now, "and is the same");
    } else {
      KEEL_CHECK(&*config == &before && config.describe() == described, "a mistake changes nothing");
    }
  }
  const std::string described = config::describe(*loaded, config::Origins());
  file.write(described.data(), described.size());
  const Result<app::Settings> again = config::load<app::Settings>(sources);
  KEEL_CHECK(again.is_ok(), "what describe() prints loads again");
  KEEL_CHECK(config::describe(*again, config::Origins()) == described, "and is the same");
  return 0;
}
