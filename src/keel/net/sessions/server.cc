#include "keel/net/sessions/server.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/constant_time.h"
#include "keel/base/host.h"
#include "keel/io/loop.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/internal/registry_state.h"
#include "keel/observe/log.h"
#include "keel/task/leaf.h"
#include "keel/task/start.h"

namespace keel::sessions {
namespace {

constexpr Duration heartbeat_min = 10_ms;

int worker_index() noexcept {
  const io::Loop* const loop = io::Loop::current();
  return loop != nullptr ? loop->index() : 0;
}

Error session_moves() noexcept { return Error(Code::Unavailable, "the session is moving to another connection"); }

Error is_older() noexcept { return Error(Code::Conflict, "the session already continues on a newer connection"); }

std::string_view secret_of(const internal::Token& token) noexcept { return {token.secret.data(), token.secret.size()}; }

}  // namespace

struct Server::State final : messages::FrameSink {
  class ServerSession;
  class Greeted;
  struct Move;

  State(Server& s, Registry::State& r, const Handlers& h, ServerOptions&& o);
  ~State();

  // Called when a connection sends its first session frame.
  Result<> on_frame(messages::Peer& peer, std::string_view payload) noexcept override;
  void on_batch_end(messages::Peer&) noexcept override {}
  void on_writable(messages::Peer&) noexcept override {}
  void on_closed(messages::Peer&, const Error&) noexcept override {}

  Duration heartbeat(Duration of_client) const noexcept {
    const Duration own = options.session.heartbeat;
    if (of_client == Duration() && own == Duration()) return own;
    if (of_client == Duration()) return std::max(own, heartbeat_min);
    return std::max(own == Duration() ? of_client : std::min(of_client, own), heartbeat_min);
  }
  // Gives an authenticated client its session, or tells the client why it gets none. While the session is still moving
  // to this worker, the client waits.
  void settle(Greeted& client);
  void begin_session(Greeted& client);
  Result<> resume(Greeted& client, ServerSession& session);
  // Requests the session from the worker that has it.
  enum class Elsewhere : std::uint8_t { No, Asked, Moves };
  Elsewhere ask_for(Greeted& client);
  void give(std::uint64_t number, const Move& move);
  enum class Instead : std::uint8_t { New, Wait, Older };
  void answer(const Move& move, Instead instead);
  void hand_over(ServerSession& session, const Move& move);
  void take_in(const Move& move, std::shared_ptr<internal::MovingSession> moving, std::shared_ptr<Card> card);
  void reject(Greeted& client, const Error& reason);
  Greeted* find_greeted(std::uint64_t id) noexcept;
  void forget(Card& card) noexcept;

  // Keeps an ended session whose functions may still be on the stack, or which has a running handler.
  void bury(std::unique_ptr<ServerSession> session);
  void bury(std::unique_ptr<Greeted> client);
  void dig() noexcept;
  void post_dig() noexcept;
  bool is_quiet() const noexcept {
    return greeted.empty() && sessions.empty() && ended_greeted.empty() && ended_sessions.empty();
  }

  Server& server;
  Registry::State& registry;
  const Handlers& handlers;
  ServerOptions options;
  std::shared_ptr<Home> home;
  bool is_stopping = false;
  std::uint64_t next_greeted = 1;
  std::unordered_map<std::uint64_t, std::unique_ptr<ServerSession>> sessions;
  std::unordered_map<std::uint64_t, std::unique_ptr<Greeted>> greeted;
  std::vector<std::unique_ptr<ServerSession>> ended_sessions;
  std::vector<std::unique_ptr<Greeted>> ended_greeted;
  bool is_dig_posted = false;
  class Quiet;
  Quiet* stopping = nullptr;  // Waits for all ended sessions.
};

// Completes only when no session is left, even if the awaiting task is cancelled, because handlers may refer to objects
// that live only until this wait completes.
class Server::State::Quiet : public Leaf {
 public:
  using Value = void;
  explicit Quiet(State& state) noexcept : Leaf(nullptr, WhenStopped::Begins), state_(state) {}
  bool start() noexcept {
    if (state_.is_quiet()) return true;
    state_.stopping = this;
    return false;
  }
  Result<> take() noexcept { return {}; }
  void arrive() noexcept { wake(); }

