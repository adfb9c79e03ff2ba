#include "keel/io/testing/simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/exec/delayed_jobs.h"
#include "keel/io/datagrams.h"
#include "keel/io/internal/sockets.h"
#include "keel/io/testing/disk.h"
#include "keel/io/testing/internal/datagrams.h"
#include "keel/io/testing/internal/files.h"
#include "keel/io/testing/internal/network.h"
#include "keel/io/testing/internal/world.h"

namespace keel::sim {
namespace {

constexpr std::int64_t wall_start_ns = 1'767'225'600'000'000'000;
constexpr std::size_t read_bytes_max = 64 * 1024;
constexpr int idle_turns_max = 3;

}  // namespace

class Simulation::Pool final : public Executor {
 public:
  explicit Pool(Simulation& simulation) : simulation_(simulation) {}
  void post(Job& job) noexcept override;
  bool offer_after(Job& job, Duration delay) noexcept override;
  bool has_clock() const noexcept override { return true; }

 private:
  Simulation& simulation_;
};

// While an OnPool exists, the simulation is the thread's host, and the pool of the simulation is the thread's executor.
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
  Instant until;  // The time until which the loop would have slept.
  Instant stalled_until;
  int idle_turns = 0;  // The number of iterations without any work although `until` had passed.
  bool again = true;   // The next iteration may have work even before `until`.
  std::size_t ready = 0;
  std::uint64_t turns = 0;  // The number of iterations with work; each iteration is an opportunity for a fault.
};

struct Simulation::State {
  State(Simulation& owner, const SimOptions& options, Disk* d)
      : simulation(owner),
        own_disk(d == nullptr ? std::make_unique<Disk>(options.seed) : nullptr),
        disk(d == nullptr ? *own_disk : *d),
        world(options),
        network(world),
        datagrams(world, network),
        pool(owner),
        pool_timers(world.now),
        pool_delayed(pool, pool_timers),
        wall_offset_ns(wall_start_ns - world.now.ns()) {}

  Simulation& simulation;
  const std::unique_ptr<Disk> own_disk;
  Disk& disk;
  World world;
  Network network;
  Datagrams datagrams;
  Pool pool;
  TimerWheel pool_timers;
  DelayedJobs pool_delayed;
  std::int64_t wall_offset_ns;
  std::uint64_t jumps = 0;  // The number of jumps of time; each jump is an opportunity for a fault.
  int turning = -1;         // The worker that runs now.
  std::vector<std::unique_ptr<Worker>> workers;

  void run_due() {
    world.run_due();
    if (pool_timers.running() == 0 || pool_timers.next() > world.now) return;
    world.trace("pool timers");
    OnPool on_pool(simulation, pool);
    pool_timers.advance(world.now);
  }

  bool runnable(const Worker& worker) const noexcept {
    if (worker.stalled_until > world.now) return false;
    return worker.again || worker.ready != 0 || (worker.until <= world.now && worker.idle_turns < idle_turns_max);
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
    worker.idle_turns = handled != 0 || worker.until > world.now ? 0 : worker.idle_turns + 1;
    if (handled != 0) world.trace("turn w{} {}", index, handled);
    // Each iteration takes some virtual time.
    world.now = world.now + world.random.between(1_us, 10_us);
    if (handled == 0) return handled;
    if (auto how = world.strikes(world.options.stall, FaultKind::Stall, index, worker.turns++)) {
      ++world.faults.stalls;
      worker.stalled_until = world.now + how->between(1_ms, 300_ms);
      world.trace("stall w{}", index);
    }
    return handled;
  }
  // Does one step; the time does not advance beyond `limit`.
  bool step(Instant limit) {
    run_due();
    std::vector<std::size_t> choice;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (runnable(*workers[i])) choice.push_back(i);
    }
    if (!choice.empty()) {
      turn(choice[world.random.below(choice.size())]);
      return true;
    }
    // Work may have been started outside an iteration, so every loop is asked how long it would sleep now.
    int handled = 0;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (workers[i]->stalled_until <= world.now) handled += turn(i);
    }
    for (const auto& worker : workers) {
      if (runnable(*worker)) return true;
    }
    if (handled != 0) return true;
    Instant next = std::min(world.next_event(), pool_timers.next());
    for (const auto& worker : workers) {
      if (worker->stalled_until > world.now) next = std::min(next, worker->stalled_until);
      if (worker->until > world.now) next = std::min(next, worker->until);
    }
    if (next.is_never() && limit.is_never()) return false;
    const bool any = !next.is_never();
    world.now = std::max(world.now, std::min(next, limit));
    if (auto how = world.strikes(world.options.clock_jump, FaultKind::ClockJump, 0, jumps++)) {
      ++world.faults.clock_jumps;
      wall_offset_ns += how->between(-1_h, 1_h).count_ns();
      world.trace("calendar {}", wall_offset_ns);
    }
    return any;
  }
};

