// keel/http/middleware/rate_limit.h — how many requests a client may make in a time: a token bucket for each.
//
//   http::RateLimit limit({.requests = 100, .per = 1_min});                    // by address
//   http::RateLimit by_key({.requests = 10, .per = 1_s, .header = "X-Api-Key"});
//   router.group("/api").use(limit).get(…);
//
// A client may make `requests` at once, and is given new ones evenly within `per`. Above it: 429 with Retry-After, when
// the head has arrived: the request's body is not received. Every answer says how much is left, as RateLimit-Policy and
// RateLimit (draft-ietf-httpapi-ratelimit- headers): "default";q=100;w=60 and "default";r=42;t=35 (t: until all is
// there again).
//
// The address is Request::client_address(): behind trusted proxies the client's, as they tell it. An IPv6 client is its
// /64, which one household has; clients of a Unix socket are one. By a header: whoever has the
// secret of a key, or a proxy that writes the field, decides who is who; a client that may write it as it likes is not
// limited by it. Without the field, the address.
//
// Each worker counts for itself: what one client has over several connections may be up to `workers` times as much. The
// table is of fixed size (token_buckets.h): with more clients than `clients_max` at once, those that took least are
// forgotten.
//
// Threads: one object for all workers; each has a table of its own, made when it first counts.
// Cost:    a keyed hash and two cache lines; by address also a getpeername. 16 bytes of memory per client and worker.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "keel/base/time.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/io/address.h"

namespace keel::http {

struct RateLimitOptions {
  std::uint32_t requests = 100;           // At least 1.
  Duration per = Duration::seconds(60);   // At least a second.
  std::string header = {};                // The request field that names the client; empty: its address does.
  std::uint32_t clients_max = 16 * 1024;  // Remembered by each worker.
  std::string name = "default";           // Of the policy, where several stand around a route: letters and digits.
};

class RateLimit {
 public:
  // Options out of their range are a bug and abort.
  explicit RateLimit(RateLimitOptions options);
  RateLimit(RateLimit&&) noexcept;
  ~RateLimit();

  std::optional<Response> before(Request& request) const;
  void after(Request& request, Response& response) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::http
