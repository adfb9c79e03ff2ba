#include "keel/net/sessions/registry.h"

#include <fmt/core.h>

#include <iterator>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/data/json.h"
#include "keel/net/sessions/internal/registry_state.h"

namespace keel::sessions {
Registry::State::State(const RegistryOptions& options) : sessions_max(options.sessions_max) {}

void Registry::State::tell(internal::MovingSession& moving, const Broadcast& broadcast) {
  Buffer payload;
  payload.append(broadcast.payload.view());
  const WhenFull when_full = broadcast.options.when_full;
  const Result<> pushed = moving.core.push(broadcast.type, std::move(payload), when_full, broadcast.options.key);
  if (pushed) {
    ++moving.stats.sent;
    return;
  }
  refused.fetch_add(1, relaxed);
  if (when_full == WhenFull::Close && pushed.error().code() == Code::ResourceExhausted) moving.is_too_slow = true;
}

Registry::Registry(const RegistryOptions& options) : state_(Owned<State>::make(options)) {
  if (options.metrics == nullptr) return;
  const auto total = [&](std::string_view name, std::string_view help, std::uint64_t RegistryStats::* field) {
    state_->metrics.push_back(
        options.metrics->counter(name, help, {}, [this, field] { return static_cast<double>(stats().*field); }));
  };
  const auto gauge = [&](std::string_view name, std::string_view help, std::uint64_t RegistryStats::* field) {
    state_->metrics.push_back(
        options.metrics->gauge(name, help, {}, [this, field] { return static_cast<double>(stats().*field); }));
  };
  gauge("sessions", "Sessions, including those without a connection", &RegistryStats::sessions);
  gauge("sessions_connected", "Sessions with a connection", &RegistryStats::connected);
  gauge("sessions_ring_bytes", "Bytes of messages that clients have not acknowledged", &RegistryStats::ring_bytes);
  total("sessions_begun_total", "Sessions begun", &RegistryStats::begun);
  total("sessions_resumed_total", "Sessions resumed over a new connection", &RegistryStats::resumed);
  total("sessions_forgotten_total", "Clients that tried to resume a session which no longer existed",
        &RegistryStats::forgotten);
  total("sessions_taken_over_total", "Sessions resumed while an older connection was open", &RegistryStats::taken_over);
  total("sessions_expired_total", "Sessions ended because their clients did not reconnect in time",
        &RegistryStats::expired);
  total("sessions_rejected_total",
        "Clients rejected because they were not authenticated, or because the limit on sessions was reached",
        &RegistryStats::rejected);
  total("sessions_messages_lost_total", "Messages that clients dropped because their rings were full",
        &RegistryStats::lost);
  total("sessions_refused_total", "Messages of broadcasts for which a session had no room", &RegistryStats::refused);
  total("sessions_heartbeats_missed_total", "Heartbeats that clients did not reply to",
        &RegistryStats::heartbeats_missed);
}

Registry::~Registry() { KEEL_CHECK(state_->homes.empty(), "a sessions::Registry must outlive its servers"); }

void Registry::change(std::size_t sessions_max) {
  const std::lock_guard lock(state_->mutex);
  state_->sessions_max = sessions_max;
}

RegistryStats Registry::stats() const {
  RegistryStats stats;
  stats.begun = state_->begun.load(relaxed);
  stats.resumed = state_->resumed.load(relaxed);
  stats.forgotten = state_->forgotten.load(relaxed);
  stats.taken_over = state_->taken_over.load(relaxed);
  stats.expired = state_->expired.load(relaxed);
  stats.rejected = state_->rejected.load(relaxed);
  stats.refused = state_->refused.load(relaxed);
  const std::lock_guard lock(state_->mutex);
  stats.lost = state_->lost_before;
  stats.heartbeats_missed = state_->heartbeats_missed_before;
  stats.sessions = state_->cards.size();
  for (const std::shared_ptr<Home>& home : state_->homes) {
    stats.connected += home->connected.get();
    stats.ring_bytes += home->ring_bytes.get();
    stats.lost += home->lost.get();
    stats.heartbeats_missed += home->heartbeats_missed.get();
  }
  return stats;
}

std::vector<SessionInfo> Registry::list(std::size_t max) const {
  std::vector<SessionInfo> list;
  const std::lock_guard lock(state_->mutex);
  for (const auto& [number, card] : state_->cards) {
    if (list.size() == max) break;
    list.push_back({.number = number,
                    .name = card->name,
                    .address = card->address,
                    .worker = card->home->worker,
                    .is_connected = card->is_connected.load(relaxed),
                    .began_at_ns = card->began_at_ns,
                    .sent = card->sent.get(),
                    .received = card->received.get(),
                    .lost = card->lost.get(),
                    .resumed = card->resumed.get(),
                    .ring_bytes = card->ring_bytes.get()});
  }
  return list;
}

Result<> Registry::kick(std::uint64_t number, Error reason) {
  const bool is_known =
      state_->reach(number, [reason = std::move(reason)](Session& session) mutable { session.end(std::move(reason)); });
  if (!is_known) return fail(Code::NotFound, "there is no session with this number");
  return {};
}

Result<> Registry::send_encoded(std::uint64_t number, Encoded&& message, const SendOptions& options) {
  const bool is_known =
      state_->reach(number, [state = &*state_, options, message = std::move(message)](Session& session) {
        const Result<> sent = session.send(messages::Raw{message.type, message.payload.view()}, options);
        if (!sent) state->refused.fetch_add(1, relaxed);
      });
  if (!is_known) return fail(Code::NotFound, "there is no session with this number");
  return {};
}

// Each session gets the broadcast from the worker that has the session now: from the job of that worker or, if the
// session moves before the job runs, from Server::State::hand_over. If a session is moving to another worker, the job
// on that worker runs after the session has arrived.
void Registry::broadcast_encoded(Encoded&& message, const SendOptions& options) {
  const auto shared = std::make_shared<const Broadcast>(message.type, std::move(message.payload), options);
  const auto deliver = [state = &*state_, shared](Server& server) {
    server.each([&](Session& session) {
      const Result<> sent = session.send(messages::Raw{shared->type, shared->payload.view()}, shared->options);
      if (!sent) state->refused.fetch_add(1, relaxed);
    });
  };
  Server* here = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    for (const std::shared_ptr<Home>& home : state_->homes) {
      if (&home->executor == Executor::current() && here == nullptr) {
        here = home->server;
        for (const auto& moving : home->arriving) state_->tell(*moving, *shared);
        continue;
      }
      const bool is_posted = State::post(home, [state = &*state_, home, deliver](Server& server) {
        {
          const std::lock_guard posted_lock(state->mutex);
          home->pending.pop_front();
        }
        deliver(server);
      });
      if (is_posted) home->pending.push_back(shared);
    }
  }
  if (here != nullptr) deliver(*here);
}

