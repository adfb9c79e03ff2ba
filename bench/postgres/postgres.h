// What the cases of bench_postgres share: the server, its tables, and how the use of this process is counted.

#pragma once

#include <benchmark/benchmark.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/testing/allocation_count.h"
#include "keel/db/postgres/testing/real_server.h"

namespace keel::bench {

inline constexpr std::int64_t users = 10'000;
// Further ones, which are there to be deleted.
inline constexpr std::int64_t spare_users = 190'000;

// Debian's server, durable (fsync=on), with the tables `users` (ids from 1), `visits` and those of pgbench.
db::postgres::testing::RealServer& server();

// Processor time of all processes of server(), in nanoseconds, since it started.
std::int64_t server_cpu_ns();

// What pgbench did, run with these arguments and, where there is one, this script.
struct Pgbench {
  double rate = 0;             // Transactions per second, as it says; 0: it failed.
  double transactions = 0;     // All of them.
  std::int64_t cpu_ns = 0;     // Processor time of pgbench.
  std::int64_t server_ns = 0;  // Processor time of the server meanwhile.
};
Pgbench pgbench_run(const std::string& arguments, const std::string& script);

// Whether the row is the one of users that `id` has.
inline bool is_user(std::int64_t id, std::int64_t row_id, std::string_view name, std::string_view email) {
  return row_id == id && name.size() == 16 && name.starts_with("user") && email.ends_with("@example.com");
}

// From begin() to end(), for a number of statements.
class Usage {
 public:
  explicit Usage(std::int64_t statements) noexcept : statements_(statements) {}

  bool has_begun() const noexcept { return has_begun_; }
  void begin() noexcept {
    has_begun_ = true;
    server_ns_ = server_cpu_ns();  // Allocates.
    allocations_ = internal::allocations();
    cpu_ns_ = ns(CLOCK_PROCESS_CPUTIME_ID);
    clock_ns_ = ns(CLOCK_MONOTONIC);
  }
  void end() noexcept {
    clock_ns_ = ns(CLOCK_MONOTONIC) - clock_ns_;
    cpu_ns_ = ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns_;
    allocations_ = internal::allocations() - allocations_;
    server_ns_ = server_cpu_ns() - server_ns_;
  }
  void report(benchmark::State& state) const {
    const auto all = static_cast<double>(statements_);
    state.counters["cpu_ns"] = static_cast<double>(cpu_ns_) / all;
    state.counters["server_cpu_ns"] = static_cast<double>(server_ns_) / all;
    state.counters["rate"] = all * 1e9 / static_cast<double>(clock_ns_);
    state.counters["allocations"] = static_cast<double>(allocations_) / all;
  }
  std::int64_t statements() const noexcept { return statements_; }

 private:
  static std::int64_t ns(clockid_t clock) noexcept {
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  }
  const std::int64_t statements_;
  bool has_begun_ = false;
  std::int64_t cpu_ns_ = 0;
  std::int64_t server_ns_ = 0;
  std::int64_t clock_ns_ = 0;
  std::size_t allocations_ = 0;
};

}  // namespace keel::bench
