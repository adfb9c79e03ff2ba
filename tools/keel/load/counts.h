// The counts of a run: each thread has its own object, and the objects are added up at the end.
//
// A request belongs to the measured time if it began in that time. In an open loop a request begins at its intended
// time; in a closed loop it begins when it is sent. A request without a response is an error, and its waiting time
// counts as a latency: leaving out requests that took too long is exactly the mistake that this tool is meant to avoid.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/time.h"
#include "load/histogram.h"

namespace keel::load {

enum class Failure : std::uint8_t {
  Connect,     // A connection could not be opened; counted for each attempt, not for each request.
  Reset,       // The connection was reset before the complete response arrived.
  Closed,      // The connection ended before the first byte of a response.
  Short,       // The connection ended within a response.
  Timeout,     // No complete response arrived within the timeout.
  Protocol,    // The received bytes are not a valid response, or no request was outstanding.
  Status,      // The response does not have the expected status.
  Body,        // The response does not have the expected body.
  Unanswered,  // The run ended while the request waited for a response or for a connection.
};
inline constexpr std::size_t failure_count = 9;
std::string_view to_string(Failure failure) noexcept;

struct Second {
  std::uint64_t responses = 0;
  std::uint64_t errors = 0;
  std::int64_t latency_max_ns = 0;
};

struct Counts {
  std::uint64_t due = 0;  // The number of requests that began in the measured time.
  // The number of complete responses to the requests in `due`, whether as expected or not.
  std::uint64_t responses = 0;
  std::uint64_t completed = 0;  // The number of responses that arrived within the measured time, to any request.
  // The number of entries in `latency` that are the waiting times of requests without a response.
  std::uint64_t waiting = 0;
  std::array<std::uint64_t, 6> by_class = {};     // `responses` by the first digit of the status code.
  std::array<std::uint64_t, 600> by_status = {};  // All responses by status code, including those of the warm-up.
  std::array<std::uint64_t, failure_count> failures = {};
  // The reason why the first failed connection failed; "" if no connection failed.
  std::string reason;
  std::uint64_t connections = 0;  // The number of connections opened during the whole run.
  std::uint64_t bytes_sent = 0;   // In total.
  std::uint64_t bytes_received = 0;
  // Latency is measured from a request's intended time in an open loop, and from the time when the request was sent in
  // a closed loop.
  Histogram latency;
  Histogram service;       // Latency from the time when the request was sent.
  Histogram other_status;  // Like `latency`, but only for responses with an unexpected status.
  // One entry for each second of the measured time, in which responses count at the time when they arrived.
  std::vector<Second> seconds;

  void add(const Counts& other);
  std::uint64_t errors() const noexcept;
};

}  // namespace keel::load
