#include "keel/io/sim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/io/internal/parts.h"
#include "keel/io/internal/seeded.h"
#include "keel/io/internal/sockets.h"
#include "keel/io/sim_disk.h"

namespace keel::sim {
namespace {

constexpr std::int64_t wall_start_ns = 1'767'225'600'000'000'000;
constexpr Duration first_instant = 1_s;  // Not zero: the loop means "do not wait" by that.
constexpr int first_fd = 3;
constexpr std::uint16_t first_ephemeral_port = 32768;
constexpr std::size_t piece_bytes_max = 16 * 1024;
constexpr std::size_t read_bytes_max = 64 * 1024;
constexpr int idle_turns_max = 3;
constexpr const char* fault_names[] = {"reset",      "vanish", "accept_failure", "short_delivery",
                                       "long_delay", "stall",  "clock_jump"};

bool is_wildcard(const Address& address) noexcept {
  if (address.family() == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(address.system())->sin_addr.s_addr == INADDR_ANY;
  }
  if (address.family() == AF_INET6) {
    const in6_addr any = IN6ADDR_ANY_INIT;
    return std::memcmp(&reinterpret_cast<const sockaddr_in6*>(address.system())->sin6_addr, &any, sizeof any) == 0;
  }
  return false;
}

// Whether what listens on `bound` answers for `wanted`.
bool covers(const Address& bound, const Address& wanted) noexcept {
  if (bound == wanted) return true;
  return bound.family() == wanted.family() && bound.port() == wanted.port() && is_wildcard(bound);
}

struct Socket;

// What one side of a connection has received and may still receive.
struct End {
  Socket* socket = nullptr;  // Null before accept and after close.
  std::string inbox;         // Arrived; `taken` bytes of it are read.
  std::size_t taken = 0;
  std::size_t flight = 0;  // On the way to this end.
  Instant last_arrival;    // What is sent to this end arrives in order.
  int error = 0;           // Reported once.
  bool fin = false;        // The peer's end of stream has arrived.
  bool reset = false;
  bool write_closed = false;  // This end sends nothing more.
  bool closed = false;        // The program has closed it.
  std::uint64_t packets = 0;  // Sent to this end: the chances of faults.
  std::uint64_t pieces = 0;

  std::size_t unread() const noexcept { return inbox.size() - taken; }
  bool has_news() const noexcept { return unread() != 0 || fin || reset || error != 0; }
};

struct Connection {
  std::uint64_t id = 0;
  bool vanished = false;
  Address address[2];
  End end[2];
};
using ConnectionPtr = std::shared_ptr<Connection>;

// Names one direction of a connection, towards `side`.
std::uint64_t direction(const Connection& connection, int side) noexcept {
  return connection.id * 2 + static_cast<std::uint64_t>(side);
}

Result<Fault> parse_fault(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  const auto name = std::ranges::find(fault_names, text.substr(0, first));
  Fault fault;
  const auto number = [](std::string_view digits, std::uint64_t& into) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (first == text.npos || second == text.npos || name == std::end(fault_names) ||
      !number(text.substr(first + 1, second - first - 1), fault.whom) || !number(text.substr(second + 1), fault.nth)) {
    return fail_text(Code::InvalidArgument, "not a fault like reset:3:0: " + std::string(text));
  }
  fault.kind = static_cast<FaultKind>(name - fault_names);
  return fault;
}

}  // namespace

std::string to_string(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) {
    fmt::format_to(std::back_inserter(text), "{}{}:{}:{}", text.empty() ? "" : ",",
                   fault_names[static_cast<int>(fault.kind)], fault.whom, fault.nth);
  }
  return text;
}

Result<std::vector<Fault>> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    KEEL_TRY(const Fault fault, parse_fault(text.substr(0, comma)));
    faults.push_back(fault);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return faults;
}

SimOptions SimOptions::faulty(std::uint64_t seed) {
  Random random{mix(seed ^ 0x6b65656c)};
  const auto some = [&](double most) {
    return random.chance(0.25) ? 0.0 : most * static_cast<double>(random.below(1000) + 1) / 1000;
  };
  SimOptions options;
  options.seed = seed;
  options.latency_max = random.between(100_us, 5_ms);
  options.buffer_bytes = static_cast<std::uint32_t>(4096u << random.below(7));
  options.instant_send = static_cast<double>(random.below(101)) / 100;
  options.reset = some(0.1);
  options.vanish = some(0.03);
  options.accept_failure = some(0.1);
  options.short_delivery = some(0.2);
  options.long_delay = some(0.02);
  options.stall = some(0.005);
  options.clock_jump = some(0.02);
  return options;
}

std::string SimOptions::to_string() const {
  return fmt::format(
      "seed={} latency={}..{}us buffer={} instant_send={} reset={} vanish={} accept_failure={} short_delivery={} "
      "long_delay={} stall={} clock_jump={}{}",
      seed, latency_min.count_us(), latency_max.count_us(), buffer_bytes, instant_send, reset, vanish, accept_failure,
      short_delivery, long_delay, stall, clock_jump, only ? " only=" + sim::to_string(*only) : "");
}