void Simulation::Pool::post(Job& job) noexcept {
  State& state = *simulation_.state_;
  state.world.at(state.world.now + state.world.random.between(1_us, 5_ms), [this, &job] {
    simulation_.state_->world.trace("pool job");
    OnPool on_pool(simulation_, *this);
    job.run(job);
  });
}

bool Simulation::Pool::offer_after(Job& job, Duration delay) noexcept {
  State& state = *simulation_.state_;
  return state.pool_delayed.start(job, state.world.now + delay);
}

class Simulation::Engine final : public io::Engine, public Completer {
 public:
  Engine(State& state, std::size_t index)
      : state_(state),
        world_(state.world),
        network_(state.network),
        datagrams_(state.datagrams),
        files_(state.world, state.network, state.disk, *this, index),
        index_(index) {}
  ~Engine() override {
    while (ready_.pop_front() != nullptr) {
    }
  }

  const char* name() const noexcept override { return "sim"; }

  bool submit(io::Op& op) noexcept override {
    KEEL_CHECK(!op.pending, "an operation can be submitted again only after it is done");
    op.cancelling = false;
    op.more = false;
    op.paused = false;
    if (io::is_of_file(op.kind)) {
      files_.submit(static_cast<io::FileOp&>(op));
      return false;
    }
    if (op.kind == io::Kind::Ready) {
      op.pending = true;
      op.result = -EOPNOTSUPP;
      op.cancelling = true;
      make_ready(op);
      return false;
    }
    Socket& at = network_.socket(op.fd);
    if (op.kind == io::Kind::Send && network_.send_at_once(at, static_cast<io::Send&>(op), index_)) return true;
    if (op.kind == io::Kind::SendDatagrams && send_at_once(at, static_cast<io::SendDatagrams&>(op))) return true;
    op.pending = true;
    if (op.kind == io::Kind::ReceiveDatagrams) {
      KEEL_CHECK(at.in == nullptr && at.datagrams != nullptr,
                 "a socket for datagrams can have only one pending ReceiveDatagrams");
      at.in = &op;
      at.in_by = this;
      if (at.datagrams->has_news()) make_ready(op);
      return false;
    }
    if (op.kind == io::Kind::Receive || op.kind == io::Kind::Accept) {
      KEEL_CHECK(at.in == nullptr, "a socket can have only one pending Receive or Accept");
      at.in = &op;
      at.in_by = this;
      if (op.kind == io::Kind::Accept && !at.listening) {
        network_.complete(at, op, -EINVAL);
      } else if (op.kind == io::Kind::Receive && at.connection == nullptr) {
        network_.complete(at, op, -ENOTCONN);
      } else if (op.kind == io::Kind::Accept ? !at.queue.empty() : at.connection->end[at.side].has_news()) {
        make_ready(op);
      }
      return false;
    }
    KEEL_CHECK(at.out == nullptr, "a socket can have only one pending Send, Connect or SendDatagrams");
    at.out = &op;
    at.out_by = this;
    ++at.attempt;
    at.step_planned = false;
    if (op.kind == io::Kind::Connect) {
      auto& connect = static_cast<io::Connect&>(op);
      world_.trace("connect w{} fd={} {}", index_, op.fd, connect.address.to_string());
      network_.connect(at, connect);
    } else if (op.kind == io::Kind::SendDatagrams) {
      datagrams_.plan_send(at);
    } else if (at.connection == nullptr) {
      network_.complete(at, op, -ENOTCONN);
    } else {
      network_.plan_send(at);
    }
    return false;
  }

