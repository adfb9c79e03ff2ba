#include "keel/net/messages/server.h"

#include <memory>
#include <utility>

#include "keel/net/messages/internal/connection.h"
#include "keel/net/transport.h"
#include "keel/observe/log.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"
#include "keel/task/until.h"

namespace keel::messages {

struct Server::State final : internal::Owner {
  State(const Handlers& handlers, ServerOptions&& given) : options(std::move(given)), log("messages") {
    // Shared with the connections, which may outlive the server.
    auto made = std::make_shared<internal::Settings>();
    made->options = internal::with_room_to_wait(options.peer);
    made->handlers = &handlers;
    made->metrics = options.metrics;
    settings = std::move(made);
    none.set();
  }

  void on_open(internal::Connection& connection) noexcept override {
    if (options.on_open) options.on_open(connection);
  }
  void on_idle(internal::Connection& connection) noexcept override {
    if (is_draining) connection.close(Error(Code::Unavailable, "the server is being stopped"));
  }
  void on_end(internal::Connection& connection, const Error& reason) noexcept override {
    connections.remove(connection);
    if (reason.code() == Code::Cancelled || reason.code() == Code::Unavailable) {
      log.debug("connection closed", reason);
    } else {
      log.info("connection closed", reason);
    }
    if (options.on_closed) options.on_closed(connection, reason);
    ended_one();
  }
  class Holding;
  static Task<> hold(State& state);
  static Task<> until_none(State& state);
  void ended_one() noexcept;
  void close_all() noexcept {
    connections.for_each([](internal::Connection& connection) {
      connection.close(Error(Code::Unavailable, "the server is being stopped"));
    });
  }

  ServerOptions options;
  log::Logger log;
  std::shared_ptr<const internal::Settings> settings;
  List<internal::Connection> connections;
  std::size_t count = 0;
  bool is_draining = false;
  Event none;  // This event is set when no connection is left.
  Holding* holding = nullptr;
};

// Waits until the server is released. If the wait is cancelled, the server closes all connections and waits for their
// end.
class Server::State::Holding : public Leaf {
 public:
  using Value = void;
  explicit Holding(State& state) noexcept : Leaf(&cancel), state_(state) {}
  bool start() noexcept {
    state_.holding = this;
    return false;
  }
  Result<> take() noexcept { return {}; }
  void release() noexcept {
    state_.holding = nullptr;
    wake();
  }
  bool is_cancelled() const noexcept { return is_cancelled_; }

 private:
  static void cancel(Leaf& leaf) noexcept {
    auto& holding = static_cast<Holding&>(leaf);
    holding.is_cancelled_ = true;
    holding.state_.is_draining = true;
    holding.state_.close_all();
    if (holding.state_.count == 0) holding.release();
  }
  State& state_;
  bool is_cancelled_ = false;
};

Task<> Server::State::hold(State& state) { co_await Holding(state); }
Task<> Server::State::until_none(State& state) { co_await state.none.wait(); }

void Server::State::ended_one() noexcept {
  if (--count != 0) return;
  none.set();
  if (holding != nullptr && holding->is_cancelled()) holding->release();
}

Server::Server(const Handlers& handlers, ServerOptions options) : state_(new State(handlers, std::move(options))) {}

Server::~Server() {
  while (internal::Connection* const connection = state_->connections.pop_front()) connection->let_go();
  delete state_;
}

void Server::add(Stream stream) {
  if (state_->options.layers != nullptr) {
    Result<Stream> layered = Stream::layered(*state_->options.layers, "", std::move(stream));
    if (!layered) {
      state_->log.warn("a connection was rejected", layered.error());
      return;
    }
    stream = *std::move(layered);
  }
  auto* const connection = new internal::Connection(stream.detach(), state_->settings, state_);
  state_->connections.push_back(*connection);
  ++state_->count;
  state_->none.reset();
  if (state_->is_draining) {
    connection->close(Error(Code::Unavailable, "the server is being stopped"));
  } else if (state_->count > state_->options.connections_max) {
    connection->close(Error(Code::ResourceExhausted, "the server's limit of connections is reached"));
  }
}

Task<> Server::serve(Listener& listener, Event& stopping) {
  Scope held;
  held.spawn(State::hold(*state_));
  while (auto stream = co_await keel::until(stopping, listener.accept())) add(*std::move(stream));
  co_await stop();
  state_->holding->release();
  co_await held.join();
}

Task<> Server::take_rest(Listener& listener) {
  listener.stop();
  while (auto stream = co_await attempt(listener.accept())) add(*std::move(stream));
}

Task<> Server::stop() {
  state_->is_draining = true;
  state_->connections.for_each([](internal::Connection& connection) { connection.drain(); });
  Result<> drained = co_await attempt(with_timeout(state_->options.drain, State::until_none(*state_)));
  if (!drained && drained.error().code() != Code::DeadlineExceeded) co_await std::move(drained);
  state_->close_all();
  co_await state_->none.wait();
}

void Server::change(const PeerOptions& peer, std::size_t connections_max, Duration drain) {
  auto settings = std::make_shared<internal::Settings>(*state_->settings);
  settings->options = internal::with_room_to_wait(peer);
  state_->settings = std::move(settings);
  state_->options.connections_max = connections_max;
  state_->options.drain = drain;
}

std::size_t Server::connections() const noexcept { return state_->count; }
void Server::each(FunctionRef<void(Peer&)> f) {
  state_->connections.for_each([&](internal::Connection& connection) {
    if (connection.is_greeted()) f(connection);
  });
}

}  // namespace keel::messages
