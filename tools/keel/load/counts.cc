#include "load/counts.h"

#include <algorithm>
#include <numeric>

namespace keel::load {

std::string_view to_string(Failure failure) noexcept {
  constexpr std::string_view names[failure_count] = {"connect",  "reset",  "closed", "short",     "timeout",
                                                     "protocol", "status", "body",   "unanswered"};
  return names[static_cast<std::size_t>(failure)];
}

void Counts::add(const Counts& other) {
  due += other.due;
  responses += other.responses;
  completed += other.completed;
  waiting += other.waiting;
  for (std::size_t i = 0; i < by_class.size(); ++i) by_class[i] += other.by_class[i];
  for (std::size_t i = 0; i < by_status.size(); ++i) by_status[i] += other.by_status[i];
  for (std::size_t i = 0; i < failures.size(); ++i) failures[i] += other.failures[i];
  if (reason.empty()) reason = other.reason;
  connections += other.connections;
  bytes_sent += other.bytes_sent;
  bytes_received += other.bytes_received;
  latency.add(other.latency);
  service.add(other.service);
  other_status.add(other.other_status);
  seconds.resize(std::max(seconds.size(), other.seconds.size()));
  for (std::size_t i = 0; i < other.seconds.size(); ++i) {
    seconds[i].responses += other.seconds[i].responses;
    seconds[i].errors += other.seconds[i].errors;
    seconds[i].latency_max_ns = std::max(seconds[i].latency_max_ns, other.seconds[i].latency_max_ns);
  }
}

std::uint64_t Counts::errors() const noexcept {
  return std::accumulate(failures.begin(), failures.end(), std::uint64_t{0});
}

}  // namespace keel::load
