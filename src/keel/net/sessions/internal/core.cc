#include "keel/net/sessions/internal/core.h"

#include <algorithm>

namespace keel::sessions::internal {
namespace {

constexpr std::uint8_t missed_max = 2;

}  // namespace

bool Core::fits(std::size_t cost) const noexcept {
  return ring_.empty() || (ring_.size() < options_.ring.messages && ring_.bytes() + cost <= options_.ring.bytes);
}

bool Core::has_room(std::size_t payload_bytes) const noexcept { return fits(payload_bytes + message_cost); }

// Returns 0 if there is no unsent message of this type and key.
std::uint64_t Core::find_unsent(std::uint16_t type, std::uint64_t key) const noexcept {
  if (ring_.empty()) return 0;
  const std::uint64_t from = std::max(ring_.first(), sent_max_ + 1);
  for (std::uint64_t number = ring_.last(); number >= from; --number) {
    const Ring::Message& message = ring_[number];
    if (message.type == type && message.key == key) return number;
  }
  return 0;
}

// Returns false if the message to be replaced is the oldest one and the new message does not fit in its place.
bool Core::replace_unsent(std::uint64_t number, Buffer& payload) noexcept {
  const auto is_too_large = [&] {
    return ring_.bytes() - ring_[number].payload.size() + payload.size() > options_.ring.bytes;
  };
  while (ring_.first() != number && is_too_large()) drop_oldest();
  if (ring_.size() != 1 && is_too_large()) return false;
  ring_.replace(number, std::move(payload));
  return true;
}

void Core::drop_oldest() noexcept {
  if (ring_.first() < link_next_) {
    const std::size_t cost = ring_[ring_.first()].cost();
    flight_bytes_ -= std::min<std::uint64_t>(flight_bytes_, cost);
    gone_bytes_ += cost;
  }
  ring_.pop_front();
  ++dropped_;
}

Result<> Core::push(std::uint16_t type, Buffer&& payload, WhenFull when_full, std::uint64_t key) {
  const std::size_t cost = payload.size() + message_cost;
  if (cost > options_.ring.bytes) {
    return fail(Code::InvalidArgument, "the message is larger than the session may keep (ring_bytes)");
  }
  if (when_full == WhenFull::NewestOfKey) {
    if (const std::uint64_t older = find_unsent(type, key); older != 0 && replace_unsent(older, payload)) return {};
  }
  if (!fits(cost)) {
    if (when_full == WhenFull::Refuse || when_full == WhenFull::Close) {
      return fail(Code::ResourceExhausted,
                  "the session's peer is too slow: there is no room for further unacknowledged messages");
    }
    while (!fits(cost)) drop_oldest();
  }
  ring_.push(type, key, std::move(payload));
  return {};
}

void Core::handled(Instant now, std::uint64_t number, std::size_t cost) noexcept {
  if (number == 0) return;
  handled_ = number;
  unhandled_ = handled_ == seen_ ? 0 : unhandled_ - std::min(unhandled_, 1u);
  unhandled_bytes_ -= std::min(unhandled_bytes_, cost);
  untold_bytes_ += cost;
  if (ack_at_.is_never()) ack_at_ = now + options_.ack_after;
}

Result<> Core::link(Instant now, const Point& peer, const Window& peer_window, Duration heartbeat) {
  if (peer.seen > sent_max_)
    return fail(Code::Protocol, "the peer claims to have received a message that was never sent");
  ring_.trim(peer.handled);
  is_linked_ = true;
  peer_window_ = peer_window;
  heartbeat_ = heartbeat;
  link_next_ = std::max(peer.seen + 1, std::uint64_t{1});
  flight_bytes_ = 0;
  for (std::uint64_t number = ring_.first(); number < link_next_ && number <= ring_.last(); ++number) {
    flight_bytes_ += ring_[number].cost();
  }
  if (skip_number_ > peer.seen) skip_number_ = skip_lost_ = 0;
  set_acknowledged(peer.handled);
  ping_due_ = pong_due_ = false;
  missed_ = 0;
  quiet_since_ = now;
  return {};
}

std::uint64_t Core::begin_again() {
  const std::uint64_t before = ring_.size();
  ring_.trim(sent_max_);
  const std::uint64_t unconfirmed = before - ring_.size();
  ring_.renumber();
  link_next_ = 1;
  acked_ = flight_bytes_ = gone_bytes_ = sent_max_ = 0;
  skip_number_ = skip_lost_ = 0;
  seen_ = handled_ = ack_told_ = 0;
  unhandled_ = 0;
  unhandled_bytes_ = untold_bytes_ = 0;
  ack_at_ = Instant::never();
  return unconfirmed;
}

Point Core::tell_point() noexcept {
  ack_told_ = handled_;
  untold_bytes_ = 0;
  ack_at_ = Instant::never();
  return point();
}

Result<> Core::acknowledged(std::uint64_t number) noexcept {
  if (number >= link_next_) return fail(Code::Protocol, "the peer acknowledged a message that was not sent");
  while (!ring_.empty() && ring_.first() <= number) {
    flight_bytes_ -= std::min<std::uint64_t>(flight_bytes_, ring_[ring_.first()].cost());
    ring_.pop_front();
  }
  set_acknowledged(number);
  return {};
}

void Core::set_acknowledged(std::uint64_t number) noexcept {
  acked_ = std::max(acked_, number);
  // Dropped messages are older than the messages in the ring.
  if (acked_ + 1 >= std::min(ring_.first(), link_next_)) gone_bytes_ = 0;
}

Result<Core::Event> Core::receive_data(const Packet& packet) {
  if (packet.number <= seen_) return fail(Code::Protocol, "the peer sent a message twice");
  if (packet.number != seen_ + 1) return fail(Code::Protocol, "the peer skipped the number of a message");
  Event event{.kind = Event::Kind::Message, .number = packet.number, .type = packet.type, .payload = packet.payload};
  KEEL_TRY_VOID(take_from_window(event.cost()));
  seen_ = packet.number;
  return event;
}

// If every received message has been handled, the next message may be larger than the window.
Result<> Core::take_from_window(std::size_t cost) {
  const Window& window = options_.window;
  if (seen_ != handled_ && (unhandled_ >= window.messages || unhandled_bytes_ + cost > window.bytes)) {
    return fail(Code::ResourceExhausted, "the peer sent more than the window of this side allows");
  }
  ++unhandled_;
  unhandled_bytes_ += cost;
  return {};
}

Result<Core::Event> Core::receive(Instant now, std::string_view bytes) {
  quiet_since_ = now;
  missed_ = 0;
  ping_due_ = false;
  KEEL_TRY(const Kind kind, kind_of(bytes));
  if (kind == Kind::Bye) {
    KEEL_TRY(const Bye bye, read_bye(bytes));
    return Event{.kind = Event::Kind::Bye, .payload = bye.text, .code = bye.code};
  }
  KEEL_TRY(const Packet packet, read_packet(bytes));
  if (kind != Kind::Skip) KEEL_TRY_VOID(acknowledged(packet.acknowledged));
  switch (kind) {
    case Kind::Data:
      return receive_data(packet);
    case Kind::Skip: {
      if (packet.number <= seen_) return fail(Code::Protocol, "the peer dropped a message that has already arrived");
      Event event{.kind = Event::Kind::Lost, .number = packet.number, .lost = packet.number - seen_};
      KEEL_TRY_VOID(take_from_window(event.cost()));
      seen_ = packet.number;
      return event;
    }
    case Kind::Ping:
      pong_due_ = true;
      return Event();
    default:
      return Event();
  }
}

void Core::give_back(const Event& event) noexcept {
  seen_ = event.number - (event.kind == Event::Kind::Lost ? event.lost : 1);
  --unhandled_;
  unhandled_bytes_ -= event.cost();
}

bool Core::is_ack_due(Instant now) const noexcept {
  if (handled_ == ack_told_) return false;
  const std::uint64_t every = std::min<std::uint64_t>(options_.ack_every, options_.window.messages / 4 + 1);
  return handled_ - ack_told_ >= every || untold_bytes_ >= options_.window.bytes / 4 || now >= ack_at_;
}

bool Core::window_admits(std::size_t cost) const noexcept {
  std::uint64_t flight = link_next_ - 1 - acked_;
  if (flight == 0) return true;
  if (skip_number_ > acked_) flight -= skip_lost_ - 1;
  return flight < peer_window_.messages && flight_bytes_ + gone_bytes_ + cost <= peer_window_.bytes;
}

bool Core::write_packet(Buffer& out, Kind kind) {
  write(out, Packet{.kind = kind, .acknowledged = tell_point().handled});
  return true;
}

// Writes a Skip for the messages before the first one in the ring: they were dropped, so the peer must not wait for
// them.
bool Core::write_skip(Buffer& out) {
  skip_number_ = ring_.first() - 1;
  skip_lost_ = ring_.first() - link_next_;
  gone_bytes_ += message_cost;
  sent_max_ = std::max(sent_max_, skip_number_);
  link_next_ = ring_.first();
  write(out, Packet{.kind = Kind::Skip, .number = skip_number_});
  return true;
}

bool Core::next(Instant now, Buffer& out) {
  if (!is_linked_) return false;
  if (link_next_ < ring_.first()) {
    if (window_admits(message_cost)) return write_skip(out);
  } else if (link_next_ <= ring_.last()) {
    const Ring::Message& message = ring_[link_next_];
    if (window_admits(message.cost())) {
      write(out, Packet{.kind = Kind::Data,
                        .acknowledged = tell_point().handled,
                        .number = link_next_,
                        .type = message.type,
                        .payload = message.payload.view()});
      flight_bytes_ += message.cost();
      sent_max_ = std::max(sent_max_, link_next_);
      ++link_next_;
      return true;
    }
  }
  if (pong_due_) {
    pong_due_ = false;
    return write_packet(out, Kind::Pong);
  }
  if (ping_due_) {
    ping_due_ = false;
    return write_packet(out, Kind::Ping);
  }
  if (is_ack_due(now)) return write_packet(out, Kind::Ack);
  return false;
}

// The client's heartbeat is due first, so that usually only one side sends heartbeats. After each heartbeat, the peer
// has a whole interval to reply, however late the heartbeat was sent, because this side may itself have been suspended.
Instant Core::next_beat() const noexcept {
  if (heartbeat_ == Duration()) return Instant::never();
  const bool is_second = options_.role == Role::Server && missed_ == 0;
  return quiet_since_ + heartbeat_ + (is_second ? heartbeat_ / 4 : Duration());
}

Instant Core::deadline() const noexcept {
  if (!is_linked_) return Instant::never();
  return std::min(next_beat(), handled_ != ack_told_ ? ack_at_ : Instant::never());
}

Core::Due Core::tick(Instant now) noexcept {
  if (!is_linked_) return Due::Nothing;
  Due due = is_ack_due(now) ? Due::Packet : Due::Nothing;
  if (now < next_beat()) return due;
  if (missed_ != 0) ++heartbeats_missed_;
  if (missed_ == missed_max) return Due::LinkLost;
  ++missed_;
  quiet_since_ = now;
  ping_due_ = true;
  if (ring_.empty()) ring_.release();
  return Due::Packet;
}

}  // namespace keel::sessions::internal
