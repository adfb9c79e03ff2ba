#include "keel/observe/unhandled.h"

#include <unistd.h>

#include <atomic>
#include <string>

#include "keel/base/printable.h"
#include "keel/observe/failure.h"
#include "keel/observe/log_ring.h"

namespace keel {
namespace {

std::atomic<std::uint64_t> reported = 0;

void print(std::string_view what, const Error& error) {
  std::string line = "error: " + std::string(what) + ": " + printable(error.describe());
  if (const std::string places = error.describe_places(); !places.empty()) line += " (" + places + ")";
  line += '\n';
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void report_unhandled(log::Message what, const Error& error) noexcept {
  reported.fetch_add(1, std::memory_order_relaxed);
  try {
    if (!log::is_recorded || !log::is_read()) return print(what.view(), error);
    static const log::Logger log("unhandled");
    log::Failure(error).log(log, what);
  } catch (...) {  // If there is no memory for a log line, the failure is at least counted.
  }
}

std::uint64_t unhandled_errors() noexcept { return reported.load(std::memory_order_relaxed); }

}  // namespace keel