namespace {

struct Socket {
  int fd = -1;
  Simulation* simulation = nullptr;
  std::uint32_t attempt = 0;  // Counts sends and connects: an event of an earlier one is stale.
  io::Op* in = nullptr;       // The pending Receive or Accept, and who completes it.
  io::Op* out = nullptr;      // The pending Send or Connect.
  class Completer* in_by = nullptr;
  class Completer* out_by = nullptr;
  bool closed = false;
  bool step_planned = false;  // A Send's next attempt is on the way.
  // A stream:
  ConnectionPtr connection;
  int side = 0;
  int family = AF_UNSPEC;
  io::SocketOptions options;
  Address address;  // Of a listener; of a stream that was told where to connect from.
  // A listener:
  bool listening = false;
  bool reuse_port = false;
  std::size_t backlog = 0;
  std::uint64_t accepts = 0;  // The chances of faults.
  std::deque<ConnectionPtr> queue;
  // A file:
  bool is_file = false;
  bool writable = false;
  int file = -1;       // On the disk; -1: a folder.
  std::string folder;  // A path in it.
};
using SocketPtr = std::shared_ptr<Socket>;

// What the network knows of an engine.
class Completer {
 public:
  virtual void make_ready(io::Op& op) noexcept = 0;

 protected:
  ~Completer() = default;
};

}  // namespace

class Simulation::Pool final : public Executor {
 public:
  explicit Pool(Simulation& simulation) : simulation_(simulation) {}
  void post(Job& job) noexcept override;

 private:
  Simulation& simulation_;
};

// Makes the simulation the thread's host and its pool the executor for a scope.
class OnPool {
 public:
  OnPool(Host& host, Executor& pool) noexcept
      : host_before_(Host::set_current(&host)), executor_before_(Executor::set_current(&pool)) {}
  ~OnPool() {
    Executor::set_current(executor_before_);
    Host::set_current(host_before_);
  }
  OnPool(const OnPool&) = delete;
  OnPool& operator=(const OnPool&) = delete;

 private:
  Host* host_before_;
  Executor* executor_before_;
};

struct Worker {
  std::unique_ptr<io::Loop> loop;
  Instant until;  // How long the loop would have slept.
  Instant stalled_until;
  int idle_turns = 0;  // Turns without any work although `until` had passed.
  bool again = true;   // Worth a turn whatever `until` says.
  std::size_t ready = 0;
  std::uint64_t turns = 0;  // Those with work: the chances of faults.
};

struct Simulation::State {
  State(Simulation& owner, const SimOptions& o, Disk* d)
      : simulation(owner),
        own_disk(d == nullptr ? std::make_unique<Disk>(o.seed) : nullptr),
        disk(d == nullptr ? *own_disk : *d),
        options(o),
        random{mix(o.seed)},
        now(Instant() + first_instant),
        pool(owner),
        pool_timers(now) {}

  Simulation& simulation;
  const std::unique_ptr<Disk> own_disk;
  Disk& disk;
  const SimOptions options;
  Random random;
  Instant now;
  std::int64_t wall_offset_ns = wall_start_ns - first_instant.count_ns();
  FaultCounts faults;
  std::vector<Fault> struck;
  std::uint64_t jumps = 0;
  std::uint64_t handshakes = 0;
  std::uint64_t hash = 0;
  std::string text;
  std::uint64_t sequence = 0;
  std::uint64_t connections = 0;
  std::uint16_t next_port = first_ephemeral_port;
  int turning = -1;  // The worker whose turn it is.
  Pool pool;
  TimerWheel pool_timers;
  std::map<std::pair<Instant, std::uint64_t>, Function<void()>> events;
  std::vector<SocketPtr> sockets;  // By descriptor.
  std::vector<SocketPtr> listeners;
  std::vector<std::unique_ptr<Worker>> workers;

  template <class... A>
  void trace(fmt::format_string<A...> format, A&&... arguments) {
    fmt::memory_buffer line;
    fmt::format_to(std::back_inserter(line), "{} ", now.ns());
    fmt::format_to(std::back_inserter(line), format, std::forward<A>(arguments)...);
    line.push_back('\n');
    hash = hash_bytes(hash, {line.data(), line.size()});
    if (options.trace_bytes_max == 0) return;
    text.append(line.data(), line.size());
    if (text.size() > 2 * std::size_t{options.trace_bytes_max}) text.erase(0, text.size() - options.trace_bytes_max);
  }

  // --- Events.

  void at(Instant when, Function<void()> what) { events.emplace(std::pair(when, sequence++), std::move(what)); }
  void run_due() {
    while (!events.empty() && events.begin()->first.first <= now) {
      const Function<void()> what = std::move(events.begin()->second);
      events.erase(events.begin());
      what();
    }
    if (pool_timers.running() == 0 || pool_timers.next() > now) return;
    trace("pool timers");
    OnPool on_pool(simulation, pool);
    pool_timers.advance(now);
  }
  // Whether this fault strikes; then the randomness of how.
  std::optional<Random> strikes(double probability, FaultKind kind, std::uint64_t whom, std::uint64_t nth) {
    if (probability <= 0) return std::nullopt;
    const std::uint64_t name = mix(mix((std::uint64_t{1} << 56) * (1 + static_cast<std::uint64_t>(kind)) + whom) ^ nth);
    Random how{mix(options.seed) ^ name};
    if (!how.chance(probability)) return std::nullopt;
    const Fault fault{kind, whom, nth};
    if (options.only && std::ranges::find(*options.only, fault) == options.only->end()) return std::nullopt;
    struck.push_back(fault);
    return how;
  }
  Duration latency(std::uint64_t whom, std::uint64_t nth) {
    const Duration delay = random.between(options.latency_min, options.latency_max);
    auto late = strikes(options.long_delay, FaultKind::LongDelay, whom, nth);
    if (!late) return delay;
    ++faults.long_delays;
    return delay + late->between(1_ms, 2_s);
  }
  // Of packets of no connection.
  Duration latency() { return latency(0, handshakes++); }
  Duration latency(Connection& to, int side) { return latency(direction(to, side), to.end[side].packets++); }
  Instant arrival(Connection& connection, int side) {
    End& to = connection.end[side];
    to.last_arrival = std::max(now + latency(connection, side), to.last_arrival);
    return to.last_arrival;
  }
  // The size of a piece of `size` bytes that a fault may have cut.
  std::size_t delivered(std::size_t size, Connection& to, int side) {
    if (!strikes(options.short_delivery, FaultKind::ShortDelivery, direction(to, side), to.end[side].pieces++)) {
      return size;
    }
    ++faults.short_deliveries;
    return 1;
  }

