// One side of a session: it keeps the messages that it may have to resend, and knows which messages it has received and
// when it must send. The class does no I/O and reads no clock: the owner of the connection passes in the time and the
// packets that arrive, and takes the packets to be sent.
//
//   core.push(type, payload, WhenFull::Refuse, 0);         // the application sends: also while there is no connection
//   hello.point = core.tell_point();                       // a connection is open: each side says how far it is
//   core.link(now, peer.point, …);
//   Result<Core::Event> event = core.receive(now, packet); // a message, a loss, the peer's goodbye, or none of these
//   core.handled(now, event->number, event->cost);         // the application has handled it
//   while (has_room && core.next(now, out)) …              // the next packet, if there is one
//   core.unlink(now);                                      // the connection is gone: the session continues
//
// Order and loss: messages are numbered consecutively. After link(), each side resends the messages that the other has
// not received. The sender reports the numbers of the messages that it dropped, so that the receiver knows how many
// messages it lost.
// Acks:      every message in the other direction carries an acknowledgement. If there is no message in the other
//            direction, an acknowledgement is sent after `ack_every` messages, after a quarter of the window, or when
//            `ack_after` has passed since the first message, whichever comes first. An acknowledgement means that the
//            message was *handled*, so the sender's ring also bounds the receiver's queue.
// Window:    limits the messages that have arrived and are not handled yet. A report of loss counts as one message
//            without payload. The sender counts every message that it has sent, even one that it dropped later, until
//            the message is acknowledged.
// Heartbeat: a side that has received nothing for an interval sends a ping; after two pings without a reply the
//            connection counts as lost. The server waits a quarter longer than the client, so that usually only the
//            client sends pings.
//
// Errors:    Protocol if the peer broke one of the rules above; the error's message names the rule. The connection must
//            be closed; the session can be resumed.
// Threads:   one at a time; the object may be moved to another thread.
// Cost:      360 bytes, plus the content of the ring.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/net/sessions/internal/packet.h"
#include "keel/net/sessions/internal/ring.h"
#include "keel/net/sessions/when_full.h"

namespace keel::sessions::internal {

enum class Role : std::uint8_t { Client, Server };

struct CoreOptions {
  Role role = Role::Client;
  Window window = {1024, 1 << 20};  // The bounds of the messages that are received and not handled yet.
  // The bounds of the messages that are not acknowledged yet, including messages that are not sent yet.
  Window ring = {1024, 1 << 20};
  std::uint32_t ack_every = 32;
  Duration ack_after = 40_ms;
};

class Core {
 public:
  struct Event {
    enum class Kind : std::uint8_t { Nothing, Message, Lost, Bye };
    Kind kind = Kind::Nothing;
    // The number of the message, or of the last lost message; pass it to handled().
    std::uint64_t number = 0;
    std::uint64_t lost = 0;  // How many messages were lost.
    std::uint16_t type = 0;
    std::string_view payload = {};  // Set for Message, and for Bye (the reason); a view into the packet.
    Code code = Code::Cancelled;
    std::size_t cost() const noexcept { return kind == Kind::Message ? payload.size() + message_cost : message_cost; }
  };
  enum class Due : std::uint8_t { Nothing, Packet, LinkLost };

  explicit Core(const CoreOptions& options) noexcept : options_(options) {}

  // --- for the application

  // Appends a message. ResourceExhausted: there is no room. InvalidArgument: the message is larger than the ring. After
  // either error, the caller still owns the message.
  Result<> push(std::uint16_t type, Buffer&& payload, WhenFull when_full, std::uint64_t key);
  bool has_room(std::size_t payload_bytes) const noexcept;
  // Reports that the message with this number, and all before it, were handled; `cost` is Event::cost. Number 0: the
  // message belongs to a session that the peer has forgotten.
  void handled(Instant now, std::uint64_t number, std::size_t cost) noexcept;

  std::uint64_t unacknowledged() const noexcept { return ring_.size(); }
  std::size_t ring_bytes() const noexcept { return ring_.bytes(); }
  std::size_t unhandled_bytes() const noexcept { return unhandled_bytes_; }
  std::uint64_t dropped() const noexcept { return dropped_; }  // Dropped because of WhenFull::DropOldest.
  std::uint64_t heartbeats_missed() const noexcept { return heartbeats_missed_; }