 private:
  State& state_;
};

// A client that requests a session of another worker.
struct Server::State::Move {
  std::shared_ptr<Home> to;
  std::uint64_t greeted = 0;
  internal::Token token;
  std::uint64_t attempt = 0;
  std::string name;
};

class Server::State::ServerSession final : public Session {
 public:
  ServerSession(State& server, std::shared_ptr<Card> card)
      : Session(server.handlers, server.options.session, internal::Role::Server),
        server_(server),
        card_(std::move(card)) {
    expiry_ = server.options.expiry;
  }

  void begin(const Token& token, std::string name) {
    token_ = token;
    name_ = std::move(name);
  }
  bool is_of(const Token& token, std::string_view name) const noexcept {
    return constant_time_equal(secret_of(token_), secret_of(token)) && name_ == name;
  }
  bool is_newer_than(std::uint64_t attempt) const noexcept { return attempt_ > attempt; }
  std::shared_ptr<Card> shared_card() const noexcept { return card_; }
  const Token& token() const noexcept { return token_; }

  // Sends the welcome over the client's connection.
  Result<> welcome(messages::Peer& peer, const internal::Hello& hello, bool is_resumed) {
    internal::Welcome welcome{.is_resumed = is_resumed,
                              .token = token_,
                              .point = core_.tell_point(),
                              .heartbeat = server_.heartbeat(hello.heartbeat),
                              .expiry = expiry_,
                              .window = core_.window()};
    KEEL_TRY_VOID(link(peer, hello.point, hello.window, welcome.heartbeat));
    attempt_ = hello.attempt;
    // The client is connected to this worker, so a request from another worker is out of date.
    if (const auto move = std::exchange(move_, nullptr); move != nullptr) server_.answer(*move, Instead::Older);
    Buffer out;
    internal::write(out, welcome);
    Result<> sent = peer.try_send_session(out.view());
    if (!sent) {
      unlink(sent.error().clone());
      return sent;
    }
    {
      const std::lock_guard lock(server_.registry.mutex);
      card_->address = peer.address().to_string();
    }
    set_connected(true);
    tell({.kind = is_resumed ? SessionEvent::Kind::Resumed : SessionEvent::Kind::Connected});
    flush();
    return {};
  }
  // Tells the older connection that a newer one took the session over.
  void take_over() noexcept {
    if (!is_connected()) return;
    server_.registry.taken_over.fetch_add(1, relaxed);
    Error reason(Code::Conflict, "a newer connection took the session over");
    say_bye(reason);
    unlink(std::move(reason));
  }
  internal::MovingSession move_out(Error reason) { return Session::move_out(std::move(reason)); }
  void move_in(internal::MovingSession&& moving) {
    Session::move_in(std::move(moving));
    if (has_ended()) return;
    noted();
    unlinked(Error(Code::Unavailable, "the session moved to another worker"));
  }
  bool is_busy() const noexcept { return Session::is_busy(); }
  Error end_reason() const noexcept { return Session::end_reason(); }
  // Called before the session leaves this worker, or ends.
  void leave_sums() noexcept {
    set_connected(false);
    server_.home->ring_bytes.subtract(card_->ring_bytes.get());
    card_->ring_bytes.set(0);
  }
  // Sets the worker to which the session moves when its handler has ended. Returns false if the session is already
  // moving to another worker.
  bool give_later(const Move& move) {
    if (move_) return false;
    move_ = std::make_unique<Move>(move);
    attempt_ = move.attempt;
    return true;
  }

