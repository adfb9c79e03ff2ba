// The events of a simulation: virtual time, their order by the seed, faults and the trace.

#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/io/testing/internal/seeded.h"
#include "keel/io/testing/options.h"

namespace keel::sim {

struct World {
  explicit World(const SimOptions& o);

  template <class... A>
  void trace(fmt::format_string<A...> format, A&&... arguments) {
    trace_line(format, fmt::make_format_args(arguments...));
  }

  void trace_line(fmt::string_view format, fmt::format_args arguments);

  void at(Instant when, Function<void()> what) { events.emplace(std::pair(when, sequence++), std::move(what)); }
  void run_due();
  Instant next_event() const { return events.empty() ? Instant::never() : events.begin()->first.first; }

  // If this fault strikes, returns random numbers for the details of the fault; otherwise returns nullopt.
  std::optional<Random> strikes(double probability, FaultKind kind, std::uint64_t whom, std::uint64_t nth);
  Duration latency(std::uint64_t whom, std::uint64_t nth);
  // The latency of packets without a connection, and of file operations.
  Duration latency() { return latency(0, handshakes++); }

  const SimOptions options;
  Random random;
  Instant now;
  FaultCounts faults;
  std::vector<Fault> struck;
  std::uint64_t hash = 0;
  std::string text;            // The last part of the trace.
  std::uint64_t sequence = 0;  // The number of events so far.
  std::uint64_t handshakes = 0;
  std::map<std::pair<Instant, std::uint64_t>, Function<void()>> events;

 private:
  void keep(std::string_view line);
};

}  // namespace keel::sim