  // --- Descriptors.

  SocketPtr new_socket(int family) {
    auto socket = std::make_shared<Socket>();
    auto free = std::find(sockets.begin() + first_fd, sockets.end(), nullptr);
    if (free == sockets.end()) free = sockets.insert(free, nullptr);
    socket->fd = static_cast<int>(free - sockets.begin());
    socket->family = family;
    *free = socket;
    return socket;
  }
  Socket& socket(int fd) {
    KEEL_CHECK(fd >= first_fd && static_cast<std::size_t>(fd) < sockets.size() &&
                   sockets[static_cast<std::size_t>(fd)] != nullptr,
               "a descriptor is used only while it is open");
    return *sockets[static_cast<std::size_t>(fd)];
  }
  SocketPtr shared(int fd) { return socket(fd), sockets[static_cast<std::size_t>(fd)]; }
  std::uint16_t free_port() {
    for (;;) {
      const std::uint16_t port = next_port;
      next_port = next_port == 65535 ? first_ephemeral_port : static_cast<std::uint16_t>(next_port + 1);
      const auto takes = [&](const SocketPtr& l) { return l->address.port() == port; };
      if (std::none_of(listeners.begin(), listeners.end(), takes)) return port;
    }
  }

  // --- Completion.

  // Takes `op` off its socket; done() follows from the next dispatch of its engine.
  void complete(Socket& at, io::Op& op, int result) {
    Completer* by = at.in == &op ? at.in_by : at.out_by;
    if (at.in == &op) at.in = nullptr;
    if (at.out == &op) at.out = nullptr;
    op.result = result;
    op.cancelling = true;
    by->make_ready(op);
  }
  void notify_reader(End& end) {
    if (end.socket != nullptr && end.socket->in != nullptr) end.socket->in_by->make_ready(*end.socket->in);
  }

  // --- Connecting.

  void syn(const SocketPtr& client, std::uint32_t attempt, const Address& to) {
    if (client->closed || client->attempt != attempt) return;
    std::vector<SocketPtr> candidates;
    for (const SocketPtr& listener : listeners) {
      if (covers(listener->address, to)) candidates.push_back(listener);
    }
    if (candidates.empty()) {
      at(now + latency(), [this, client, attempt] { connected(client, attempt, nullptr); });
      return;
    }
    const SocketPtr listener = candidates[random.below(candidates.size())];
    if (listener->queue.size() >= listener->backlog) {
      // The packet is dropped and sent again, as TCP does after a second.
      at(now + 1_s, [this, client, attempt, to] { syn(client, attempt, to); });
      return;
    }
    auto connection = std::make_shared<Connection>();
    connection->id = ++connections;
    connection->address[1] = to;
    connection->address[0] = client->address.family() == to.family() ? client->address : to;
    if (!to.is_unix() && client->address.port() == 0) connection->address[0].set_port(free_port());
    trace("syn fd={} c{} listener={}", client->fd, connection->id, listener->fd);
    listener->queue.push_back(connection);
    if (listener->in != nullptr) listener->in_by->make_ready(*listener->in);
    at(arrival(*connection, 0), [this, client, attempt, connection] { connected(client, attempt, connection); });
    plan_faults(connection);
  }

  void plan_faults(const ConnectionPtr& connection) {
    if (auto when = strikes(options.reset, FaultKind::Reset, connection->id, 0)) {
      at(now + when->between(Duration(), 1_s), [this, connection] {
        End* ends = connection->end;
        if ((ends[0].closed || ends[0].reset) && (ends[1].closed || ends[1].reset)) return;
        ++faults.resets;
        on_reset(connection, 0);
        on_reset(connection, 1);
      });
    }
    if (auto when = strikes(options.vanish, FaultKind::Vanish, connection->id, 0)) {
      at(now + when->between(Duration(), 1_s), [this, connection] {
        ++faults.vanished;
        trace("vanish c{}", connection->id);
        connection->vanished = true;
      });
    }
  }

  void connected(const SocketPtr& client, std::uint32_t attempt, const ConnectionPtr& connection) {
    if (client->closed || client->attempt != attempt) {
      if (connection != nullptr) {
        connection->end[0].closed = true;
        send_reset(connection, 1);
      }
      return;
    }
    trace("connected fd={} c{}", client->fd, connection != nullptr ? connection->id : 0);
    if (connection != nullptr) {
      client->connection = connection;
      client->side = 0;
      connection->end[0].socket = client.get();
    }
    if (client->out != nullptr) complete(*client, *client->out, connection != nullptr ? 0 : -ECONNREFUSED);
  }

  // --- Bytes.

  void send_bytes(const ConnectionPtr& connection, int from, std::string_view bytes) {
    End& to = connection->end[1 - from];
    to.flight += bytes.size();
    while (!bytes.empty()) {
      std::size_t size = std::min(bytes.size(), piece_bytes_max);
      if (random.chance(0.5)) size = 1 + random.below(size);
      size = delivered(size, *connection, 1 - from);
      at(arrival(*connection, 1 - from),
         [this, connection, to_side = 1 - from, piece = std::string(bytes.substr(0, size))] {
           deliver(connection, to_side, piece);
         });
      bytes.remove_prefix(size);
    }
  }