 private:
  Result<> greet(std::string_view) override { return fail(Code::Protocol, "the session has begun already"); }
  void unlinked(const Error&) noexcept override {
    set_connected(false);
    expires_at_ = Host::current().now() + expiry_;
    if (expiry_ == Duration()) return expire();
    arm();
  }
  Instant expires() const noexcept override { return expires_at_; }
  void expire() noexcept override {
    server_.registry.expired.fetch_add(1, relaxed);
    finish(Error(Code::DeadlineExceeded, "the client did not reconnect in time"));
  }
  void ended() noexcept override {
    noted();
    leave_sums();
    server_.forget(*card_);
    if (const auto move = std::exchange(move_, nullptr); move != nullptr) server_.answer(*move, Instead::New);
    const auto found = server_.sessions.find(number());
    if (found == server_.sessions.end() || &*found->second != this) return;
    std::unique_ptr<ServerSession> self = std::move(found->second);
    server_.sessions.erase(found);
    server_.bury(std::move(self));
  }
  void idle() noexcept override {
    if (has_ended()) return server_.post_dig();
    if (const std::unique_ptr<Move> move = std::exchange(move_, nullptr); move != nullptr) {
      server_.hand_over(*this, *move);
    }
  }
  void noted() noexcept override {
    const SessionStats now = stats();
    Home& sums = *server_.home;
    card_->sent.set(now.sent);
    card_->received.set(now.received);
    set(card_->lost, now.lost, sums.lost);
    card_->resumed.set(now.resumed);
    set(card_->heartbeats_missed, now.heartbeats_missed, sums.heartbeats_missed);
    set(card_->ring_bytes, core_.ring_bytes(), sums.ring_bytes);
  }
  static void set(SingleWriterCounter& own, std::uint64_t value, SingleWriterCounter& sum) noexcept {
    if (value == own.get()) return;
    sum.add(value - own.get());  // A negative difference wraps modulo 2^64; adding it wraps too, so the sum is right.
    own.set(value);
  }
  void set_connected(bool is) noexcept {
    if (card_->is_connected.exchange(is, relaxed) == is) return;
    is ? server_.home->connected.add() : server_.home->connected.subtract();
  }

  State& server_;
  std::shared_ptr<Card> card_;
  Instant expires_at_ = Instant::never();
  std::unique_ptr<Move> move_;
};

// A client that has sent its hello and has no session yet.
class Server::State::Greeted final : public messages::FrameSink {
 public:
  Greeted(State& s, messages::Peer& p, const internal::Hello& h)
      : id(s.next_greeted++), hello(h), name(h.name), server_(s), peer_(&p), credentials_(h.credentials), task_(*this) {
    hello.name = name;
    hello.credentials = credentials_;
  }

  void begin() {
    peer_->attach(this);
    if (!server_.options.authenticate) return server_.settle(*this);
    const Greeting greeting{
        .name = name, .credentials = credentials_, .peer = *peer_, .resumes = hello.token.number != 0};
    greeting_.emplace(greeting);
    if (task_.begin(server_.options.authenticate(*greeting_),
                    [](StartCore& start) noexcept { static_cast<Task&>(start).client.authenticated(); })) {
      authenticated();
    }
  }
  messages::Peer* peer() const noexcept { return peer_; }
  bool is_busy() const noexcept { return task_.is_running(); }
  void stop() noexcept { task_.stop(); }
  // Call release() when the connection's frames go to another receiver, or to none.
  void release() noexcept { peer_ = nullptr; }

  const std::uint64_t id;
  internal::Hello hello;
  std::string name;

 private:
  struct Task final : Start<std::string> {
    explicit Task(Greeted& c) noexcept : client(c) {}
    Greeted& client;
  };

  Result<> on_frame(messages::Peer&, std::string_view) noexcept override {
    return fail(Code::Protocol, "the client sent a frame before its welcome");
  }
  void on_batch_end(messages::Peer&) noexcept override {}
  void on_writable(messages::Peer&) noexcept override {}
  void on_closed(messages::Peer&, const Error&) noexcept override {
    peer_ = nullptr;
    if (task_.is_running()) return task_.stop();
    server_.bury(nullptr_or_this());
  }
  void authenticated() noexcept {
    Result<std::string> result = task_.take();
    if (peer_ == nullptr) return server_.bury(nullptr_or_this());
    if (!result) return server_.reject(*this, result.error());
    name = *std::move(result);
    server_.settle(*this);
  }
  std::unique_ptr<Greeted> nullptr_or_this() noexcept {
    const auto at = server_.greeted.find(id);
    if (at == server_.greeted.end()) return nullptr;
    std::unique_ptr<Greeted> self = std::move(at->second);
    server_.greeted.erase(at);
    return self;
  }

