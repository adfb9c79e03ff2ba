// keel/io/testing/simulation.h — a whole system in one thread: virtual time, seeded scheduling and a network that fails
// on purpose.
//
// A Simulation is the outside world (Host) of any number of loops whose engines share one in-memory network. step()
// picks, by the seed, one of the loops that have something to do and runs one iteration of it; when no loop has
// anything to do, virtual time jumps to the next arrival or timer. The same seed and options give the same run, byte
// for byte: compare trace_hash() to check that.
//
//   sim::Simulation simulation(sim::SimOptions::faulty(seed));
//   io::Loop& server = simulation.add_loop();
//   io::Loop& client = simulation.add_loop();
//   …
//   ASSERT_TRUE(simulation.run_until([&] { return has_response; }, 60_s)) << simulation.replay();
//
// The network behaves like Linux TCP as far as a program can observe it: bytes of one direction stay in order and
// arrive in pieces that are divided anywhere; unread data at close() causes a reset, and so does data that arrives at a
// closed socket; a reset is reported as ECONNRESET once, and then as the end of the stream or EPIPE; a full receiver
// blocks the sender. Each delivery is a separate buffer that is freed after done(), so that AddressSanitizer detects a
// later use of the bytes.
//
// UDP datagrams arrive in order and only once, if their receiver has room, unless a fault prevents this; a connected
// socket gets an error when there is no receiver. Several datagrams may arrive as one if DatagramOptions::join allows
// it. Datagrams between Unix sockets are not lost: their sender waits for room.
//
// Files are on a Disk (disk.h), which may outlive the simulation: cut the power, end the simulation, and continue with
// the same disk in another simulation.
//
// Threads:  one; start_thread() is a bug. Submit work that would run on other threads to pool().
// Lifetime: a Simulation owns its loops, and must outlive everything that lives on these loops.
// Cost:     about a microsecond per event. A Simulation is for tests, so it allocates freely.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/host.h"
#include "keel/base/time.h"
#include "keel/exec/executor.h"
#include "keel/io/loop.h"
#include "keel/io/testing/options.h"

namespace keel::sim {

class Disk;

class Simulation final : public Host {
 public:
  // `disk` outlives the simulation; null: the simulation uses a new disk without faults.
  explicit Simulation(const SimOptions& options = {}, Disk* disk = nullptr);
  ~Simulation() override;

  // Adds a loop with an engine of this network. The simulation runs the iterations of the loop; calling run() on the
  // loop is a bug.
  io::Loop& add_loop();
  // Runs each job after a random delay, on this thread, with the simulation as host; two jobs may be reordered, as on
  // a pool of several threads.
  Executor& pool() noexcept;
  Disk& disk() noexcept;

  // One scheduling step. False: nothing is left to do and nothing will arrive.
  bool step();
  // Makes steps until done() returns true; done() is called after each step. Gives up after `limit` of virtual time.
  // Returns done().
  bool run_until(FunctionRef<bool()> done, Duration limit);

  Instant now() noexcept override;
  // The calendar of the simulation, which begins at 2026-01-01T00:00:00Z.
  std::int64_t wall_ns() noexcept override;
  // Sets the calendar forward, or back by a negative Duration, as an administrator does. now() does not change.
  void set_calendar(Duration by) noexcept;
  std::uint64_t random() noexcept override;
  void secret(std::span<std::byte> out) noexcept override { secret_from_random(out); }
  // Starts a timer of the pool's jobs; each loop has its own timers. In a simulation, starting a thread is a bug.
  void start_timer(Timer& timer, Instant at) noexcept override;
  void stop_timer(Timer& timer) noexcept override;
  std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) override;

  // A hash of every decision, event and payload byte so far; memory addresses and thread ids have no effect on it.
  std::uint64_t trace_hash() const noexcept;
  // The last lines of the trace, at most SimOptions::trace_bytes_max: each has the virtual time in nanoseconds, the
  // event, its sockets, the number of bytes, and their hash.
  std::string_view trace_text() const noexcept;
  const FaultCounts& faults() const noexcept;
  // The faults that have struck, in the order in which they struck.
  const std::vector<Fault>& struck() const noexcept;
  // The text that the message of a failing test shows: "replay: seed=… …; time …; trace …".
  std::string replay() const;

 private:
  struct State;
  class Engine;
  class Pool;
  std::unique_ptr<State> state_;
};

}  // namespace keel::sim