  void deliver(const ConnectionPtr& connection, int side, const std::string& piece) {
    if (connection->vanished) return;
    End& end = connection->end[side];
    end.flight -= piece.size();
    if (end.reset) return;
    trace("deliver c{}.{} {} {:016x}", connection->id, side, piece.size(), hash_bytes(0, piece));
    if (end.closed) {
      send_reset(connection, 1 - side);
      return;
    }
    if (end.taken == end.inbox.size()) {
      end.inbox.clear();
      end.taken = 0;
    }
    end.inbox += piece;
    notify_reader(end);
  }

  void send_fin(const ConnectionPtr& connection, int from) {
    End& end = connection->end[from];
    if (end.write_closed || end.reset) return;
    end.write_closed = true;
    at(arrival(*connection, 1 - from), [this, connection, side = 1 - from] {
      End& to = connection->end[side];
      if (connection->vanished || to.reset || to.closed) return;
      trace("fin c{}.{}", connection->id, side);
      to.fin = true;
      notify_reader(to);
    });
  }

  void send_reset(const ConnectionPtr& connection, int side) {
    // A reset stays behind what was sent before it, or overtakes what was still in a queue and is lost.
    const Instant when = random.chance(0.5) ? arrival(*connection, side) : now + latency(*connection, side);
    at(when, [this, connection, side] {
      if (!connection->vanished) on_reset(connection, side);
    });
  }

  void on_reset(const ConnectionPtr& connection, int side) {
    End& end = connection->end[side];
    if (end.reset || end.closed) return;
    trace("reset c{}.{}", connection->id, side);
    end.reset = true;
    end.error = end.fin ? EPIPE : ECONNRESET;
    Socket* socket = end.socket;
    if (socket == nullptr) return;
    // The error is told once: to the reader or to the sender, whoever asks first.
    if (socket->out != nullptr && (socket->in == nullptr || random.chance(0.5))) {
      complete(*socket, *socket->out, -send_error(end));
    }
    notify_reader(end);
    if (socket->out != nullptr) plan_send(*socket);
  }

  static int send_error(End& end) noexcept {
    if (end.error != 0) return std::exchange(end.error, 0);
    return end.reset || end.write_closed ? EPIPE : 0;
  }
  std::size_t space(const Connection& connection, int from) const noexcept {
    const End& to = connection.end[1 - from];
    const std::size_t used = to.flight + to.unread();
    return used < options.buffer_bytes ? options.buffer_bytes - used : 0;
  }

  // Lets `bytes` of the send go; true when nothing is left.
  bool push(Socket& at, io::Send& op, std::size_t bytes) {
    op.sent += bytes;
    for (;;) {
      while (op.part_count != 0 && op.parts->iov_len == 0) {
        ++op.parts;
        --op.part_count;
      }
      if (op.part_count == 0 || bytes == 0) return op.part_count == 0;
      const std::size_t size = std::min(bytes, op.parts->iov_len);
      send_bytes(at.connection, at.side, {static_cast<const char*>(op.parts->iov_base), size});
      op.parts->iov_base = static_cast<char*>(op.parts->iov_base) + size;
      op.parts->iov_len -= size;
      bytes -= size;
    }
  }
  static std::size_t left(const io::Send& op) noexcept {
    std::size_t bytes = 0;
    for (std::uint32_t i = 0; i < op.part_count; ++i) bytes += op.parts[i].iov_len;
    return bytes;
  }

  void plan_send(Socket& at_socket) {
    if (at_socket.step_planned) return;
    at_socket.step_planned = true;
    at(now + random.between(options.latency_min, options.latency_max),
       [this, socket = shared(at_socket.fd), attempt = at_socket.attempt] {
         if (socket->attempt != attempt) return;
         socket->step_planned = false;
         if (!socket->closed && socket->out != nullptr) send_step(*socket);
       });
  }
  void send_step(Socket& at_socket) {
    auto& op = static_cast<io::Send&>(*at_socket.out);
    End& end = at_socket.connection->end[at_socket.side];
    if (const int error = send_error(end)) {
      complete(at_socket, op, -error);
      return;
    }
    std::size_t bytes = std::min(space(*at_socket.connection, at_socket.side), left(op));
    if (bytes > 1 && random.chance(0.3)) bytes = 1 + random.below(bytes);
    trace("send fd={} {}", at_socket.fd, bytes);
    if (push(at_socket, op, bytes)) {
      complete(at_socket, op, op.total());
    } else if (space(*at_socket.connection, at_socket.side) != 0) {
      plan_send(at_socket);
    }
  }
  // The reader at `side` has made room.
  void opened_window(const ConnectionPtr& connection, int side) {
    Socket* sender = connection->end[1 - side].socket;
    if (sender != nullptr && sender->out != nullptr && !connection->vanished) plan_send(*sender);
  }

  // --- Scheduling.

