#include "keel/net/sessions/session.h"

#include <algorithm>
#include <exception>

#include "keel/base/host.h"
#include "keel/base/pool.h"
#include "keel/net/sessions/handlers.h"
#include "keel/observe/log.h"
#include "keel/task/start.h"

namespace keel::sessions {
namespace {

using CoreEvent = internal::Core::Event;

// The message that the peer gets in place of a message that would disclose details of this program.
constexpr std::string_view not_told = "the other side failed";

internal::CoreOptions core_options(const SessionOptions& options, internal::Role role) noexcept {
  const auto positive = [](std::uint32_t n) { return std::max(n, std::uint32_t{1}); };
  return {.role = role,
          .window = {positive(options.window_messages), positive(options.window_bytes)},
          .ring = {positive(options.ring_messages), positive(options.ring_bytes)},
          .ack_every = positive(options.ack_every),
          .ack_after = options.ack_after};
}

}  // namespace

struct Session::Running {
  explicit Running(Session& of) noexcept : session(of) {}
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* running, std::size_t bytes) noexcept { pool_free(running, bytes); }

  struct Of final : Start<void> {
    explicit Of(Running& r) noexcept : running(r) {}
    Running& running;
  };
  Session& session;
  Of task{*this};
};

Session::Session(const Handlers& handlers, const SessionOptions& options, internal::Role role)
    : Timer(&fired), handlers_(handlers), core_(core_options(options, role)) {}

Session::~Session() {
  KEEL_CHECK(running_ == nullptr, "a session must not be destroyed while its handler runs");
  if (is_running()) Host::current().stop_timer(*this);
}

SessionStats Session::stats() const noexcept {
  SessionStats stats = stats_;
  stats.dropped = core_.dropped();
  stats.heartbeats_missed = core_.heartbeats_missed();
  return stats;
}

// --- the application

Result<> Session::push(std::uint16_t type, Buffer&& payload, const SendOptions& options) {
  if (has_ended_) return end_reason().because("the session has ended").as(Code::Unavailable);
  Result<> pushed = core_.push(type, std::move(payload), options.when_full, options.key);
  if (!pushed) {
    if (options.when_full == WhenFull::Close && pushed.error().code() == Code::ResourceExhausted) {
      end(Error(Code::ResourceExhausted, "the session's peer is too slow"));
    }
    return pushed;
  }
  ++stats_.sent;
  flush();
  return {};
}

bool Session::Wait::settle() noexcept {
  if (session_.has_ended_ && (room_ || session_.core_.unacknowledged() != 0)) {
    failure_.emplace(session_.end_reason().because("the session has ended").as(Code::Unavailable));
  }
  return true;
}

Result<> Session::Wait::take() noexcept {
  if (is_cancelled()) return taken();
  if (failure_) return *std::move(failure_);
  return {};
}

void Session::wake() noexcept {
  for (std::size_t left = waiting_.size(); left != 0; --left) {
    auto* const wait = static_cast<Wait*>(waiting_.pop());
    if (wait == nullptr) return;
    if (wait->is_over()) {
      wait->settle();
      WaitList::wake(*wait);
    } else {
      wait->wait_in(waiting_);
    }
  }
}

void Session::say_bye(const Error& reason) noexcept {
  if (peer_ == nullptr) return;
  try {
    const bool is_told = !reason.is_from_environment() && !reason.is_bug();
    Buffer out;
    internal::write(out, internal::Bye{.code = reason.code(), .text = is_told ? reason.message() : not_told});
    static_cast<void>(peer_->try_send_session(out.view()));
  } catch (...) {  // Without a Bye, the end of the connection tells the peer that the session has ended.
  }
}

void Session::end(Error reason) noexcept {
  if (has_ended_) return;
  say_bye(reason);
  finish(reason);
}

void Session::finish(const Error& reason) noexcept {
  if (!abandon(reason)) return;
  tell({.kind = SessionEvent::Kind::Ended, .unconfirmed = core_.unacknowledged(), .reason = &*reason_});
  ended();
}

bool Session::abandon(const Error& reason) noexcept {
  if (std::exchange(has_ended_, true)) return false;
  if (messages::Peer* const peer = std::exchange(peer_, nullptr); peer != nullptr) {
    peer->attach(nullptr);
    peer->close(reason.clone());
  }
  core_.unlink();
  if (is_running()) Host::current().stop_timer(*this);
  reason_ = reason.clone();
  inbox_.clear();
  inbox_first_ = 0;
  if (running_ != nullptr) running_->task.stop();
  wake();
  return true;
}

