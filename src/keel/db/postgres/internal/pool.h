// keel/db/postgres/internal/pool.h — the connections of one loop, and the calls that wait for a connection.
//
// The calls that are made within one event-loop iteration are sent at the end of the iteration: the reads are sent
// together in one group, and the writes are sent one by one on free connections. Calls that find no free connection
// wait in their order of arrival, for at most `wait_max`.
//
// Threads: the thread of the loop, except for stats(), close() and is_idle().

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "keel/base/list.h"
#include "keel/base/member.h"
#include "keel/base/single_writer_counter.h"
#include "keel/base/wheel.h"
#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/call.h"
#include "keel/db/postgres/internal/connection.h"
#include "keel/db/postgres/internal/listening.h"
#include "keel/db/postgres/internal/statement_text.h"
#include "keel/exec/executor.h"
#include "keel/net/resolver.h"
#include "keel/net/tls/context.h"

namespace keel::io {
class Loop;
}

namespace keel::db::postgres::internal {

// The settings that the pools of all loops share. Only `cannot_write` ever changes.
struct Settings {
  DatabaseOptions options;
  ConnectOptions server;
  std::string passwords;                  // The contents of the password file.
  std::optional<tls::ClientContext> tls;  // Absent: sslmode=disable.
  Executor* lookups = nullptr;
  Function<void()> on_outage;  // Must be set before the first pool is created.
  // A pool sets this flag when the server cannot write; check_writes() clears it when its own write succeeds.
  mutable std::atomic<bool> cannot_write{false};
};

struct PoolCounters {
  SingleWriterCounter size, in_use, waiting, waits, wait_ns, timeouts, refused, connects, connect_failures, lost, reads,
      writes, groups, repeated, failures, cancels, prepared, transactions, expired, retired, disk_errors, checks_failed,
      oldest_ns;
};

class Pool {
 public:
  Pool(const Settings& settings, io::Loop& loop, std::atomic<std::uint64_t>& numbers);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  const Settings& settings() const noexcept { return settings_; }
  io::Loop& loop() const noexcept { return loop_; }
  Resolver& resolver() noexcept { return resolver_; }
  PoolCounters& counters() noexcept { return counters_; }
  const PoolCounters& counters() const noexcept { return counters_; }

  // Connects.
  void begin();
  // Fails the waiting calls and ends the connections. May be called on any thread.
  void close() noexcept;
  // Any thread. True if no call is waiting or running.
  bool is_idle() const noexcept { return calls_.get() == 0; }
  // Any thread. True if close() has completed, or if no connection was ever started.
  bool has_ended() const noexcept { return has_ended_.load(std::memory_order_acquire); }

  // Registers a connection that listens for notifications: the pool closes this connection when the pool itself closes;
  // the connection must be destroyed before the pool.
  void add(Listening& listening) noexcept { listenings_.push_back(listening); }

  void submit(Call& call) noexcept;
  void withdraw(Call& call) noexcept;
  // Returns null if the transaction has ended.
  Connection* find(std::uint64_t transaction) noexcept;
  Error why_over(std::uint64_t transaction) const noexcept;

  // --- for connections
  void connected(Connection& connection) noexcept;
  void disconnected(const Error* why) noexcept;
  void is_free_again() noexcept { schedule(); }
  void ended(Connection& connection) noexcept;
  // Takes back a call that was sent but not executed. The calls that are taken back are sent again before all other
  // calls, in the order in which they were passed to this function.
  void send_again(Call& call) noexcept;
  // The reason why a transaction ended before its task committed or dropped the transaction.
  enum class Early : std::uint8_t { Expired, Lost };
  void ended_early(std::uint64_t transaction, Early why) noexcept;
  void call_over() noexcept { calls_.subtract(); }
  // Counts a call that the server rejected.
  void rejected(const Call& call, const Error& error) noexcept;

  // A read is slow if the server takes at least this long for it, and at least two round trips. A statement that was
  // slow twice is sent alone until it is fast again, because other statements of a group would have to wait for it.
  static constexpr Duration slow_read = 10_ms;
  void note_read(const Sql& sql, bool is_slow) noexcept;
  bool is_closing() const noexcept { return is_closing_; }

 private:
  struct Posted : Job {
    explicit Posted(Pool& p, Run r) noexcept : Job(r), pool(p) {}
    Pool& pool;
  };
  // For one connection, the last transactions that ended early; their tasks may still send statements for them.
  struct EndedEarly {
    struct One {
      std::uint64_t transaction = 0;
      Early why = Early::Expired;
    };
    std::array<One, 4> last;
    std::size_t count = 0;
  };
  struct Known {
    TextFacts facts;
    std::uint8_t slow = 0;  // How often the statement was slow recently, limited to slow_max.
  };
  static constexpr std::uint8_t slow_max = 3;
  static constexpr std::uint8_t slow_alone = 2;
  Known& known(const Sql& sql);
  void schedule() noexcept;
  void dispatch();
  void count() noexcept;
  Connection* find_free() noexcept;
  void collect(Call& first, std::vector<Call*>& into);
  void watch_waiting() noexcept;
  void wait_is_over() noexcept;
  void fail_waiting(const Error& why) noexcept;
  void end_if_done() noexcept;

  const Settings& settings_;
  io::Loop& loop_;
  std::atomic<std::uint64_t>& numbers_;  // The number that was last given to a transaction.
  Resolver resolver_;
  PoolCounters counters_;
  SingleWriterCounter calls_;
  std::vector<std::unique_ptr<Connection>> connections_;
  List<Listening> listenings_;
  List<Call> again_;
  List<Call> waiting_;
  std::size_t waiting_count_ = 0;
  std::vector<Call*> group_;
  std::unordered_map<const char*, Known> known_;
  std::optional<Error> unreachable_;     // The reason why no connection is open; set after a failed attempt to connect.
  std::vector<EndedEarly> ended_early_;  // By connection.
  bool is_scheduled_ = false;
  bool is_closing_ = false;
  std::atomic<bool> is_close_posted_{false};
  std::atomic<bool> has_ended_{false};
  Posted flush_;
  Posted close_;
  Member<Timer, Pool, &Pool::wait_is_over> wait_timer_{*this};
};

}  // namespace keel::db::postgres::internal
