// keel/telemetry/process.h — the resources that this process uses: CPU, memory, descriptors.
//
// ProcessMetrics registers process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes,
// process_open_fds, process_max_fds and process_start_time_seconds (the names that Prometheus clients agree on), which
// are read at each scrape, and unhandled_errors_total (observe/unhandled.h).
//
// Errors:   a value is 0 if its file in /proc cannot be read.
// Lifetime: the registry outlives the ProcessMetrics.
// Threads:  any.
// Cost:     some system calls at each scrape, otherwise nothing.
// Source:   proc(5), getrusage(2).

#pragma once

#include <cstdint>
#include <vector>

#include "keel/observe/metric.h"

namespace keel::telemetry {

class ProcessMetrics {
 public:
  explicit ProcessMetrics(metrics::Registry& registry);

 private:
  std::vector<metrics::GaugeFunction> functions_;
};

// User and system time of all threads.
double process_cpu_seconds() noexcept;
double process_resident_bytes();
double process_virtual_bytes();
double process_open_descriptors();
// The soft limit of open descriptors.
double process_descriptors_max() noexcept;
// Raises the soft limit of descriptors to the hard limit; returns the resulting limit (getrlimit(2)).
std::uint64_t raise_descriptor_limit() noexcept;
// Start time of the process, in seconds since 1970.
double process_start_seconds();

}  // namespace keel::telemetry