namespace {

double seconds_since(std::int64_t began_at_ns) {
  return static_cast<double>(Host::current().wall_ns() - began_at_ns) / 1e9;
}

}  // namespace

void write_sessions_json(Buffer& out, const Registry& registry, std::size_t max) {
  const RegistryStats stats = registry.stats();
  const std::vector<SessionInfo> list = registry.list(max);
  json::Writer json(out);
  json.begin_object().key("sessions").unsigned_integer(stats.sessions);
  json.key("connected").unsigned_integer(stats.connected).key("shown").unsigned_integer(list.size());
  json.key("list").begin_array();
  for (const SessionInfo& info : list) {
    json.begin_object().key("number").unsigned_integer(info.number).key("name").string(info.name);
    json.key("address").string(info.address).key("worker").integer(info.worker);
    json.key("connected").boolean(info.is_connected).key("seconds").number(seconds_since(info.began_at_ns));
    json.key("sent").unsigned_integer(info.sent).key("received").unsigned_integer(info.received);
    json.key("lost").unsigned_integer(info.lost).key("resumed").unsigned_integer(info.resumed);
    json.key("ring_bytes").unsigned_integer(info.ring_bytes).end_object();
  }
  json.end_array().end_object();
}

void write_sessions_text(Buffer& out, const Registry& registry, std::size_t max) {
  const RegistryStats stats = registry.stats();
  const std::vector<SessionInfo> list = registry.list(max);
  out.append(fmt::format("{} sessions, {} connected\n", stats.sessions, stats.connected));
  for (const SessionInfo& info : list) {
    out.append(fmt::format(
        "{} {}: {} {} on worker {}, {:.0f} s, sent {}, received {}, lost {}, resumed {}, ring {} B\n", info.number,
        info.name, info.is_connected ? "at" : "was at", info.address, info.worker, seconds_since(info.began_at_ns),
        info.sent, info.received, info.lost, info.resumed, info.ring_bytes));
  }
  if (list.size() < stats.sessions) out.append(fmt::format("and {} more\n", stats.sessions - list.size()));
}

}  // namespace keel::sessions
