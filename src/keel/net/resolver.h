// keel/net/resolver.h — resolves host names to addresses on threads other than the loop's, and caches the results.
//
//   ThreadPool lookups({.name = "resolver", .threads = 2});    // one for all workers
//   Resolver resolver(lookups);                                // one per worker
//   std::vector<Address> found = co_await resolver.resolve("example.org", 443);
//   Stream stream = co_await Stream::connect(resolver, "example.org", 443);
//
// IPv4 and IPv6 literals are resolved immediately. All other names are resolved by getaddrinfo(3), which runs on the
// pool and uses /etc/hosts, DNS, or what nsswitch.conf says. The order of the addresses is that of getaddrinfo (RFC
// 6724). A caller that asks for a name which is already being looked up waits for the same result. getaddrinfo does not
// return how long a result is valid. Therefore `lifetime` sets how long a result is valid. If getaddrinfo does not know
// "localhost" (no /etc/hosts) or a name that ends in ".localhost", the address is 127.0.0.1 (RFC 6761 §6.3).
//
// Errors:    NotFound "no such host 'x'"; Unavailable when no name server responds (such a result is not remembered,
//            and if the last good result is not older than stale_lifetime, that result is returned instead);
//            InvalidArgument for a text that is not a host name; ResourceExhausted when lookups_max look-ups are in
//            progress; Cancelled and DeadlineExceeded.
// Ownership: the caller owns the result.
// Lifetime:  must outlive the tasks that wait (checked). A lookup that is in progress when the resolver is destroyed
//            continues, and its result is dropped. Therefore, the pool must be stopped, and the loop must have run the
//            pool's jobs, before the loop is destroyed.
// Threads:   the worker it was made on. The lookup function runs on the pool, for several names at a time.
// Cancel:    the caller stops waiting; the lookup continues and its result is remembered.
// Cost:      a remembered result costs a hash and a copy; a new look-up costs a job on the pool.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/owned.h"
#include "keel/base/time.h"
#include "keel/exec/executor.h"
#include "keel/io/address.h"
#include "keel/task/wait_list.h"

namespace keel {

// How long results are remembered, and how many names are looked up at a time.
struct ResolverOptions {
  Duration lifetime = 60_s;  // How long a result is valid.
  // How long "no such host" is remembered, and how often a failing name server is tried again.
  Duration negative_lifetime = 5_s;
  Duration stale_lifetime = 10_min;  // Maximum age of a remembered result that is used while no name server responds.
  // The maximum number of remembered names; beyond it, the least recently used name is forgotten.
  std::size_t names_max = 1024;
  std::size_t lookups_max = 64;  // The maximum number of look-ups that run at a time; beyond it, resolve() fails.
};

class Resolver {
 public:
  class Resolve;
  // Returns the addresses of a host, the best one first, with port 0. May block.
  using Lookup = Function<Result<std::vector<Address>>(const std::string& host)>;
  static Result<std::vector<Address>> system_lookup(const std::string& host);

  // `lookup`: replaces getaddrinfo in a test or a simulation.
  explicit Resolver(Executor& pool, const ResolverOptions& options = {}, Lookup lookup = &system_lookup);
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  ~Resolver();

  // The addresses of `host` (which must live until the await begins) with `port`; at least one.
  [[nodiscard]] Resolve resolve(std::string_view host, std::uint16_t port) noexcept;

 private:
  struct Entry;
  struct Question;
  struct State;
  Owned<State> state_;
};

class [[nodiscard]] Resolver::Resolve : public Waiting {
 public:
  using Value = std::vector<Address>;
  Resolve(State& state, std::string_view host, std::uint16_t port) noexcept
      : state_(state), host_(host), port_(port), result_(std::vector<Address>()) {}
  bool start();
  Result<std::vector<Address>> take() noexcept;

 private:
  friend struct State;
  State& state_;
  std::string_view host_;
  std::uint16_t port_;
  Result<std::vector<Address>> result_;
};

}  // namespace keel
