#include "keel/http/server/stages.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace keel::http {

Stages::Stages(std::size_t routes, std::uint32_t every)
    : tallies_(std::make_unique<SingleWriterCounter[]>(routes * (stage_count + 2))), every_(every), left_(every) {}

void Stages::add(std::size_t route, const StageClock& clock) noexcept {
  SingleWriterCounter* const tallies = of_route(route);
  for (int i = 0; i < stage_count; ++i) {
    const std::int64_t ns = clock.of(static_cast<Stage>(i)).count_ns();
    if (ns > 0) tallies[i].add(static_cast<std::uint64_t>(ns));
  }
  tallies[stage_count].add();
}

void Stages::add_write(std::size_t route, Duration took) noexcept {
  SingleWriterCounter* const tallies = of_route(route);
  tallies[static_cast<int>(stage::write)].add(static_cast<std::uint64_t>(std::max<std::int64_t>(took.count_ns(), 0)));
  tallies[stage_count + 1].add();
}

Duration RouteStages::mean(Stage stage) const noexcept {
  const std::uint64_t count = stage == stage::write ? written : measured;
  return count == 0 ? Duration() : of[static_cast<int>(stage)] / static_cast<std::int64_t>(count);
}

void write_server_timing(Buffer& out, const StageClock& clock) {
  bool first = true;
  for (int i = 0; i < stage_count; ++i) {
    const auto stage = static_cast<Stage>(i);
    const std::int64_t ns = clock.of(stage).count_ns();
    if (ns <= 0) continue;
    if (!std::exchange(first, false)) out.append(", ");
    out.append(to_string(stage));
    out.append(";dur=");
    char digits[32];
    const auto end =
        std::to_chars(digits, digits + sizeof digits, static_cast<double>(ns) * 1e-6, std::chars_format::fixed, 6);
    // Nanoseconds need six decimal places; trailing zeros are dropped.
    char* last = end.ptr;
    while (last[-1] == '0') --last;
    if (last[-1] == '.') --last;
    out.append({digits, static_cast<std::size_t>(last - digits)});
  }
}

}  // namespace keel::http