  void cancel(io::Op& op) noexcept override {
    if (!op.pending || op.cancelling) return;
    if (io::is_of_file(op.kind)) {
      files_.cancel(static_cast<io::FileOp&>(op));
      return;
    }
    world_.trace("cancel w{} fd={}", index_, op.fd);
    network_.complete(network_.socket(op.fd), op, io::result_of_cancelled(op));
  }

  void resume(io::Receive& op) noexcept override {
    if (!op.paused) return;
    op.paused = false;
    if (op.pending) make_ready(op);
  }
  // No bytes are lost: those that were not delivered stay in the inbox.
  void end_receive(io::Receive& op) noexcept override { cancel(op); }

  io::Held hold(io::Receive& op) noexcept override {
    held_ = true;
    return {op.data, static_cast<std::uint32_t>(op.result), 0};
  }
  void release(io::Held held) noexcept override { delete[] held.data; }

  bool wait(Instant until) noexcept override {
    KEEL_CHECK(state_.turning == static_cast<int>(index_), "a simulated loop can be run only by its simulation");
    worker().until = until;
    worker().again = false;
    return true;
  }

  int dispatch() noexcept override {
    List<io::Op> ready;
    while (io::Op* op = ready_.pop_front()) {
      world_.random.chance(0.5) ? ready.push_back(*op) : ready.push_front(*op);
    }
    worker().ready = 0;
    int completed = 0;
    while (io::Op* op = ready.pop_front()) completed += run_ready(*op);
    return completed;
  }

  void wake() noexcept override { worker().again = true; }

