#include "keel/io/testing/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "keel/io/testing/internal/seeded.h"

namespace keel::sim {
namespace {

constexpr const char* fault_names[] = {"reset",      "vanish",  "accept_failure", "short_delivery",
                                       "long_delay", "stall",   "clock_jump",     "loss",
                                       "duplicate",  "reorder", "no_room"};

Result<Fault> parse_fault(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  const auto name = std::ranges::find(fault_names, text.substr(0, first));
  Fault fault;
  const auto number = [](std::string_view digits, std::uint64_t& into) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (first == text.npos || second == text.npos || name == std::end(fault_names) ||
      !number(text.substr(first + 1, second - first - 1), fault.whom) || !number(text.substr(second + 1), fault.nth)) {
    return Error::text(Code::InvalidArgument, "expected a fault such as reset:3:0, not " + std::string(text));
  }
  fault.kind = static_cast<FaultKind>(name - fault_names);
  return fault;
}

}  // namespace

std::string to_string(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) {
    fmt::format_to(std::back_inserter(text), "{}{}:{}:{}", text.empty() ? "" : ",",
                   fault_names[static_cast<int>(fault.kind)], fault.whom, fault.nth);
  }
  return text;
}

Result<std::vector<Fault>> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    KEEL_TRY(const Fault fault, parse_fault(text.substr(0, comma)));
    faults.push_back(fault);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return faults;
}

SimOptions SimOptions::faulty(std::uint64_t seed) {
  Random random{mix(seed ^ 0x6b65656c)};
  const auto some = [&](double most) {
    return random.chance(0.25) ? 0.0 : most * static_cast<double>(random.below(1000) + 1) / 1000;
  };
  SimOptions options;
  options.seed = seed;
  options.latency_max = random.between(100_us, 5_ms);
  options.buffer_bytes = static_cast<std::uint32_t>(4096u << random.below(7));
  options.instant_send = static_cast<double>(random.below(101)) / 100;
  options.reset = some(0.1);
  options.vanish = some(0.03);
  options.accept_failure = some(0.1);
  options.short_delivery = some(0.2);
  options.long_delay = some(0.02);
  options.stall = some(0.005);
  options.clock_jump = some(0.02);
  options.loss = some(0.1);
  options.duplicate = some(0.1);
  options.reorder = some(0.2);
  options.no_room = some(0.02);
  return options;
}

std::string SimOptions::to_string() const {
  return fmt::format(
      "seed={} latency={}..{}us buffer={} instant_send={} reset={} vanish={} accept_failure={} short_delivery={} "
      "long_delay={} stall={} clock_jump={} loss={} duplicate={} reorder={} no_room={}{}",
      seed, latency_min.count_us(), latency_max.count_us(), buffer_bytes, instant_send, reset, vanish, accept_failure,
      short_delivery, long_delay, stall, clock_jump, loss, duplicate, reorder, no_room,
      only ? " only=" + sim::to_string(*only) : "");
}

}  // namespace keel::sim
