#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "keel/io/testing/internal/world.h"

namespace keel::sim {
namespace {

// The first instant is never zero, because zero means "do not wait" to the loop.
constexpr Duration first_instant = 1_s;

}  // namespace

World::World(const SimOptions& o) : options(o), random{mix(o.seed)}, now(Instant() + first_instant) {}

void World::trace_line(fmt::string_view format, fmt::format_args arguments) {
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), "{} ", now.ns());
  fmt::vformat_to(std::back_inserter(line), format, arguments);
  line.push_back('\n');
  keep({line.data(), line.size()});
}

void World::keep(std::string_view line) {
  hash = hash_bytes(hash, line);
  if (options.trace_bytes_max == 0) return;
  text.append(line);
  if (text.size() > 2 * std::size_t{options.trace_bytes_max}) text.erase(0, text.size() - options.trace_bytes_max);
}

void World::run_due() {
  while (!events.empty() && events.begin()->first.first <= now) {
    const Function<void()> what = std::move(events.begin()->second);
    events.erase(events.begin());
    what();
  }
}

std::optional<Random> World::strikes(double probability, FaultKind kind, std::uint64_t whom, std::uint64_t nth) {
  if (probability <= 0) return std::nullopt;
  const std::uint64_t name = mix(mix((std::uint64_t{1} << 56) * (1 + static_cast<std::uint64_t>(kind)) + whom) ^ nth);
  Random how{mix(options.seed) ^ name};
  if (!how.chance(probability)) return std::nullopt;
  const Fault fault{kind, whom, nth};
  if (options.only && std::ranges::find(*options.only, fault) == options.only->end()) return std::nullopt;
  struck.push_back(fault);
  return how;
}

Duration World::latency(std::uint64_t whom, std::uint64_t nth) {
  const Duration delay = random.between(options.latency_min, options.latency_max);
  auto late = strikes(options.long_delay, FaultKind::LongDelay, whom, nth);
  if (!late) return delay;
  ++faults.long_delays;
  return delay + late->between(1_ms, 2_s);
}

}  // namespace keel::sim