  bool runnable(const Worker& worker) const noexcept {
    if (worker.stalled_until > now) return false;
    return worker.again || worker.ready != 0 || (worker.until <= now && worker.idle_turns < idle_turns_max);
  }
  int turn(std::size_t index) {
    Worker& worker = *workers[index];
    worker.again = false;
    const int turning_before = std::exchange(turning, static_cast<int>(index));
    int handled = 0;
    {
      io::Loop::Entered entered(*worker.loop);
      handled = worker.loop->turn(Instant::never());
    }
    turning = turning_before;
    if (handled != 0) worker.again = true;
    worker.idle_turns = handled != 0 || worker.until > now ? 0 : worker.idle_turns + 1;
    if (handled != 0) trace("turn w{} {}", index, handled);
    // Work takes time.
    now = now + random.between(1_us, 10_us);
    if (handled == 0) return handled;
    if (auto how = strikes(options.stall, FaultKind::Stall, index, worker.turns++)) {
      ++faults.stalls;
      worker.stalled_until = now + how->between(1_ms, 300_ms);
      trace("stall w{}", index);
    }
    return handled;
  }
  // One step, in which time does not jump beyond `limit`.
  bool step(Instant limit) {
    run_due();
    std::vector<std::size_t> choice;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (runnable(*workers[i])) choice.push_back(i);
    }
    if (!choice.empty()) {
      turn(choice[random.below(choice.size())]);
      return true;
    }
    // Something may have been started outside of any turn: ask every loop how long it would sleep now.
    int handled = 0;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (workers[i]->stalled_until <= now) handled += turn(i);
    }
    for (const auto& worker : workers) {
      if (runnable(*worker)) return true;
    }
    if (handled != 0) return true;
    Instant next = events.empty() ? Instant::never() : events.begin()->first.first;
    next = std::min(next, pool_timers.next());
    for (const auto& worker : workers) {
      if (worker->stalled_until > now) next = std::min(next, worker->stalled_until);
      if (worker->until > now) next = std::min(next, worker->until);
    }
    if (next.is_never() && limit.is_never()) return false;
    const bool any = !next.is_never();
    now = std::max(now, std::min(next, limit));
    if (auto how = strikes(options.clock_jump, FaultKind::ClockJump, 0, jumps++)) {
      ++faults.clock_jumps;
      wall_offset_ns += how->between(-1_h, 1_h).count_ns();
      trace("calendar {}", wall_offset_ns);
    }
    return any;
  }
};

void Simulation::Pool::post(Job& job) noexcept {
  State& state = *simulation_.state_;
  state.at(state.now + state.random.between(1_us, 5_ms), [this, &job] {
    simulation_.state_->trace("pool job");
    OnPool on_pool(simulation_, *this);
    job.run(job);
  });
}

class Simulation::Engine final : public io::Engine, public Completer {
 public:
  Engine(State& state, std::size_t index) : state_(state), index_(index) {}
  ~Engine() override {
    while (ready_.pop_front() != nullptr) {
    }
  }

  const char* name() const noexcept override { return "sim"; }

  bool submit(io::Op& op) noexcept override {
    KEEL_CHECK(!op.pending, "an operation is submitted once at a time");
    op.cancelling = false;
    op.more = false;
    op.paused = false;
    if (io::is_of_file(op.kind)) {
      submit_file(static_cast<io::FileOp&>(op));
      return false;
    }
    if (op.kind == io::Kind::Ready) {
      op.pending = true;
      complete_file(op, -EOPNOTSUPP);
      return false;
    }
    Socket& at = state_.socket(op.fd);
    if (op.kind == io::Kind::Send && try_at_once(at, static_cast<io::Send&>(op))) return true;
    op.pending = true;
    if (op.kind == io::Kind::Receive || op.kind == io::Kind::Accept) {
      KEEL_CHECK(at.in == nullptr, "a socket has one pending Receive or Accept at a time");
      at.in = &op;
      at.in_by = this;
      if (op.kind == io::Kind::Accept && !at.listening) {
        state_.complete(at, op, -EINVAL);
      } else if (op.kind == io::Kind::Receive && at.connection == nullptr) {
        state_.complete(at, op, -ENOTCONN);
      } else if (op.kind == io::Kind::Accept ? !at.queue.empty() : at.connection->end[at.side].has_news()) {
        make_ready(op);
      }
      return false;
    }
    KEEL_CHECK(at.out == nullptr, "a socket has one pending Send or Connect at a time");
    at.out = &op;
    at.out_by = this;
    ++at.attempt;
    at.step_planned = false;
    if (op.kind == io::Kind::Connect) {
      connect(at, static_cast<io::Connect&>(op));
    } else if (at.connection == nullptr) {
      state_.complete(at, op, -ENOTCONN);
    } else {
      state_.plan_send(at);
    }
    return false;
  }

  void cancel(io::Op& op) noexcept override {
    if (!op.pending || op.cancelling) return;
    if (io::is_of_file(op.kind)) {
      cancel_file(static_cast<io::FileOp&>(op));
      return;
    }
    state_.trace("cancel w{} fd={}", index_, op.fd);
    state_.complete(state_.socket(op.fd), op, -ECANCELED);
  }

  void pause(io::Receive& op) noexcept override { op.paused = true; }
  void resume(io::Receive& op) noexcept override {
    if (!op.paused) return;
    op.paused = false;
    if (op.pending) make_ready(op);
  }

  io::Held hold(io::Receive& op) noexcept override {
    held_ = true;
    return {op.data, static_cast<std::uint32_t>(op.result), 0};
  }
  void release(io::Held held) noexcept override { delete[] held.data; }

  bool wait(Instant until) noexcept override {
    KEEL_CHECK(state_.turning == static_cast<int>(index_), "a simulated loop is turned by its simulation");
    worker().until = until;
    worker().again = false;
    return true;
  }

  int dispatch() noexcept override {
    List<io::Op> ready;
    while (io::Op* op = ready_.pop_front()) {
      state_.random.chance(0.5) ? ready.push_back(*op) : ready.push_front(*op);
    }
    worker().ready = 0;
    int completed = 0;
    while (io::Op* op = ready.pop_front()) completed += run_ready(*op);
    return completed;
  }

