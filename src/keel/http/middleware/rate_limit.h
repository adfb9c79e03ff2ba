// keel/http/middleware/rate_limit.h — limits the requests of each client per time, with a token bucket for each.
//
//   http::RateLimit limit({.requests = 100, .per = 1_min});                    // by address
//   http::RateLimit by_key({.requests = 10, .per = 1_s, .header = "X-Api-Key"});
//   router.group("/api").use(limit).get(…);
//
// A client may make `requests` in a burst; its bucket is refilled evenly, with `requests` in each `per`. A request
// above the limit gets 429 with Retry-After as soon as its head has arrived; its body is not received. Every response
// says how much is left, as RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit- headers):
// "default";q=100;w=60 and "default";r=42;t=35 (t: seconds until all requests are available again).
//
// The address is Request::client_address(): behind trusted proxies, the client's address as the proxies report it. An
// IPv6 client is identified by its /64, which belongs to one household; all clients of a Unix socket count as one. To
// count by a header, its value has to be a secret key, or be written by a proxy. A client that can choose the value is
// not limited. Requests without the field are counted by address.
//
// Each worker counts for itself, so a client with several connections may make up to `workers` times as many requests.
// The table is of fixed size (token_buckets.h): with more than `clients_max` concurrent clients, the ones that made the
// fewest requests are forgotten.
//
// Threads: one object for all workers; each has a table of its own, made when it first counts.
// Cost:    a keyed hash and two cache lines; counting by address also costs a getpeername. 16 bytes of memory per
//          client and worker.

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

// The number of requests, the period, and how clients are identified.
struct RateLimitOptions {
  std::uint32_t requests = 100;           // At least 1.
  Duration per = Duration::seconds(60);   // The period must be at least a second.
  std::string header = {};                // The request field that identifies the client; empty: its address does.
  std::uint32_t clients_max = 16 * 1024;  // Number of clients that each worker remembers.
  std::string name = "default";           // Name of the policy, for routes with several limits: letters and digits.
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