void Session::tell(const SessionEvent& event) noexcept {
  if (event.kind == SessionEvent::Kind::Lost) stats_.lost += event.lost;
  if (event.kind == SessionEvent::Kind::Resumed) ++stats_.resumed;
  if (handlers_.on_event_) handlers_.on_event_(*this, event);
}

// --- the connection

Result<> Session::link(messages::Peer& peer, const Point& point, const internal::Window& window, Duration heartbeat) {
  KEEL_TRY_VOID(core_.link(Host::current().now(), point, window, heartbeat));
  peer_ = &peer;
  peer.attach(this);
  wake();
  return {};
}

std::uint64_t Session::begin_again() {
  for (internal::ReceivedMessage& received : inbox_) received.event.number = 0;
  handling_ = 0;
  return core_.begin_again();
}

Error Session::end_reason() const noexcept {
  return reason_ ? reason_->clone() : Error(Code::Unavailable, "for an unknown reason");
}

void Session::unlink(Error reason) noexcept {
  core_.unlink();
  messages::Peer* const peer = std::exchange(peer_, nullptr);
  if (peer == nullptr) return;
  peer->attach(nullptr);
  peer->close(reason.clone());
  unlinked(reason);
}

void Session::flush() noexcept {
  if (has_ended_) return;
  if (peer_ == nullptr || !core_.is_linked()) return noted();
  try {
    Buffer packet;
    const Instant now = Host::current().now();
    // While more than low_bytes are queued, further messages wait in the ring for on_writable().
    while (peer_ != nullptr && peer_->queued_bytes() <= peer_->options().low_bytes && core_.next(now, packet)) {
      Result<> sent = peer_->try_send_session(packet.view());
      if (!sent) {
        // The packet is larger than the largest frame that the peer accepts, so sending it would fail on every
        // connection.
        if (sent.error().code() == Code::OutOfRange) return end(std::move(sent).error());
        return unlink(std::move(sent).error());
      }
      packet.clear();
    }
  } catch (...) {
    return unlink(Error::from_exception());
  }
  noted();
  arm();
}

Result<> Session::on_frame(messages::Peer& peer, std::string_view payload) noexcept {
  Result<> taken;
  try {
    taken = take(payload);
    if (taken && peer_ == &peer) wake();
  } catch (...) {
    taken = Error::from_exception();
  }
  if (!taken && peer_ == &peer) unlink(std::move(taken).error());
  return {};
}

Result<> Session::take(std::string_view packet) {
  if (!core_.is_linked()) return greet(packet);
  KEEL_TRY(const CoreEvent event, core_.receive(Host::current().now(), packet));
  if (event.kind == CoreEvent::Kind::Bye) {
    bye(Error::text(event.code, event.payload).from_environment());
  } else if (event.kind != CoreEvent::Kind::Nothing) {
    return accept(event);
  }
  return {};
}

void Session::on_batch_end(messages::Peer&) noexcept { flush(); }
void Session::on_writable(messages::Peer&) noexcept { flush(); }

void Session::on_closed(messages::Peer&, const Error& reason) noexcept {
  core_.unlink();
  peer_ = nullptr;
  if (!has_ended_) unlinked(reason);
}

// --- receiving

Result<> Session::accept(const CoreEvent& event) {
  const bool waits = running_ != nullptr || !inbox_.empty();
  if (waits) {
    try {
      Buffer payload;
      payload.append(event.payload);
      inbox_.emplace_back(event, std::move(payload));
    } catch (...) {
      core_.give_back(event);
      throw;
    }
  }
  if (event.kind == CoreEvent::Kind::Message) ++stats_.received;
  if (!waits) handle(event);
  return {};
}

bool Session::handle(const CoreEvent& event) noexcept {
  handling_ = event.number;
  handling_cost_ = event.cost();
  if (event.kind == CoreEvent::Kind::Lost) {
    tell({.kind = SessionEvent::Kind::Lost, .lost = event.lost});
  } else if (const Handlers::Handle* const handle_it = handlers_.find(event.type); handle_it == nullptr) {
    if (stats_.failed == 0) failed(Error(Code::NotFound, "there is no handler for messages of this type"));
    else ++stats_.failed;
  } else {
    try {
      Result<> read = (*handle_it)(*this, event.payload);
      if (!read) end(std::move(read).error().because("a message of the session"));
    } catch (...) {
      failed(Error::from_exception());
    }
  }
  if (running_ != nullptr) return false;
  if (!has_ended_) core_.handled(Host::current().now(), event.number, event.cost());
  return true;
}