  void wake() noexcept override { worker().again = true; }

  Result<int> open_listener(const Address& address, const io::ListenOptions& options) override {
    KEEL_CHECK(options.inherited < 0, "in the simulation there is nobody to inherit from");
    Address bound = address;
    if (!bound.is_unix() && bound.port() == 0) bound.set_port(state_.free_port());
    for (const SocketPtr& other : state_.listeners) {
      if (!covers(other->address, bound) && !covers(bound, other->address)) continue;
      if (!bound.is_unix() && other->reuse_port && options.reuse_port) continue;
      return fail_text(Code::AlreadyExists, "listening on " + bound.to_string() + ": the address is in use");
    }
    SocketPtr socket = state_.new_socket(bound.family());
    socket->listening = true;
    socket->reuse_port = options.reuse_port;
    socket->backlog = static_cast<std::size_t>(std::max(options.backlog, 1));
    socket->address = bound;
    state_.listeners.push_back(socket);
    state_.trace("listen w{} fd={} {}", index_, socket->fd, bound.to_string());
    return socket->fd;
  }
  Result<int> open_stream(int family, const io::ConnectOptions& options) override {
    if (options.from.family() != AF_UNSPEC && options.from.family() != family) {
      return fail_errno("bind", EINVAL).error();
    }
    const SocketPtr socket = state_.new_socket(family);
    socket->address = options.from;
    return socket->fd;
  }
  Result<> set_options(int fd, const io::SocketOptions& options) override {
    Socket& at = state_.socket(fd);
    KEEL_TRY_VOID(io::check(options, at.family == AF_UNIX));
    const auto take = [](auto& into, const auto& value) {
      if (value) into = value;
    };
    take(at.options.no_delay, options.no_delay);
    take(at.options.keep_alive, options.keep_alive);
    take(at.options.user_timeout, options.user_timeout);
    take(at.options.reset_on_close, options.reset_on_close);
    take(at.options.send_buffer_bytes, options.send_buffer_bytes);
    take(at.options.receive_buffer_bytes, options.receive_buffer_bytes);
    return {};
  }
  io::SocketOptions options(int fd) override {
    const Socket& at = state_.socket(fd);
    io::SocketOptions options = at.options;
    const auto buffer_bytes = static_cast<int>(state_.options.buffer_bytes);
    if (!options.send_buffer_bytes) options.send_buffer_bytes = buffer_bytes;
    if (!options.receive_buffer_bytes) options.receive_buffer_bytes = buffer_bytes;
    if (at.family == AF_UNIX) return options;
    if (!options.no_delay) options.no_delay = true;
    if (!options.keep_alive) options.keep_alive = io::KeepAlive{.idle = Duration()};
    if (!options.user_timeout) options.user_timeout = Duration();
    if (!options.reset_on_close) options.reset_on_close = false;
    return options;
  }

  void turn_away(int listener) noexcept override { std::erase(state_.listeners, state_.shared(listener)); }
  int try_accept(int listener) noexcept override {
    const SocketPtr at = state_.shared(listener);
    return at->queue.empty() ? -EAGAIN : take_first(*at);
  }
  void close(int fd) noexcept override {
    const SocketPtr socket = state_.shared(fd);
    KEEL_CHECK(socket->in == nullptr && socket->out == nullptr,
               "a descriptor is closed when no operation is pending on it");
    state_.trace("close w{} fd={}", index_, fd);
    socket->closed = true;
    state_.sockets[static_cast<std::size_t>(fd)] = nullptr;
    if (socket->is_file) {
      if (socket->file >= 0) state_.disk.close(socket->file);
      return;
    }
    std::erase(state_.listeners, socket);
    for (const ConnectionPtr& waiting : socket->queue) {
      waiting->end[1].closed = true;
      state_.send_reset(waiting, 0);
    }
    if (socket->connection == nullptr) return;
    End& end = socket->connection->end[socket->side];
    end.socket = nullptr;
    if ((end.unread() != 0 || socket->options.reset_on_close.value_or(false)) && !end.reset) {
      state_.send_reset(socket->connection, 1 - socket->side);
    } else {
      state_.send_fin(socket->connection, socket->side);
    }
    end.closed = true;
  }
  void shutdown_write(int fd) noexcept override {
    Socket& socket = state_.socket(fd);
    if (socket.connection != nullptr) state_.send_fin(socket.connection, socket.side);
  }
  void shutdown(int fd) noexcept override {
    Socket& at = state_.socket(fd);
    if (at.connection == nullptr) return;
    state_.trace("shutdown w{} fd={}", index_, fd);
    state_.send_fin(at.connection, at.side);
    End& end = at.connection->end[at.side];
    end.fin = true;
    state_.notify_reader(end);
    if (at.out != nullptr) state_.complete(at, *at.out, -EPIPE);
  }
  Address local_address(int fd) noexcept override {
    Socket& socket = state_.socket(fd);
    return socket.connection != nullptr ? socket.connection->address[socket.side] : socket.address;
  }
  Address peer_address(int fd) noexcept override {
    Socket& socket = state_.socket(fd);
    return socket.connection != nullptr ? socket.connection->address[1 - socket.side] : Address();
  }
  std::uint64_t system_calls() const noexcept override { return 0; }

  void make_ready(io::Op& op) noexcept override {
    if (op.linked()) return;
    ready_.push_back(op);
    ++worker().ready;
  }

 private:
  Worker& worker() noexcept { return *state_.workers[index_]; }

