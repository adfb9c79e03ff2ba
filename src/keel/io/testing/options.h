// keel/io/testing/options.h — the delays and faults of a simulation.
//
//   sim::SimOptions options = sim::SimOptions::faulty(seed);
//   options.only = *sim::parse_faults("reset:3:0,stall:1:44");  // as a failed run has reported them
//
// Threads: values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/result.h"
#include "keel/base/time.h"

namespace keel::sim {

// The kinds of faults.
enum class FaultKind : std::uint8_t {
  Reset,
  Vanish,
  AcceptFailure,
  ShortDelivery,
  LongDelay,
  Stall,
  ClockJump,
  Loss,
  Duplicate,
  Reorder,
  NoRoom
};

// Identifies one fault: its kind, its target (a connection, one direction of it, a listener, a loop, a socket that
// sends datagrams), and the number of the opportunity at which it strikes. The seed, the kind, the target and the
// number alone determine whether and how the fault strikes, so one fault can be left out without changing the others.
// As text: "reset:3:0".
struct Fault {
  FaultKind kind = FaultKind::Reset;
  std::uint64_t whom = 0;
  std::uint64_t nth = 0;
  bool operator==(const Fault&) const = default;
};
std::string to_string(const std::vector<Fault>& faults);         // "reset:3:0,stall:1:44"
Result<std::vector<Fault>> parse_faults(std::string_view text);  // InvalidArgument: the text does not have that form.

// Seed, delays and faults of a simulation.
struct SimOptions {
  std::uint64_t seed = 1;
  Duration latency_min = 20_us;  // Bounds of the delay of a packet (one way) or of a file operation.
  Duration latency_max = 1_ms;
  // The maximum number of unread bytes per direction; a sender waits when this number is reached.
  std::uint32_t buffer_bytes = 256 * 1024;
  // The probability that a Send completes inside submit() if there is room for all of its bytes.
  double instant_send = 0.5;
  std::uint32_t trace_bytes_max = 0;  // The number of bytes at the end of the trace that are kept as text.

  // The probabilities of faults; all are 0 by default.
  // The probability that both ends of a connection are reset, at a random moment within the connection's first second.
  double reset = 0;
  // The probability that, from a random moment on, a connection delivers nothing more and reports no error.
  double vanish = 0;
  double accept_failure = 0;  // The probability that an Accept ends with EMFILE; the connection stays queued.
  double short_delivery = 0;  // The probability that a delivery has only one byte.
  // The probability that a packet or an operation on a file has an additional delay of up to 2 s.
  double long_delay = 0;
  double stall = 0;  // The probability that, in an iteration, the loop is not scheduled for up to 300 ms.
  // The probability that, at a jump of virtual time, the calendar moves forward or back by up to an hour.
  double clock_jump = 0;
  double loss = 0;       // The probability that a UDP datagram does not arrive.
  double duplicate = 0;  // The probability that a UDP datagram arrives twice, the second time up to 20 ms later.
  // The probability that a UDP datagram arrives up to 20 ms later, without a delay for the datagrams after it.
  double reorder = 0;
  // The probability that the sender of a UDP datagram gets ENOBUFS, as if the system had no memory.
  double no_room = 0;
  // If set, only the faults in this list strike (shrink.h).
  std::optional<std::vector<Fault>> only = {};

  // Returns a mix of faults that depends only on `seed`; each kind of fault is off with a probability of about a
  // quarter.
  static SimOptions faulty(std::uint64_t seed);
  // "seed=7 latency=20..1000us buffer=262144 reset=0.0310 …": every field that changes a run.
  std::string to_string() const;
};

// How often each fault has struck.
struct FaultCounts {
  std::uint64_t resets = 0;
  std::uint64_t vanished = 0;
  std::uint64_t accept_failures = 0;
  std::uint64_t short_deliveries = 0;
  std::uint64_t long_delays = 0;
  std::uint64_t stalls = 0;
  std::uint64_t clock_jumps = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t without_room = 0;
};

}  // namespace keel::sim
