// keel/http/server/internal/held_memory.h — the memory of a worker's connections that waits for their clients:
// responses that they have not received yet, and received bytes of requests that are not processed yet.
//
// Internal to http. After each of its events, a connection reports how much memory it holds, in units of 4 KiB; less
// than one unit counts as part of the normal cost of a connection. A small response, or a large one that the kernel
// takes immediately, is therefore not counted.
//
// Responses: when their limit is reached, a new response that is not small becomes a 503 until there is room again.
// When half of the limit is used, the connections that hold memory are checked every second; if responses had to be
// rejected since then, the connections whose clients received least in that second are reset until a quarter is free. A
// client that reads slowly delays others for at most two seconds, and the slowest clients are reset first.
//
// Received bytes: when their limit is reached, the connections that have held such bytes longest are reset in
// the next event-loop iteration, until an eighth is free. A request whose head is complete does not count as waiting.
//
// Lifetime: a part of its ServerWorker.
// Threads:  the worker.
// Cost:     none below half of the limits; above that, one system call and one record per second for each connection
//           that holds a part of a response.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "keel/base/member.h"
#include "keel/base/wheel.h"

namespace keel::http {

class Connection;
class ServerWorker;

// The memory that one connection holds, in units.
struct Held {
  static constexpr std::size_t unit = 4096;
  static constexpr std::size_t units_max = 0xffff;

  std::uint16_t responses = 0;
  std::uint16_t received = 0;
  bool operator==(const Held&) const = default;

  static std::uint16_t units(std::size_t bytes) noexcept {
    return static_cast<std::uint16_t>(bytes / unit < units_max ? bytes / unit : units_max);
  }
};

class HeldMemory {
 public:
  explicit HeldMemory(ServerWorker& worker) noexcept : worker_(worker) {}

  // A connection holds `after` instead of `before`.
  void change(const Held& before, const Held& after) noexcept;
  // Whether a response of this many bytes may be sent; if not, it is counted as rejected. A response that exceeds the
  // remaining memory is still sent, so that small responses do not starve large ones.
  bool takes_response(std::size_t bytes) noexcept { return bytes < Held::unit || takes_large_response(); }
  // Called when no connection holds memory any longer.
  void end() noexcept;

 private:
  struct Seen {
    Connection* connection;
    std::uint64_t taken;
  };
  bool takes_large_response() noexcept;
  void look();
  void end_slowest(const std::vector<Seen>& before);
  void end_oldest();

  ServerWorker& worker_;
  Member<Timer, HeldMemory, &HeldMemory::look> timer_{*this};
  Member<Timer, HeldMemory, &HeldMemory::end_oldest> relief_{*this};
  std::vector<Seen> seen_;     // The connections at the last check, ordered by address.
  bool has_rejected_ = false;  // A response was rejected since connections were last reset.
};

}  // namespace keel::http