  State& server_;
  messages::Peer* peer_;
  std::string credentials_;
  std::optional<Greeting> greeting_;
  Task task_;
};

Server::State::State(Server& s, Registry::State& r, const Handlers& h, ServerOptions&& o)
    : server(s), registry(r), handlers(h), options(std::move(o)) {
  Executor* const executor = Executor::current();
  KEEL_CHECK(executor != nullptr, "a sessions::Server must be constructed on a worker");
  home = std::make_shared<Home>(*executor, worker_index(), s);
  const std::lock_guard lock(registry.mutex);
  registry.homes.push_back(home);
}

Server::State::~State() {
  is_stopping = true;
  while (!greeted.empty()) {
    Greeted& client = *greeted.begin()->second;
    KEEL_CHECK(!client.is_busy(), "a sessions::Server must not be destroyed before stop() has completed");
    if (client.peer() != nullptr) client.peer()->attach(nullptr);
    greeted.erase(greeted.begin());
  }
  while (!sessions.empty()) {
    sessions.begin()->second->end(Error(Code::Unavailable, "the server stops"));
  }
  {
    const std::lock_guard lock(registry.mutex);
    home->server = nullptr;
    registry.lost_before += home->lost.get();
    registry.heartbeats_missed_before += home->heartbeats_missed.get();
    std::erase(registry.homes, home);
  }
  for (const auto& session : ended_sessions) {
    KEEL_CHECK(!session->is_busy(), "a sessions::Server must not be destroyed before stop() has completed");
  }
}

Result<> Server::State::on_frame(messages::Peer& peer, std::string_view payload) noexcept {
  try {
    KEEL_TRY(const internal::Hello hello, internal::read_hello(payload));
    if (is_stopping) return fail(Code::Unavailable, "the server stops");
    auto client = std::make_unique<Greeted>(*this, peer, hello);
    Greeted& made = *client;
    greeted.emplace(made.id, std::move(client));
    made.begin();
    return {};
  } catch (...) {
    return Error::from_exception();
  }
}

void Server::State::settle(Greeted& client) {
  const internal::Token token = client.hello.token;
  const std::uint64_t attempt = client.hello.attempt;
  if (is_stopping) return reject(client, Error(Code::Unavailable, "the server stops"));
  if (token.number == 0) return begin_session(client);
  if (const auto at = sessions.find(token.number); at != sessions.end()) {
    ServerSession& session = *at->second;
    if (!session.is_of(token, client.name)) return begin_session(client);
    if (session.is_newer_than(attempt)) return reject(client, is_older());
    session.take_over();
    if (session.has_ended()) return begin_session(client);  // Without an expiry, the session ends with its connection.
    if (Result<> resumed = resume(client, session); !resumed) reject(client, resumed.error());
    return;
  }
  switch (ask_for(client)) {
    case Elsewhere::Asked:
      return;
    case Elsewhere::Moves:
      return reject(client, session_moves());
    case Elsewhere::No:
      return begin_session(client);
  }
}

void Server::State::begin_session(Greeted& client) {
  if (client.hello.token.number != 0) registry.forgotten.fetch_add(1, relaxed);
  auto card = std::make_shared<Card>();
  card->name = client.name;
  card->home = home;
  card->began_at_ns = Host::current().wall_ns();
  internal::Token token;
  Host::current().secret(std::as_writable_bytes(std::span(token.secret)));
  {
    const std::lock_guard lock(registry.mutex);
    if (registry.cards.size() < registry.sessions_max) {
      token.number = card->number = registry.next_number++;
      registry.cards.emplace(card->number, card);
    }
  }
  if (token.number == 0)
    return reject(client, Error(Code::ResourceExhausted, "the server's limit of sessions is reached"));
  registry.begun.fetch_add(1, relaxed);
  auto made = std::make_unique<ServerSession>(*this, card);
  ServerSession& session = *made;
  session.begin(token, client.name);
  sessions.emplace(token.number, std::move(made));
  internal::Hello hello = client.hello;
  hello.point = {};  // The point in the hello belongs to the lost session.
  messages::Peer& peer = *client.peer();
  client.release();
  const std::uint64_t id = client.id;
  // If welcome() fails, the session waits until its client reconnects.
  static_cast<void>(session.welcome(peer, hello, false));
  if (const auto at = greeted.find(id); at != greeted.end()) {
    std::unique_ptr<Greeted> done = std::move(at->second);
    greeted.erase(at);
    bury(std::move(done));
  }
}

Result<> Server::State::resume(Greeted& client, ServerSession& session) {
  messages::Peer& peer = *client.peer();
  KEEL_TRY_VOID(session.welcome(peer, client.hello, true));
  client.release();
  registry.resumed.fetch_add(1, relaxed);
  if (const auto at = greeted.find(client.id); at != greeted.end()) {
    std::unique_ptr<Greeted> done = std::move(at->second);
    greeted.erase(at);
    bury(std::move(done));
  }
  return {};
}

void Server::State::reject(Greeted& client, const Error& reason) {
  registry.rejected.fetch_add(1, relaxed);
  messages::Peer* const peer = client.peer();
  client.release();
  if (peer != nullptr) {
    const bool is_telling = !reason.is_from_environment() && !reason.is_bug();
    Error told = is_telling ? reason.clone() : Error(Code::Unavailable, "the server could not authenticate the client");
    Buffer out;
    internal::write(out, internal::Bye{.code = told.code(), .text = told.message()});
    peer->attach(nullptr);
    static_cast<void>(peer->try_send_session(out.view()));
    peer->close(std::move(told));
  }
  if (const auto at = greeted.find(client.id); at != greeted.end()) {
    std::unique_ptr<Greeted> done = std::move(at->second);
    greeted.erase(at);
    bury(std::move(done));
  }
}

// --- sessions of other workers

Server::State::Elsewhere Server::State::ask_for(Greeted& client) {
  const std::lock_guard lock(registry.mutex);
  const auto at = registry.cards.find(client.hello.token.number);
  if (at == registry.cards.end()) return Elsewhere::No;
  const std::shared_ptr<Home>& from = at->second->home;
  if (from == home) return Elsewhere::Moves;  // Another connection is already moving the session to this worker.
  const Move move{.to = home,
                  .greeted = client.id,
                  .token = client.hello.token,
                  .attempt = client.hello.attempt,
                  .name = client.name};
  const bool is_posted =
      Registry::State::post(from, [move](Server& other) { other.state_->give(move.token.number, move); });
  return is_posted ? Elsewhere::Asked : Elsewhere::No;
}

Server::State::Greeted* Server::State::find_greeted(std::uint64_t id) noexcept {
  const auto at = greeted.find(id);
  return at != greeted.end() ? &*at->second : nullptr;
}

void Server::State::give(std::uint64_t number, const Move& move) {
  const auto is_wanted = [&](ServerSession& session) {
    return session.is_of(move.token, move.name) && !session.is_newer_than(move.attempt);
  };
  if (const auto at = sessions.find(number); at != sessions.end() && is_wanted(*at->second)) at->second->take_over();
  Instead instead = Instead::New;
  const auto at = sessions.find(number);  // Looked up again, because take_over() may have removed the session.
  if (at == sessions.end()) {
    const std::lock_guard lock(registry.mutex);
    if (registry.cards.contains(number)) instead = Instead::Wait;
  } else if (is_wanted(*at->second)) {
    if (!at->second->is_busy()) return hand_over(*at->second, move);
    if (at->second->give_later(move)) return;
    instead = Instead::Wait;
  } else if (at->second->is_of(move.token, move.name)) {
    instead = Instead::Older;
  }
  answer(move, instead);
}

// Called when the client does not get the session that it requested.
void Server::State::answer(const Move& move, Instead instead) {
  const std::lock_guard lock(registry.mutex);
  Registry::State::post(move.to, [id = move.greeted, instead](Server& other) {
    Greeted* const client = other.state_->find_greeted(id);
    if (client == nullptr || client->peer() == nullptr) return;
    if (instead == Instead::New) return other.state_->begin_session(*client);
    other.state_->reject(*client, instead == Instead::Wait ? session_moves() : is_older());
  });
}

void Server::State::hand_over(ServerSession& session, const Move& move) {
  const auto at = sessions.find(session.number());
  std::shared_ptr<Card> card = session.shared_card();
  session.leave_sums();
  auto moving = std::make_shared<internal::MovingSession>(
      session.move_out(Error(Code::Unavailable, "the session moved to another worker")));
  std::unique_ptr<ServerSession> self = std::move(at->second);
  sessions.erase(at);
  bury(std::move(self));
  const std::lock_guard lock(registry.mutex);
  // The pending broadcasts are sent to the session here. Their jobs would miss the session, because they run on this
  // worker after it has left, or have already run on the worker to which it moves.
  for (const auto& broadcast : home->pending) registry.tell(*moving, *broadcast);
  card->home = move.to;
  const bool is_posted = Registry::State::post(move.to, [move, moving, card](Server& other) mutable {
    other.state_->take_in(move, std::move(moving), std::move(card));
  });
  if (is_posted) {
    move.to->arriving.push_back(std::move(moving));
  } else {
    registry.cards.erase(card->number);
  }
}

void Server::State::take_in(const Move& move, std::shared_ptr<internal::MovingSession> moving,
                            std::shared_ptr<Card> card) {
  {
    const std::lock_guard lock(registry.mutex);
    std::erase(home->arriving, moving);
  }
  auto made = std::make_unique<ServerSession>(*this, std::move(card));
  ServerSession& session = *made;
  const std::uint64_t number = moving->token.number;
  sessions.emplace(number, std::move(made));
  session.move_in(std::move(*moving));
  if (is_stopping) return session.end(Error(Code::Unavailable, "the server stops"));
  if (moving->is_too_slow) session.end(Error(Code::ResourceExhausted, "the session's peer is too slow"));
  Greeted* const client = find_greeted(move.greeted);
  if (client == nullptr || client->peer() == nullptr) return;
  if (session.has_ended()) return reject(*client, session.end_reason());
  if (Result<> resumed = resume(*client, session); !resumed) reject(*client, resumed.error());
}

void Server::State::forget(Card& card) noexcept {
  const std::lock_guard lock(registry.mutex);
  registry.cards.erase(card.number);
}

// --- ended sessions

void Server::State::bury(std::unique_ptr<ServerSession> session) {
  ended_sessions.push_back(std::move(session));
  post_dig();
}

void Server::State::bury(std::unique_ptr<Greeted> client) {
  if (client == nullptr) return;
  ended_greeted.push_back(std::move(client));
  post_dig();
}

void Server::State::post_dig() noexcept {
  if (is_dig_posted) return;
  const std::lock_guard lock(registry.mutex);
  is_dig_posted = Registry::State::post(home, [](Server& self) { self.state_->dig(); });
}

void Server::State::dig() noexcept {
  is_dig_posted = false;
  std::erase_if(ended_greeted, [](const auto& client) { return !client->is_busy(); });
  std::erase_if(ended_sessions, [](const auto& session) { return !session->is_busy(); });
  if (stopping != nullptr && is_quiet()) std::exchange(stopping, nullptr)->arrive();
}

// --- the server

Server::Server(Registry& registry, const Handlers& handlers, ServerOptions options)
    : state_(Owned<State>::make(*this, *registry.state_, handlers, std::move(options))) {}

Server::~Server() = default;

void Server::open(messages::Peer& peer) { peer.attach(&*state_); }

Task<> Server::stop() {
  state_->is_stopping = true;
  std::vector<std::uint64_t> clients;
  for (const auto& [id, client] : state_->greeted) clients.push_back(id);
  for (const std::uint64_t id : clients) {
    State::Greeted* const client = state_->find_greeted(id);
    if (client == nullptr) continue;
    if (client->is_busy()) {
      client->stop();
    } else {
      state_->reject(*client, Error(Code::Unavailable, "the server stops"));
    }
  }
  while (!state_->sessions.empty()) {
    state_->sessions.begin()->second->end(Error(Code::Unavailable, "the server stops"));
  }
  state_->post_dig();
  co_await State::Quiet(*state_);
}

void Server::change(const SessionOptions& session, Duration expiry) {
  state_->options.session = session;
  state_->options.expiry = expiry;
}

std::size_t Server::sessions() const noexcept { return state_->sessions.size(); }

Session* Server::find(std::uint64_t number) noexcept {
  const auto at = state_->sessions.find(number);
  return at != state_->sessions.end() ? &*at->second : nullptr;
}

void Server::each(FunctionRef<void(Session&)> f) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(state_->sessions.size());
  for (const auto& [number, session] : state_->sessions) numbers.push_back(number);
  for (const std::uint64_t number : numbers) {
    if (Session* const session = find(number); session != nullptr) f(*session);
  }
}

}  // namespace keel::sessions
