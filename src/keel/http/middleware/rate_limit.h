// keel/http/middleware/rate_limit.h — limits how many requests each client may make per period, with a token bucket for
// each client.
//
//   http::RateLimit limit({.requests = 100, .per = 1_min});                    // by address
//   http::RateLimit by_key({.requests = 10, .per = 1_s, .header = "X-Api-Key"});
//   router.group("/api").use(limit).get(…);
//
// A client may make `requests` requests in a burst. The bucket of the client is refilled evenly, with `requests` tokens
// in each period of length `per`. A request above the limit gets 429 with Retry-After as soon as its head has arrived;
// its body is not received. Every response says how many requests the client has left, in the fields RateLimit-Policy
// and RateLimit (draft-ietf-httpapi-ratelimit-headers), for example `"default";q=100;w=60` and `"default";r=42;t=35`,
// where `t` is the number of seconds until all requests are available again.
//
// The address of a client is Request::client_address(): behind trusted proxies, this is the address that the proxies
// report. An IPv6 client is identified by its /64 network, which usually belongs to one household; all clients of a
// Unix socket count as one client. Use a header to identify clients only if the value of the header is a secret key, or
// if a proxy writes the header. A client that can choose the value of the header is not limited. A request without the
// header is counted for the address of its client.
//
// Each worker counts only its own requests, so a client with several connections may make as many requests as the limit
// times the number of workers. The table of clients has a fixed size (token_buckets.h): with more than `clients_max`
// concurrent clients, those that made the fewest requests are forgotten.
//
// Threads: one object for all workers; each worker has its own table, which is made when the worker counts its first
//          request.
// Cost:    a keyed hash and access to two cache lines; counting by address also costs a getpeername(). Each client
//          needs 16 bytes of memory on each worker.

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

// How many requests are allowed, in which period, and how clients are identified.
struct RateLimitOptions {
  std::uint32_t requests = 100;          // At least 1.
  Duration per = Duration::seconds(60);  // At least a second.
  // The request field that identifies the client; empty: the client's address identifies the client.
  std::string header = {};
  std::uint32_t clients_max = 16 * 1024;  // Number of clients that each worker remembers.
  // The name of the policy, in letters and digits; if a route has several policies, their names distinguish them.
  std::string name = "default";
};

class RateLimit {
 public:
  // An option outside of its bounds is a bug and aborts.
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