  Result<int> open_listener(const Address& address, const io::ListenOptions& options) override {
    KEEL_CHECK(options.inherited < 0, "in the simulation there is no process to inherit sockets from");
    Address bound = address;
    if (!bound.is_unix() && bound.port() == 0) bound.set_port(network_.free_port());
    const SocketPtr socket = network_.new_socket(bound.family());
    socket->listening = true;
    socket->reuse_port = options.reuse_port;
    socket->dual_stack = options.dual_stack;
    socket->backlog = static_cast<std::size_t>(std::max(options.backlog, 1));
    socket->address = bound;
    if (!bound.is_unix() && options.user_timeout != Duration()) {
      KEEL_TRY_VOID(set_options(socket->fd, {.user_timeout = options.user_timeout}));
    }
    if (!network_.listen(socket)) {
      network_.forget(socket);
      return Error::text(Code::AlreadyExists, "listening on " + bound.to_string() + ": the address is in use");
    }
    world_.trace("listen w{} fd={} {}", index_, socket->fd, bound.to_string());
    return socket->fd;
  }
  Result<int> open_stream(int family, const io::ConnectOptions& options) override {
    if (options.from.family() != AF_UNSPEC && options.from.family() != family) {
      return Error::from_errno("bind", EINVAL);
    }
    const SocketPtr socket = network_.new_socket(family);
    socket->address = options.from;
    return socket->fd;
  }
  Result<int> open_datagram(const io::DatagramOptions& options) override {
    KEEL_TRY_VOID(io::check(options));
    KEEL_TRY(const SocketPtr socket, datagrams_.open(options));
    world_.trace("datagrams w{} fd={} {}", index_, socket->fd, socket->address.to_string());
    return socket->fd;
  }
  Result<> set_options(int fd, const io::SocketOptions& options) override {
    Socket& at = network_.socket(fd);
    KEEL_TRY_VOID(io::check(options, protocol_of(at)));
    const auto take = [](auto& into, const auto& value) {
      if (value) into = value;
    };
    take(at.options.no_delay, options.no_delay);
    take(at.options.keep_alive, options.keep_alive);
    take(at.options.user_timeout, options.user_timeout);
    take(at.options.reset_on_close, options.reset_on_close);
    take(at.options.send_buffer_bytes, options.send_buffer_bytes);
    take(at.options.receive_buffer_bytes, options.receive_buffer_bytes);
    take(at.options.hop_limit, options.hop_limit);
    take(at.options.traffic_class, options.traffic_class);
    take(at.options.broadcast, options.broadcast);
    take(at.options.multicast_hop_limit, options.multicast_hop_limit);
    take(at.options.multicast_loop, options.multicast_loop);
    return {};
  }
  io::SocketOptions options(int fd) override {
    const Socket& at = network_.socket(fd);
    io::SocketOptions options = at.options;
    const auto buffer_bytes = static_cast<int>(world_.options.buffer_bytes);
    if (!options.send_buffer_bytes) options.send_buffer_bytes = buffer_bytes;
    if (!options.receive_buffer_bytes) options.receive_buffer_bytes = buffer_bytes;
    const io::Protocol protocol = protocol_of(at);
    if (protocol == io::Protocol::Unix) return options;
    if (!options.hop_limit) options.hop_limit = 64;
    if (!options.traffic_class) options.traffic_class = 0;
    if (protocol == io::Protocol::Udp) {
      if (!options.broadcast) options.broadcast = false;
      if (!options.multicast_hop_limit) options.multicast_hop_limit = 1;
      if (!options.multicast_loop) options.multicast_loop = true;
      return options;
    }
    if (!options.no_delay) options.no_delay = true;
    if (!options.keep_alive) options.keep_alive = io::KeepAlive{.idle = Duration()};
    if (!options.user_timeout) options.user_timeout = Duration();
    if (!options.reset_on_close) options.reset_on_close = false;
    return options;
  }

  Result<> set_member(int fd, const Address& group, std::uint32_t, bool member) override {
    KEEL_TRY_VOID(io::check_group(group));
    Socket& at = network_.socket(fd);
    if (protocol_of(at) != io::Protocol::Udp) return fail(Code::Unsupported, "multicast groups exist only for UDP");
    return datagrams_.set_member(at, group, member);
  }

  void turn_away(int listener) noexcept override { network_.stop_listening(network_.shared(listener)); }
  int try_accept(int listener) noexcept override {
    const SocketPtr at = network_.shared(listener);
    return at->queue.empty() ? -EAGAIN : take_first(*at);
  }
  void close(int fd) noexcept override {
    const SocketPtr socket = network_.shared(fd);
    KEEL_CHECK(socket->in == nullptr && socket->out == nullptr,
               "a descriptor with a pending operation cannot be closed");
    world_.trace("close w{} fd={}", index_, fd);
    network_.forget(socket);
    if (socket->is_file) {
      if (socket->file >= 0) state_.disk.close(socket->file);
    } else if (socket->datagrams != nullptr) {
      datagrams_.close(socket);
    } else {
      network_.hang_up(socket);
    }
  }
  void shutdown_write(int fd) noexcept override {
    Socket& socket = network_.socket(fd);
    if (socket.connection != nullptr) network_.send_fin(socket.connection, socket.side);
  }
  void shutdown(int fd) noexcept override {
    Socket& at = network_.socket(fd);
    if (at.connection == nullptr) return;
    world_.trace("shutdown w{} fd={}", index_, fd);
    network_.send_fin(at.connection, at.side);
    End& end = at.connection->end[at.side];
    end.fin = true;
    network_.notify_reader(end);
    if (at.out != nullptr) network_.complete(at, *at.out, -EPIPE);
  }
  Address local_address(int fd) noexcept override {
    Socket& socket = network_.socket(fd);
    return socket.connection != nullptr ? Network::seen(socket, socket.side) : socket.address;
  }
  Address peer_address(int fd) noexcept override {
    Socket& socket = network_.socket(fd);
    if (socket.datagrams != nullptr) return socket.datagrams->peer;
    return socket.connection != nullptr ? Network::seen(socket, 1 - socket.side) : Address();
  }
  std::optional<std::uint64_t> acknowledged(int fd) noexcept override {
    Socket& socket = network_.socket(fd);
    if (socket.connection == nullptr || socket.family == AF_UNIX) return std::nullopt;
    return socket.connection->end[1 - socket.side].arrived;
  }
  std::uint64_t unacknowledged(int fd) noexcept override {
    Socket& socket = network_.socket(fd);
    if (socket.connection == nullptr || socket.family == AF_UNIX) return 0;
    return socket.connection->end[1 - socket.side].flight;
  }
  std::uint64_t system_calls() const noexcept override { return 0; }