void Session::handle_waiting() noexcept {
  while (!has_ended_ && running_ == nullptr && inbox_first_ < inbox_.size()) {
    internal::ReceivedMessage& oldest = inbox_[inbox_first_++];
    const Buffer payload = std::move(oldest.payload);
    CoreEvent event = oldest.event;
    event.payload = payload.view();
    handle(event);
  }
  if (inbox_first_ >= inbox_.size()) {
    std::vector<internal::ReceivedMessage>().swap(inbox_);
    inbox_first_ = 0;
  } else if (inbox_first_ >= 64 && inbox_first_ * 2 >= inbox_.size()) {
    inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<std::ptrdiff_t>(inbox_first_));
    inbox_first_ = 0;
  }
}

void Session::start(Task<>&& task) {
  running_ = new Running(*this);
  const bool has_run = running_->task.begin(std::move(task), [](StartCore& start) noexcept {
    static_cast<Running::Of&>(start).running.session.handler_ended();
  });
  if (!has_run) return;
  Running* const running = std::exchange(running_, nullptr);
  const Result<> result = running->task.take();
  delete running;
  if (!result) failed(result.error());
}

void Session::handler_ended() noexcept {
  Running* const running = std::exchange(running_, nullptr);
  const Result<> result = running->task.take();
  delete running;
  if (!result && !has_ended_) failed(result.error());
  if (!has_ended_) {
    core_.handled(Host::current().now(), handling_, handling_cost_);
    handle_waiting();
  }
  if (!has_ended_) flush();
  if (running_ == nullptr) idle();
}

void Session::failed(const Error& error) noexcept {
  ++stats_.failed;
  log::Logger("net.sessions")
      .log(log_level(error.code()), "a message of a session was not handled", log::field("session", number()),
           log::field("name", name()), error);
}

// --- moving to another worker

internal::MovingSession Session::move_out(Error reason) {
  KEEL_CHECK(running_ == nullptr, "a session must not be moved while its handler runs");
  inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<std::ptrdiff_t>(inbox_first_));
  internal::MovingSession moving{.core = std::move(core_),
                                 .token = token_,
                                 .attempt = attempt_,
                                 .name = name_,
                                 .expiry = expiry_,
                                 .stats = stats_,
                                 .inbox = std::move(inbox_)};
  inbox_first_ = 0;
  inbox_.clear();
  has_ended_ = true;
  reason_ = std::move(reason);
  if (is_running()) Host::current().stop_timer(*this);
  wake();
  return moving;
}

void Session::move_in(internal::MovingSession&& moving) {
  core_ = std::move(moving.core);
  token_ = moving.token;
  attempt_ = moving.attempt;
  name_ = std::move(moving.name);
  expiry_ = moving.expiry;
  stats_ = moving.stats;
  inbox_ = std::move(moving.inbox);
  handle_waiting();
}

// --- time

void Session::arm() noexcept {
  if (has_ended_) return;
  const Instant due = core_.is_linked() ? core_.deadline() : expires();
  if (due.is_never() || (is_running() && at <= due)) return;
  Host::current().start_timer(*this, due);
}

void Session::fired(Timer& timer) noexcept {
  auto& session = static_cast<Session&>(timer);
  const Instant now = Host::current().now();
  if (!session.core_.is_linked()) {
    if (!session.expires().is_never() && now >= session.expires()) return session.expire();
    return session.arm();
  }
  switch (session.core_.tick(now)) {
    case internal::Core::Due::LinkLost:
      session.noted();
      if (session.peer_->is_paused()) {  // The peer's replies may have arrived without having been read.
        session.core_.ask_again(now);
        return session.flush();
      }
      return session.unlink(Error(Code::Unavailable, "the peer did not reply to two heartbeats"));
    case internal::Core::Due::Packet:
      return session.flush();
    case internal::Core::Due::Nothing:
      return session.arm();
  }
}

}  // namespace keel::sessions
