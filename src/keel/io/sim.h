// keel/io/sim.h — a whole system in one thread: virtual time, seeded scheduling and a network that fails on purpose.
//
// A Simulation is the outside world (Host) of any number of loops whose engines share one in-memory network. step()
// picks, by the seed, one of the loops that have something to do and runs one turn of it; when nobody has, virtual time
// jumps to the next arrival or timer. The same seed and options give the same run, byte for byte: trace_hash() says so.
//
//   sim::Simulation simulation(sim::SimOptions::faulty(seed));
//   io::Loop& server = simulation.add_loop();
//   io::Loop& client = simulation.add_loop();
//   …
//   ASSERT_TRUE(simulation.run_until([&] { return answered; }, 60_s)) << simulation.replay();
//
// The network behaves as Linux TCP does where a program can tell: bytes of one direction stay in order and arrive in
// pieces cut anywhere; unread data at close() makes a reset; data that meets a closed socket makes a reset; a reset is
// ECONNRESET once and then end of stream or EPIPE; a full receiver blocks the sender. Each delivery is a buffer of its
// own that dies after done(), so that AddressSanitizer sees bytes which are used too long.
//
// Files are on a Disk (sim_disk.h), which may outlive the simulation: cut the power, end the simulation, and go on with
// the same disk in another.
//
// Threads:  one; start_thread() is a bug. Work that would run on other threads goes to pool().
// Lifetime: outlives everything that lives on its loops, and owns them.
// Cost:     for tests: allocates freely; about a microsecond per event.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/host.h"
#include "keel/base/time.h"
#include "keel/exec/executor.h"
#include "keel/io/loop.h"

namespace keel::sim {

class Disk;

enum class FaultKind : std::uint8_t { Reset, Vanish, AcceptFailure, ShortDelivery, LongDelay, Stall, ClockJump };

// One fault by name: its kind, whom it strikes (a connection, one direction of it, a listener, a loop), and at which of
// his chances. Whether it strikes, and how, depends on the seed and on this name, on nothing else that happens: one may
// be left out and the others stay what they were. As text: "reset:3:0".
struct Fault {
  FaultKind kind = FaultKind::Reset;
  std::uint64_t whom = 0;
  std::uint64_t nth = 0;
  bool operator==(const Fault&) const = default;
};
std::string to_string(const std::vector<Fault>& faults);         // "reset:3:0,stall:1:44"
Result<std::vector<Fault>> parse_faults(std::string_view text);  // InvalidArgument: what is not of that form.

struct SimOptions {
  std::uint64_t seed = 1;
  Duration latency_min = 20_us;  // Of every packet, one way, and of every operation on a file.
  Duration latency_max = 1_ms;
  std::uint32_t buffer_bytes = 256 * 1024;  // Sent and not yet read, per direction; then the sender waits.
  double instant_send = 0.5;                // Probability that a Send that fits completes inside submit().
  std::uint32_t trace_bytes_max = 0;        // How much of the end of the trace is kept as text.

  // Faults: probabilities, none by default.
  double reset = 0;           // Per connection: both ends are reset at a random moment of its first second.
  double vanish = 0;          // Per connection: from a random moment nothing is delivered any more, in silence.
  double accept_failure = 0;  // Per accepted connection: Accept ends with EMFILE; the connection stays queued.
  double short_delivery = 0;  // Per delivery: one byte.
  double long_delay = 0;      // Per packet and operation on a file: up to 2 s more.
  double stall = 0;           // Per turn: the loop is not scheduled for up to 300 ms.
  double clock_jump = 0;      // Per jump of virtual time: the calendar moves by up to an hour, either way.
  // When given: of the faults that would strike only these do (sim_shrink.h).
  std::optional<std::vector<Fault>> only = {};

  // A mix of faults that depends only on `seed`; about one in four is off.
  static SimOptions faulty(std::uint64_t seed);
  // "seed=7 latency=20..1000us buffer=262144 reset=0.0310 …": every field that changes a run.
  std::string to_string() const;
};

// How often each fault has struck.
struct FaultCounts {
  std::uint64_t resets = 0;
  std::uint64_t vanished = 0;
  std::uint64_t accept_failures = 0;
  std::uint64_t short_deliveries = 0;
  std::uint64_t long_delays = 0;
  std::uint64_t stalls = 0;
  std::uint64_t clock_jumps = 0;
};

class Simulation final : public Host {
 public:
  // `disk` outlives the simulation; null: a disk of its own, without faults.
  explicit Simulation(const SimOptions& options = {}, Disk* disk = nullptr);
  ~Simulation() override;

  // A new loop over an engine of this network. The simulation turns it; run() on it is a bug.
  io::Loop& add_loop();
  // Runs each job after a random delay, on this thread, with the simulation as host; two jobs may change places, as on
  // a pool of several threads.
  Executor& pool() noexcept;
  Disk& disk() noexcept;

  // One scheduling step. False: nothing is left to do and nothing will arrive.
  bool step();
  // Steps until done(), which is asked after each; gives up after `limit` of virtual time. Returns done().
  bool run_until(FunctionRef<bool()> done, Duration limit);

  Instant now() noexcept override;
  // Begins at 2026-01-01T00:00:00Z.
  std::int64_t wall_ns() noexcept override;
  std::uint64_t random() noexcept override;
  // Timers of jobs of the pool; those of a loop are the loop's. A thread is a bug here.
  void start_timer(Timer& timer, Instant at) noexcept override;
  void stop_timer(Timer& timer) noexcept override;
  std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) override;

  // Over every decision, event and payload byte so far; holds no addresses and no thread ids.
  std::uint64_t trace_hash() const noexcept;
  // The last lines of the trace, at most SimOptions::trace_bytes_max: virtual nanoseconds, event, ends, bytes, hash.
  std::string_view trace_text() const noexcept;
  const FaultCounts& faults() const noexcept;
  // Those that have struck, in order.
  const std::vector<Fault>& struck() const noexcept;
  // For the message of a failing test: "replay: seed=… …; time …; trace …".
  std::string replay() const;

 private:
  struct State;
  class Engine;
  class Pool;
  std::unique_ptr<State> state_;
};

}  // namespace keel::sim