  // --- for the connection

  Point point() const noexcept { return {seen_, handled_}; }
  // Returns point() and records that the peer is told this value. Call tell_point() before link().
  Point tell_point() noexcept;
  Window window() const noexcept { return options_.window; }
  // Starts using a connection. Call link() when both sides know each other's Point. Protocol: the peer claims to have
  // received a message that was never sent. If the heartbeat is zero, no heartbeats are sent, and a silent connection
  // is kept.
  Result<> link(Instant now, const Point& peer, const Window& peer_window, Duration heartbeat);
  // Begins again after the peer has forgotten the session: all numbers start from 1 again. Messages that were never
  // sent stay queued; returns how many messages had been sent.
  std::uint64_t begin_again();
  void unlink() noexcept { is_linked_ = false; }
  bool is_linked() const noexcept { return is_linked_; }
  Result<Event> receive(Instant now, std::string_view packet);
  // Call give_back() when there is no memory to keep the message, or the report of loss, that receive() has just
  // returned: that packet then counts as not received, so that the peer sends it again over the next connection.
  void give_back(const Event& event) noexcept;
  // Ignores the peer's silence so far, and sends the peer another ping.
  void ask_again(Instant now) noexcept {
    quiet_since_ = now;
    missed_ = 1;
    ping_due_ = true;
  }
  // Appends the next packet to `out`; returns false if there is nothing to send now.
  bool next(Instant now, Buffer& out);
  // The time at which tick() must be called; never() without a connection.
  Instant deadline() const noexcept;
  Due tick(Instant now) noexcept;

 private:
  Result<> acknowledged(std::uint64_t number) noexcept;
  Result<Event> receive_data(const Packet& packet);
  bool is_ack_due(Instant now) const noexcept;
  Instant next_beat() const noexcept;
  bool window_admits(std::size_t cost) const noexcept;
  Result<> take_from_window(std::size_t cost);
  void set_acknowledged(std::uint64_t number) noexcept;
  bool fits(std::size_t cost) const noexcept;
  std::uint64_t find_unsent(std::uint16_t type, std::uint64_t key) const noexcept;
  bool replace_unsent(std::uint64_t number, Buffer& payload) noexcept;
  bool write_packet(Buffer& out, Kind kind);
  bool write_skip(Buffer& out);
  void drop_oldest() noexcept;

  CoreOptions options_;
  bool is_linked_ = false;
  bool ping_due_ = false;
  bool pong_due_ = false;
  std::uint8_t missed_ = 0;
  Window peer_window_ = {0, 0};
  Duration heartbeat_ = 15_s;

  Ring ring_;
  std::uint64_t link_next_ = 1;     // The number of the next message to be sent over this connection.
  std::uint64_t acked_ = 0;         // The number of the last message that the peer has acknowledged.
  std::uint64_t flight_bytes_ = 0;  // The cost of the messages in the ring before link_next_.
  // At least the cost of everything that the peer may still have to handle and that the ring no longer contains:
  // dropped messages, and Skips.
  std::uint64_t gone_bytes_ = 0;
  std::uint64_t skip_number_ = 0;  // The number of the last Skip that was sent.
  std::uint64_t skip_lost_ = 0;    // The number of lost messages that the last Skip reported.
  std::uint64_t sent_max_ = 0;     // The highest number of a message that was sent.
  std::uint64_t dropped_ = 0;

  std::uint64_t seen_ = 0;
  std::uint64_t handled_ = 0;
  std::uint64_t ack_told_ = 0;   // The last value of `handled_` that was sent to the peer.
  std::uint32_t unhandled_ = 0;  // Messages and losses that have arrived and are not handled yet.
  std::size_t unhandled_bytes_ = 0;
  std::size_t untold_bytes_ = 0;  // Bytes handled since ack_told_ was sent.
  Instant ack_at_ = Instant::never();
  Instant quiet_since_;  // The time of the last packet received or heartbeat sent, whichever is later.
  std::uint64_t heartbeats_missed_ = 0;
};

}  // namespace keel::sessions::internal
