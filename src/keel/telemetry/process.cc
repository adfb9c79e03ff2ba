#include "keel/telemetry/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "keel/observe/unhandled.h"

namespace keel::telemetry {
namespace {

std::string read_file(const char* path) {
  std::string text;
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return text;
  char block[4096];
  ssize_t n = 0;
  while ((n = ::read(descriptor, block, sizeof block)) > 0) text.append(block, static_cast<std::size_t>(n));
  ::close(descriptor);
  return text;
}

// Returns the integer at the beginning of field `index` (counted from 0) of `text`, whose fields are separated by
// single spaces; returns 0 if the field does not begin with an integer.
double number_at(std::string_view text, int index) noexcept {
  for (; index > 0; --index) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return 0;
    text.remove_prefix(space + 1);
  }
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return static_cast<double>(number);
}

double page_bytes() noexcept { return static_cast<double>(sysconf(_SC_PAGESIZE)); }

}  // namespace

double process_cpu_seconds() noexcept {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

double process_virtual_bytes() { return number_at(read_file("/proc/self/statm"), 0) * page_bytes(); }
double process_resident_bytes() { return number_at(read_file("/proc/self/statm"), 1) * page_bytes(); }

double process_open_descriptors() {
  DIR* const directory = opendir("/proc/self/fd");
  if (directory == nullptr) return 0;
  int count = -1;  // The descriptor of `directory` itself is not counted.
  while (const dirent* entry = readdir(directory)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(directory);
  return count;
}

double process_descriptors_max() noexcept {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

std::uint64_t raise_descriptor_limit() noexcept {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

double process_start_seconds() {
  // Field 2, the name of the command in parentheses, may contain any characters, so field 22 is counted from the end of
  // field 2.
  const std::string stat = read_file("/proc/self/stat");
  const std::size_t behind_name = stat.rfind(')');
  const std::string boot = read_file("/proc/stat");
  const std::size_t boot_time = boot.find("btime ");
  if (behind_name == std::string::npos || boot_time == std::string::npos) return 0;
  const double ticks = number_at(std::string_view(stat).substr(behind_name), 20);
  return number_at(std::string_view(boot).substr(boot_time), 1) + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

ProcessMetrics::ProcessMetrics(metrics::Registry& registry) {
  functions_.push_back(registry.counter("process_cpu_seconds_total", "User and system CPU time used by all threads", {},
                                        [] { return process_cpu_seconds(); }));
  functions_.push_back(
      registry.gauge("process_resident_memory_bytes", "Resident memory", {}, [] { return process_resident_bytes(); }));
  functions_.push_back(
      registry.gauge("process_virtual_memory_bytes", "Virtual memory", {}, [] { return process_virtual_bytes(); }));
  functions_.push_back(
      registry.gauge("process_open_fds", "Open file descriptors", {}, [] { return process_open_descriptors(); }));
  functions_.push_back(registry.gauge("process_max_fds", "Limit of open file descriptors", {},
                                      [] { return process_descriptors_max(); }));
  functions_.push_back(registry.gauge("process_start_time_seconds", "Start time of the process", {},
                                      [began = process_start_seconds()] { return began; }));
  functions_.push_back(registry.counter(
      "unhandled_errors_total",
      "Bugs and exceptions that no caller could receive; each is logged with the component \"unhandled\"", {},
      [] { return static_cast<double>(unhandled_errors()); }));
}

}  // namespace keel::telemetry
