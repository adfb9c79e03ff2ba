// keel/http/server/internal/held_memory.h — the memory of a worker's connections that waits for their clients:
// responses that they have not taken, and bytes that were received of requests and not processed.
//
// Internal to http. A connection tells, after each of its events, how much it holds in units of 4 KiB; less than one is
// a part of what every connection costs. So a small response, or a large one that the kernel takes immediately, is not
// counted at all.
//
// Responses: once they hold as much as they may, a new one that is not small becomes a 503 until there is room again.
// When half of the limit is used, the connections that hold memory are checked every second; where responses had to be
// rejected since, those whose clients took least in that second are reset until a quarter is free. A client that reads
// slowly holds up others for two seconds at most, and the client that is reset has read slowest.
//
// Received bytes: once they hold as much as they may, the connections that have waited longest with some are reset in
// the next event-loop iteration, until an eighth is free. A request whose head has come whole does not wait.
//
// Lifetime: a part of its ServerWorker.  Threads: the worker.
// Cost:     no system call and no memory below half of the bounds; from there on one of each for a connection that
//           holds some of a response, every second.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "keel/base/member.h"
#include "keel/base/wheel.h"

namespace keel::http {

class Connection;
class ServerWorker;

// What one connection holds, in units.
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
  // Whether a response of this many bytes may be sent; else it is counted as rejected. The one that passes the bound is
  // sent: large responses are not starved by small ones.
  bool takes_response(std::size_t bytes) noexcept { return bytes < Held::unit || takes_large_response(); }
  // No connection holds anything any more.
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
  std::vector<Seen> seen_;     // At the last look, by address.
  bool has_rejected_ = false;  // Since somebody was reset.
};

}  // namespace keel::http
