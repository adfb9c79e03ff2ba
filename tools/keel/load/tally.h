// What a run has counted: one for each thread, added up at the end.
//
// A request belongs to the measured time by its beginning: the intended one in an open loop, the sending in a closed
// one. A request without a response is an error and counts in the latencies with the time that it has waited: leaving
// those out that took too long would be the mistake that this tool exists to avoid.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "keel/base/time.h"
#include "load/histogram.h"

namespace keel::load {

enum class Failure : std::uint8_t {
  Connect,     // No connection was to be had; not a request's, but as often as it was tried.
  Reset,       // The connection was reset while a response was awaited.
  Closed,      // The connection ended before the first byte of a response.
  Short,       // The connection ended within a response.
  Timeout,     // No whole answer in time.
  Protocol,    // What came is not a response, or one to nothing.
  Status,      // Not the status that was expected.
  Body,        // Not the body that was expected.
  Unanswered,  // The run was over: cut off while waiting for a response, or for a connection to be sent on.
};
inline constexpr std::size_t failure_count = 9;
std::string_view to_string(Failure failure) noexcept;

struct Second {
  std::uint64_t answers = 0;
  std::uint64_t errors = 0;
  std::int64_t latency_max_ns = 0;
};

struct Tally {
  std::uint64_t due = 0;        // Requests whose beginning lay in the measured time.
  std::uint64_t answers = 0;    // To them: whole, whether as expected or not.
  std::uint64_t completed = 0;  // Answers that came within the measured time, to whatever request.
  std::uint64_t waiting = 0;    // Of `latency`: those without a response, with the time that they had waited.
  std::array<std::uint64_t, 6> by_class = {};     // Answers by the status code's first digit.
  std::array<std::uint64_t, 600> by_status = {};  // All answers by status code, those of the warm-up too.
  std::array<std::uint64_t, failure_count> failures = {};
  std::uint64_t connections = 0;  // Opened, in all.
  std::uint64_t bytes_sent = 0;   // In all.
  std::uint64_t bytes_received = 0;
  Histogram latency;            // From the intended beginning in an open loop, from the sending in a closed one.
  Histogram service;            // From the sending.
  Histogram other_status;       // As `latency`, of the answers whose status was not as expected.
  std::vector<Second> seconds;  // Of the measured time, by the time of the answer.

  void add(const Tally& other);
  std::uint64_t errors() const noexcept;
};

}  // namespace keel::load