  bool try_at_once(Socket& at, io::Send& op) noexcept {
    op.sent = 0;
    if (at.connection == nullptr || !state_.random.chance(state_.options.instant_send)) return false;
    if (const int error = State::send_error(at.connection->end[at.side])) {
      op.result = -error;
      return true;
    }
    const std::size_t bytes = std::min(state_.space(*at.connection, at.side), State::left(op));
    state_.trace("send w{} fd={} {}", index_, op.fd, bytes);
    if (!state_.push(at, op, bytes)) return false;
    op.result = op.total();
    return true;
  }

  void connect(Socket& at, io::Connect& op) noexcept {
    state_.trace("connect w{} fd={} {}", index_, op.fd, op.address.to_string());
    if (at.connection != nullptr) {
      state_.complete(at, op, -EISCONN);
      return;
    }
    const auto answers = [&](const SocketPtr& l) { return l->address == op.address; };
    if (op.address.is_unix() && std::none_of(state_.listeners.begin(), state_.listeners.end(), answers)) {
      state_.complete(at, op, -ENOENT);
      return;
    }
    state_.at(state_.now + state_.latency(), [this, client = state_.shared(op.fd), attempt = at.attempt,
                                              to = op.address] { state_.syn(client, attempt, to); });
  }

  // --- Files.

  // Takes place after a delay; what begins at the same time does so in any order.
  void submit_file(io::FileOp& op) {
    if (op.kind == io::Kind::WriteAt) static_cast<io::WriteAt&>(op).written = 0;
    op.pending = true;
    const std::uint64_t id = state_.sequence;
    files_.emplace(id, &op);
    state_.at(state_.now + state_.latency(), [this, id] {
      const auto it = files_.find(id);
      if (it == files_.end()) return;
      io::FileOp& begun = *it->second;
      files_.erase(it);
      const int result = carry_out(begun);
      state_.trace("file w{} {} {}", index_, static_cast<int>(begun.kind), result);
      complete_file(begun, result);
    });
  }
  // It has begun, and is waited for, or it has not.
  void cancel_file(io::FileOp& op) {
    op.cancelling = true;
    if (state_.random.chance(0.5)) return;
    state_.trace("cancel file w{} {}", index_, static_cast<int>(op.kind));
    std::erase_if(files_, [&](const auto& each) { return each.second == &op; });
    complete_file(op, -ECANCELED);
  }
  void complete_file(io::Op& op, int result) {
    op.result = result;
    op.cancelling = true;
    make_ready(op);
  }
  Socket* file_of(int fd) {
    Socket& at = state_.socket(fd);
    return at.is_file ? &at : nullptr;
  }

  int carry_out(io::FileOp& op) {
    Disk& disk = state_.disk;
    switch (op.kind) {
      case io::Kind::Open:
        return open_file(static_cast<io::Open&>(op));
      case io::Kind::Rename:
        return disk.rename(static_cast<io::Rename&>(op).from, static_cast<io::Rename&>(op).to);
      case io::Kind::Remove:
        return disk.remove(static_cast<io::Remove&>(op).path);
      case io::Kind::Status: {
        auto& status = static_cast<io::Status&>(op);
        Socket* at = status.path == nullptr ? file_of(op.fd) : nullptr;
        if (status.path == nullptr && (at == nullptr || at->file < 0)) return -EINVAL;
        const std::int64_t size = at != nullptr ? disk.size(at->file) : disk.find(status.path);
        if (size < 0) return static_cast<int>(size);
        status.size = static_cast<std::uint64_t>(size);
        status.modified_ns = 0;
        status.mode = S_IFREG | 0644;
        return 0;
      }
      default:
        break;
    }
    Socket* at = file_of(op.fd);
    if (at == nullptr) return -EINVAL;
    if (op.kind == io::Kind::Sync) return at->file < 0 ? disk.sync_folder(at->folder) : disk.sync(at->file);
    if (at->file < 0) return -EISDIR;
    if (op.kind == io::Kind::ReadAt) {
      auto& read = static_cast<io::ReadAt&>(op);
      return static_cast<int>(disk.read(at->file, {read.data, std::min<std::size_t>(read.size, 1 << 30)}, read.offset));
    }
    if (!at->writable) return -EBADF;
    if (op.kind == io::Kind::Truncate) return disk.truncate(at->file, static_cast<io::Truncate&>(op).size);
    auto& write = static_cast<io::WriteAt&>(op);
    for (;;) {
      const std::string_view part(static_cast<const char*>(write.parts->iov_base), write.parts->iov_len);
      const std::int64_t written = disk.write(at->file, part, write.offset);
      if (written < 0) return static_cast<int>(written);
      if (io::advance(write, static_cast<std::size_t>(written))) return io::total_of(write);
    }
  }
  int open_file(io::Open& op) {
    Disk& disk = state_.disk;
    int file = -1;
    const bool is_folder = (op.flags & O_DIRECTORY) != 0;
    if (!is_folder) {
      if ((op.flags & O_EXCL) != 0 && disk.find(op.path) >= 0) return -EEXIST;
      file = disk.open(op.path, (op.flags & O_CREAT) != 0);
      if (file < 0) return file;
      if ((op.flags & O_TRUNC) != 0) {
        if (const int error = disk.truncate(file, 0)) {
          disk.close(file);
          return error;
        }
      }
    }
    Socket& made = *state_.new_socket(AF_UNSPEC);
    made.is_file = true;
    made.writable = (op.flags & O_ACCMODE) != O_RDONLY;
    made.file = file;
    if (is_folder) made.folder = std::string(op.path) + "/";
    return made.fd;
  }

  static void finish(io::Op& op, int result) noexcept {
    op.result = result;
    op.more = false;
    op.pending = false;
    op.cancelling = false;
    op.done(op);
  }