  void make_ready(io::Op& op) noexcept override {
    if (op.linked()) return;
    ready_.push_back(op);
    ++worker().ready;
  }

 private:
  Worker& worker() noexcept { return *state_.workers[index_]; }
  static io::Protocol protocol_of(const Socket& at) noexcept {
    if (at.family == AF_UNIX) return io::Protocol::Unix;
    return at.datagrams != nullptr ? io::Protocol::Udp : io::Protocol::Tcp;
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
      world_.trace("done w{} fd={} {}", index_, op.fd, op.result);
      finish(op, op.result);
      return 1;
    }
    if (op.kind == io::Kind::Accept) return accept(static_cast<io::Accept&>(op));
    if (op.kind == io::Kind::Receive && !op.paused) return receive(static_cast<io::Receive&>(op));
    if (op.kind == io::Kind::ReceiveDatagrams && !op.paused) {
      return receive_datagram(static_cast<io::ReceiveDatagrams&>(op));
    }
    return 0;
  }

  int take_first(Socket& listener) noexcept {
    const ConnectionPtr connection = std::move(listener.queue.front());
    listener.queue.pop_front();
    const SocketPtr made = network_.new_socket(listener.family);
    made->connection = connection;
    made->options.user_timeout = listener.options.user_timeout;
    made->side = 1;
    connection->end[1].socket = made.get();
    world_.trace("accept w{} fd={} c{} {}", index_, listener.fd, connection->id, made->fd);
    return made->fd;
  }

  int accept(io::Accept& op) noexcept {
    const SocketPtr listener = network_.shared(op.fd);
    if (listener->queue.empty()) return 0;
    if (world_.strikes(world_.options.accept_failure, FaultKind::AcceptFailure, static_cast<std::uint64_t>(op.fd),
                       listener->accepts++)) {
      ++world_.faults.accept_failures;
      world_.trace("accept w{} fd={} EMFILE", index_, op.fd);
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
    const SocketPtr socket = network_.shared(op.fd);
    const ConnectionPtr connection = socket->connection;
    End& end = connection->end[socket->side];
    if (end.unread() != 0) {
      std::size_t size = std::min(end.unread(), read_bytes_max);
      if (world_.random.chance(0.3)) size = 1 + world_.random.below(size);
      size = network_.delivered(size, *connection, socket->side);
      char* data = new char[size];
      std::memcpy(data, end.inbox.data() + end.taken, size);
      end.taken += size;
      world_.trace("receive w{} fd={} {} {:016x}", index_, op.fd, size, hash_bytes(0, {data, size}));
      network_.opened_window(connection, socket->side);
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
    world_.trace("receive w{} fd={} end {}", index_, op.fd, result);
    finish(op, result);
    return 1;
  }

  bool send_at_once(Socket& at, io::SendDatagrams& op) noexcept {
    KEEL_CHECK(at.datagrams != nullptr, "datagrams can be sent only by a socket for datagrams");
    op.sent = 0;
    op.offset = 0;
    if (!world_.random.chance(world_.options.instant_send)) return false;
    const int error = datagrams_.send(at, op);
    if (error == EAGAIN && io::waits_for_room(op)) return false;
    op.result = io::result_of(op, error);
    return true;
  }
  int receive_datagram(io::ReceiveDatagrams& op) noexcept {
    const SocketPtr socket = network_.shared(op.fd);
    DatagramSide& side = *socket->datagrams;
    if (side.error != 0) {
      socket->in = nullptr;
      world_.trace("datagram w{} fd={} error {}", index_, op.fd, side.error);
      finish(op, -std::exchange(side.error, 0));
      return 1;
    }
    if (side.inbox.empty()) return 0;
    const DatagramSide::Packet packet = datagrams_.take(side, op.join && socket->family != AF_UNIX);
    const std::size_t most = op.join ? packet.bytes.size() : op.bytes_max;
    const std::size_t size = std::min(packet.bytes.size(), most);
    char* data = new char[std::max<std::size_t>(size, 1)];
    std::memcpy(data, packet.bytes.data(), size);
    world_.trace("datagram w{} fd={} taken {}", index_, op.fd, size);
    op.data = data;
    op.buffer = 0;
    op.result = static_cast<int>(size);
    op.from = packet.from;
    op.cut = size < packet.bytes.size();
    op.segment_bytes = packet.segment_bytes;
    op.more = true;
    held_ = false;
    op.done(op);
    if (!std::exchange(held_, false)) delete[] data;
    if (socket->in != nullptr && !socket->in->paused && side.has_news()) make_ready(*socket->in);
    return 1;
  }

  State& state_;
  World& world_;
  Network& network_;
  Datagrams& datagrams_;
  Files files_;
  const std::size_t index_;
  List<io::Op> ready_;
  bool held_ = false;
};

Simulation::Simulation(const SimOptions& options, Disk* disk) : state_(std::make_unique<State>(*this, options, disk)) {}
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
  const Instant end = state_->world.now + limit;
  while (!done()) {
    if (state_->world.now >= end) return false;
    if (!state_->step(end) && end.is_never()) return done();
  }
  return true;
}

