#include "keel/net/sessions/client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/net/sessions/handlers.h"
#include "keel/observe/log.h"
#include "keel/task/event.h"
#include "keel/task/resume_on.h"
#include "keel/task/timing.h"

namespace keel::sessions {
namespace {

ClientOptions checked(ClientOptions&& options) {
  KEEL_EXPECT(!options.servers.empty(), "a sessions::Client needs the address of a server");
  KEEL_EXPECT(options.name.size() <= internal::name_bytes_max, "the name of a client must have at most 256 bytes");
  KEEL_EXPECT(options.credentials.size() <= internal::credentials_bytes_max,
              "credentials must have at most 4096 bytes");
  return std::move(options);
}

}  // namespace

class Client::Side final : public Session {
 public:
  Side(const Handlers& handlers, ClientOptions&& options)
      : Session(handlers, options.session, internal::Role::Client), options_(std::move(options)) {
    name_ = std::move(options_.name);
    // Each connection needs the host, which is a view; therefore options_.name, which is free now, holds the text of
    // the host.
    options_.name = options_.connection.host;
    options_.connection.host = options_.name;
    options_.connection.peer.heartbeat = Duration();
  }
  ~Side() { release(); }

  Task<> run();
  // Called when the Client is destroyed.
  void leave() noexcept {
    release();
    if (is_busy()) abandon(Error(Code::Cancelled, "the client is gone"));
    if (!is_busy()) {
      delete this;
    } else {
      is_left_ = true;
    }
  }
  // Stops using the connection.
  void release() noexcept {
    core_.unlink();
    if (peer_ != nullptr) std::exchange(peer_, nullptr)->attach(nullptr);
    connection_.reset();
  }

 private:
  // Releases the connection, however run() ends.
  struct Released {
    Side& side;
    ~Released() { side.release(); }
  };

  Task<> connect(Address server);
  void say_hello();
  Duration pause() noexcept;

  Result<> greet(std::string_view packet) override;
  void unlinked(const Error& reason) noexcept override {
    // Unsupported: the server has no sessions.
    if (!settled_.is_set() && reason.code() == Code::Unsupported) return finish(reason);
    settled_.set();
    down_.set();
  }
  void bye(const Error& reason) noexcept override {
    // The server is stopping: the server loses the session's state, and the next connection goes to another server.
    if (reason.code() == Code::Unavailable) return unlink(reason.clone());
    finish(reason);
  }
  void ended() noexcept override {
    settled_.set();
    down_.set();
  }
  Instant expires() const noexcept override { return Instant::never(); }
  void expire() noexcept override {}
  void idle() noexcept override {
    if (is_left_) delete this;
  }

  ClientOptions options_;
  std::optional<messages::Client> connection_;
  bool has_begun_ = false;  // Whether a server has accepted the session.
  bool is_left_ = false;    // The Client was destroyed, and a handler is still running.
  keel::Event down_;        // This event is set when the connection or the session has ended.
  keel::Event settled_;     // This event is set when the server has replied to the hello, or the connection has ended.
  std::size_t next_server_ = 0;
  Duration pause_max_;
};

// Returns a random pause between a tenth of the maximum and the maximum ("full jitter"), so that clients that were
// disconnected together do not reconnect together.
Duration Client::Side::pause() noexcept {
  pause_max_ =
      std::clamp(pause_max_ * 2, options_.reconnect_min, std::max(options_.reconnect_min, options_.reconnect_max));
  const std::int64_t ns = std::max<std::int64_t>(pause_max_.count_ns(), 10);
  const auto random = static_cast<std::int64_t>(Host::current().random() >> 1);
  return Duration::nanoseconds(ns / 10 + random % (ns - ns / 10));
}

void Client::Side::say_hello() {
  Buffer out;
  internal::write(out, internal::Hello{.token = token_,
                                       .attempt = ++attempt_,
                                       .point = core_.tell_point(),
                                       .heartbeat = options_.session.heartbeat,
                                       .window = core_.window(),
                                       .name = name_,
                                       .credentials = options_.credentials});
  if (Result<> sent = peer_->try_send_session(out.view()); !sent) unlink(std::move(sent).error());
}

Result<> Client::Side::greet(std::string_view packet) {
  KEEL_TRY(const internal::Kind kind, internal::kind_of(packet));
  if (kind == internal::Kind::Bye) {
    KEEL_TRY(const internal::Bye said, internal::read_bye(packet));
    Error reason = Error::text(said.code, said.text).from_environment();
    const bool is_for_now = said.code == Code::ResourceExhausted || said.code == Code::DeadlineExceeded;
    if (is_for_now) {
      unlink(std::move(reason));
    } else {
      bye(reason);
    }
    return {};
  }
  Result<internal::Welcome> read = internal::read_welcome(packet);
  if (!read) {
    finish(read.error());
    return std::move(read).error();
  }
  const internal::Welcome welcome = *std::move(read);
  messages::Peer& peer = *peer_;
  std::uint64_t unconfirmed = 0;
  const bool is_forgotten = has_begun_ && !welcome.is_resumed;
  if (is_forgotten) unconfirmed = begin_again();
  if (welcome.is_resumed && welcome.token != token_) {
    finish(Error(Code::Protocol, "the server resumed another session"));
    return {};
  }
  token_ = welcome.token;
  expiry_ = welcome.expiry;
  has_begun_ = true;
  pause_max_ = Duration();
  if (Result<> linked = link(peer, welcome.point, welcome.window, welcome.heartbeat); !linked) {
    finish(linked.error());
    return linked;
  }
  settled_.set();
  if (is_forgotten) tell({.kind = SessionEvent::Kind::Lost, .unconfirmed = unconfirmed, .is_forgotten = true});
  if (!has_ended()) tell({.kind = welcome.is_resumed ? SessionEvent::Kind::Resumed : SessionEvent::Kind::Connected});
  if (!has_ended()) flush();
  return {};
}

Task<> Client::Side::connect(Address server) {
  messages::Client made = co_await messages::Client::connect(server, options_.connection);
  if (has_ended()) co_await fail(Code::Cancelled, "the session ended in the meantime");
  connection_.emplace(std::move(made));
  peer_ = &**connection_;
  peer_->attach(this);
  down_.reset();
  settled_.reset();
  say_hello();
  co_await settled_.wait();
  if (!core_.is_linked() && !has_ended()) co_await fail(Code::Unavailable, "the server did not accept the session");
}

Task<> Client::Side::run() {
  const Released released{*this};
  while (!has_ended()) {
    const Address server = options_.servers[next_server_++ % options_.servers.size()];
    const Result<> connected = co_await attempt(with_timeout(options_.connect_timeout, connect(server)));
    if (connected) {
      co_await down_.wait();
    } else if (connected.error().code() == Code::Protocol || connected.error().code() == Code::Unsupported) {
      finish(connected.error());  // The server does not speak the protocol of messages.
    } else if (pause_max_ == Duration() && connected.error().code() != Code::Cancelled) {
      log::Logger("net.sessions")
          .info("the server of a session cannot be reached", log::field("server", server.to_string()),
                connected.error());
    }
    co_await checkpoint();  // The caller that ended the connection may still be on the stack.
    release();
    if (!has_ended()) co_await sleep_for(pause());
  }
  co_await std::unexpected<Error>(end_reason());
}

Client::Client(const Handlers& handlers, ClientOptions options)
    : side_(new Side(handlers, checked(std::move(options)))) {}

Client::~Client() { side_->leave(); }

Task<> Client::run() { return side_->run(); }

Session& Client::operator*() const noexcept { return *side_; }

}  // namespace keel::sessions