  int run_ready(io::Op& op) noexcept {
    if (op.cancelling) {
      state_.trace("done w{} fd={} {}", index_, op.fd, op.result);
      finish(op, op.result);
      return 1;
    }
    if (op.kind == io::Kind::Accept) return accept(static_cast<io::Accept&>(op));
    if (op.kind == io::Kind::Receive && !op.paused) return receive(static_cast<io::Receive&>(op));
    return 0;
  }

  int take_first(Socket& listener) noexcept {
    const ConnectionPtr connection = std::move(listener.queue.front());
    listener.queue.pop_front();
    const SocketPtr made = state_.new_socket(listener.family);
    made->connection = connection;
    made->side = 1;
    connection->end[1].socket = made.get();
    state_.trace("accept w{} fd={} c{} {}", index_, listener.fd, connection->id, made->fd);
    return made->fd;
  }

  int accept(io::Accept& op) noexcept {
    const SocketPtr listener = state_.shared(op.fd);
    if (listener->queue.empty()) return 0;
    if (state_.strikes(state_.options.accept_failure, FaultKind::AcceptFailure, static_cast<std::uint64_t>(op.fd),
                       listener->accepts++)) {
      ++state_.faults.accept_failures;
      state_.trace("accept w{} fd={} EMFILE", index_, op.fd);
      listener->in = nullptr;
      finish(op, -EMFILE);
      return 1;
    }
    op.result = take_first(*listener);
    op.more = true;
    op.done(op);
    if (listener->in != nullptr && !listener->queue.empty()) listener->in_by->make_ready(*listener->in);
    return 1;
  }

  int receive(io::Receive& op) noexcept {
    const SocketPtr socket = state_.shared(op.fd);
    const ConnectionPtr connection = socket->connection;
    End& end = connection->end[socket->side];
    if (end.unread() != 0) {
      std::size_t size = std::min(end.unread(), read_bytes_max);
      if (state_.random.chance(0.3)) size = 1 + state_.random.below(size);
      size = state_.delivered(size, *connection, socket->side);
      char* data = new char[size];
      std::memcpy(data, end.inbox.data() + end.taken, size);
      end.taken += size;
      state_.trace("receive w{} fd={} {} {:016x}", index_, op.fd, size, hash_bytes(0, {data, size}));
      state_.opened_window(connection, socket->side);
      op.data = data;
      op.buffer = 0;
      op.result = static_cast<int>(size);
      op.more = true;
      held_ = false;
      op.done(op);
      if (!std::exchange(held_, false)) delete[] data;
      if (socket->in != nullptr && !socket->in->paused && end.has_news()) make_ready(*socket->in);
      return 1;
    }
    if (!end.has_news()) return 0;
    int result = 0;
    if (!end.fin) result = -std::exchange(end.error, 0);
    socket->in = nullptr;
    state_.trace("receive w{} fd={} end {}", index_, op.fd, result);
    finish(op, result);
    return 1;
  }

  State& state_;
  const std::size_t index_;
  List<io::Op> ready_;
  std::map<std::uint64_t, io::FileOp*> files_;  // Those that have not begun.
  bool held_ = false;
};

Simulation::Simulation(const SimOptions& options, Disk* disk) : state_(std::make_unique<State>(*this, options, disk)) {
  state_->sockets.resize(first_fd);
}
Simulation::~Simulation() { state_->workers.clear(); }

io::Loop& Simulation::add_loop() {
  const std::size_t index = state_->workers.size();
  state_->workers.push_back(std::make_unique<Worker>());
  auto engine = std::make_unique<Engine>(*state_, index);
  state_->workers[index]->loop = std::make_unique<io::Loop>(std::move(engine), *this, static_cast<int>(index));
  return *state_->workers[index]->loop;
}
Executor& Simulation::pool() noexcept { return state_->pool; }
Disk& Simulation::disk() noexcept { return state_->disk; }

bool Simulation::step() { return state_->step(Instant::never()); }
bool Simulation::run_until(FunctionRef<bool()> done, Duration limit) {
  const Instant end = state_->now + limit;
  while (!done()) {
    if (state_->now >= end) return false;
    if (!state_->step(end) && end.is_never()) return done();
  }
  return true;
}

Instant Simulation::now() noexcept { return state_->now; }
std::int64_t Simulation::wall_ns() noexcept { return state_->wall_offset_ns + state_->now.ns(); }
std::uint64_t Simulation::random() noexcept { return state_->random.next(); }
void Simulation::start_timer(Timer& timer, Instant at) noexcept { state_->pool_timers.start(timer, at); }
void Simulation::stop_timer(Timer& timer) noexcept { state_->pool_timers.stop(timer); }
std::unique_ptr<Thread> Simulation::start_thread(const char*, Function<void()>) {
  KEEL_CHECK(false, "a simulation has one thread: work goes to its pool()");
  return nullptr;
}

std::uint64_t Simulation::trace_hash() const noexcept { return state_->hash; }
std::string_view Simulation::trace_text() const noexcept {
  const std::string_view text = state_->text;
  const std::size_t most = state_->options.trace_bytes_max;
  return text.size() > most ? text.substr(text.size() - most) : text;
}
const FaultCounts& Simulation::faults() const noexcept { return state_->faults; }
const std::vector<Fault>& Simulation::struck() const noexcept { return state_->struck; }
std::string Simulation::replay() const {
  return fmt::format("replay: {}; time {} ms; trace {:016x}", state_->options.to_string(), state_->now.ns() / 1'000'000,
                     state_->hash);
}

}  // namespace keel::sim
