// The counts of a run: one object for each thread, added up at the end.
//
// A request belongs to the measured time if it began in it. In an open loop a request begins at its intended time, in a
// closed loop when it is sent. A request without a response is an error, and counts in the latencies with the time that
// it has waited: leaving out requests that took too long is exactly the mistake that this tool is meant to avoid.

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
  Connect,     // No connection could be made; counted for each attempt, not for each request.
  Reset,       // The connection was reset before the response came.
  Closed,      // The connection ended before the first byte of a response.
  Short,       // The connection ended within a response.
  Timeout,     // No complete response in time.
  Protocol,    // The received bytes are not a response, or there was no request for it.
  Status,      // The response has another status than expected.
  Body,        // The response has another body than expected.
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
  std::uint64_t due = 0;        // Requests that began in the measured time.
  std::uint64_t responses = 0;  // Complete responses to these requests, whether they were as expected or not.
  std::uint64_t completed = 0;  // Responses that came within the measured time, to any request.
  // How many entries of `latency` are requests without a response; they count with the time that they had waited.
  std::uint64_t waiting = 0;
  std::array<std::uint64_t, 6> by_class = {};     // Responses by the first digit of the status code.
  std::array<std::uint64_t, 600> by_status = {};  // All responses by status code, including those of the warm-up.
  std::array<std::uint64_t, failure_count> failures = {};
  std::string reason;  // Why the first connection failed: "receive: Connection reset by peer". Empty: none did.
  std::uint64_t connections = 0;  // The number opened, in total.
  std::uint64_t bytes_sent = 0;   // In total.
  std::uint64_t bytes_received = 0;
  // Measured from the intended beginning in an open loop, and from the sending in a closed one.
  Histogram latency;
  Histogram service;            // From the sending.
  Histogram other_status;       // The same as `latency`, for responses with an unexpected status.
  std::vector<Second> seconds;  // One entry for each second of the measured time, by the time of the response.

  void add(const Counts& other);
  std::uint64_t errors() const noexcept;
};

}  // namespace keel::load