Instant Simulation::now() noexcept { return state_->world.now; }
void Simulation::set_calendar(Duration by) noexcept {
  state_->wall_offset_ns += by.count_ns();
  state_->world.trace("calendar {}", state_->wall_offset_ns);
}

std::int64_t Simulation::wall_ns() noexcept { return state_->wall_offset_ns + state_->world.now.ns(); }
std::uint64_t Simulation::random() noexcept { return state_->world.random.next(); }
void Simulation::start_timer(Timer& timer, Instant at) noexcept { state_->pool_timers.start(timer, at); }
void Simulation::stop_timer(Timer& timer) noexcept { state_->pool_timers.stop(timer); }
std::unique_ptr<Thread> Simulation::start_thread(const char*, Function<void()>) {
  KEEL_CHECK(false, "a simulation has only one thread: run the work on the pool() of the simulation");
  return nullptr;
}

std::uint64_t Simulation::trace_hash() const noexcept { return state_->world.hash; }
std::string_view Simulation::trace_text() const noexcept {
  const std::string_view text = state_->world.text;
  const std::size_t most = state_->world.options.trace_bytes_max;
  return text.size() > most ? text.substr(text.size() - most) : text;
}
const FaultCounts& Simulation::faults() const noexcept { return state_->world.faults; }
const std::vector<Fault>& Simulation::struck() const noexcept { return state_->world.struck; }
std::string Simulation::replay() const {
  return fmt::format("replay: {}; time {} ms; trace {:016x}", state_->world.options.to_string(),
                     state_->world.now.ns() / 1'000'000, state_->world.hash);
}

}  // namespace keel::sim
