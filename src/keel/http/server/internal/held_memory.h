// keel/http/server/internal/held_memory.h — limits the memory that a worker's connections hold because they wait for
// their clients: responses that the clients have not received yet, and received bytes of requests that are not
// processed yet.
//
// Internal to http. After each of its events, a connection reports how much memory it holds, in whole units of 4 KiB; a
// remainder of less than one unit is part of the normal cost of a connection. Therefore, small responses are not
// counted, nor are large responses that the kernel accepts immediately.
//
// Responses: when their limit is reached, each new response of 4 KiB or more becomes a 503 until there is room again.
//            When half of the limit is used, the connections that hold memory are checked every second. If a response
//            was rejected since the last check, the connections whose clients received least since that check are reset
//            until a quarter of the limit is free. The checks ensure that clients that read slowly delay other
//            clients for at most two seconds, and that the slowest clients are reset first.
//
// Received bytes: when their limit is exceeded, the connections that have held such bytes longest are reset in the next
// event-loop iteration, until an eighth of the limit is free. Received bytes are those of incomplete heads, and those
// of requests that wait for an earlier request, including the bodies of the waiting requests. The body of the request
// in progress is not counted here; if this body is collected, Limits::bodies_bytes_max limits it.
//
// Lifetime: a part of its ServerWorker.
// Threads:  the worker.
// Cost:     none while less than half of the limits is used; otherwise, for each connection that holds a part of a
//           response, one system call and one list entry per second.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "keel/base/member.h"
#include "keel/base/wheel.h"

namespace keel::http {

class Connection;
class ServerWorker;

// The memory that one connection holds, in units of `unit` bytes.
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

  // Call this function when a connection that held `before` now holds `after`.
  void change(const Held& before, const Held& after) noexcept;
  // Whether a response of `bytes` bytes may be sent; if not, it is counted as rejected. If any memory is left, a
  // response is sent even if it exceeds that memory, so that small responses do not starve large ones.
  bool takes_response(std::size_t bytes) noexcept { return bytes < Held::unit || takes_large_response(); }
  // Call this function when no connection holds memory any more.
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
  std::vector<Seen> seen_;     // The connections at the last check, ordered by their addresses in memory.
  bool has_rejected_ = false;  // Whether a response was rejected since connections were last reset.
};

}  // namespace keel::http
