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

#include "keel/base/check.h"
#include "keel/config/config.h"
#include "keel/config/reloadable.h"

using namespace keel;

namespace {

enum class Colour { Red, Blue };
constexpr auto colour_names = config::names<Colour>({{"red", Colour::Red}, {"blue", Colour::Blue}});

struct Sink {
  std::string path = "out.log";
  Colour colour = Colour::Red;
  void fields(config::Schema& v) {
    config::field(v, "path", path, "where it goes");
    config::field(v, "colour", colour, "how it looks", colour_names);
  }
};

struct Http {
  std::uint16_t port = 8080;
  bool keep_alive = true;
  Duration timeout = 30_s;
  config::ByteSize body = config::ByteSize::mib(1);
  std::vector<std::string> proxies;
  void fields(config::Schema& v) {
    config::field(v, "port", port, "where it listens").reloadable();
    config::field(v, "keep_alive", keep_alive, "between requests");
    config::field(v, "timeout_sec", timeout, "for a request", {1_ms, 1_h}).reloadable();
    config::field(v, "max_body", body, "of a request").reloadable();
    config::field(v, "proxies", proxies, "who is believed");
  }
};

// A field of every type, some of which a reload changes.
struct Service {
  Http http;
  double rate = 1;
  std::int64_t offset = -5;
  config::Secret password;
  Duration stall = 200_ms;
  std::vector<Sink> sinks = std::vector<Sink>(1);
  void fields(config::Schema& v) {
    config::field(v, "http", http, "the server");
    config::field(v, "rate", rate, "of what is sampled", {0, 1});
    config::field(v, "offset", offset, "of the clock");
    config::field(v, "password", password, "of the store");
    config::field(v, "stall_ms", stall, "of a worker").reloadable();
    config::field(v, "sinks", sinks, "where lines go").reloadable();
  }
  void check(config::Checks& checks) const {
    if (sinks.size() > 9) checks.refuse("sinks", "are too many");
  }
};

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
  static const File file;
  const std::uint8_t* const end = data + size;
  const std::uint8_t* const zero = std::find(data, end, std::uint8_t{0});
  size = static_cast<std::size_t>(zero - data);
  file.write(data, size);
  const char* const none[] = {nullptr};
  config::Origins origins;
  const config::Sources sources = {.file = file.name, .environment = none, .origins = &origins};
  const Result<Service> loaded = config::load<Service>(sources);
  if (!loaded) return 0;

  if (zero != end) {
    auto config = config::Reloadable<Service>::load(sources).value();
    const Service& before = *config;
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
  const Result<Service> again = config::load<Service>(sources);
  KEEL_CHECK(again.is_ok(), "what describe() prints loads again");
  KEEL_CHECK(config::describe(*again, config::Origins()) == described, "and is the same");
  return 0;
}
