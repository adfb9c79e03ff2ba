// One side of a session: the messages that it may have to resend, how far it has received, and when it must send. No
// I/O, no clock: the owner of the connection passes in what arrives and the time, and takes the packets to be sent.
//
//   core.push(type, payload, WhenFull::Refuse, 0);         // the application sends: also while there is no connection
//   hello.point = core.tell_point();                       // a connection is open: each side says how far it is
//   core.link(now, peer.point, …);
//   Result<Core::Event> event = core.receive(now, packet); // a message, a loss, the peer's goodbye, or none of these
//   core.handled(now, event->number, event->cost);         // the application has handled it
//   while (has_room && core.next(now, out)) …              // the next packet, if there is one
//   core.unlink(now);                                      // the connection is gone: the session continues
//
// Order and loss: messages are numbered consecutively. After link() each side resends what the other has not received.
// The sender reports the numbers of messages that it has dropped, so that the receiver knows how many it has lost.
// Acks:      one with every message that goes the other way; otherwise after `ack_every` messages, after a quarter of
//            the window, or `ack_after` after the first message, whichever comes first. An acknowledgement means that
//            the message was *handled*, so the sender's ring also bounds the receiver's queue.
// Window:    what has arrived and was not handled: messages, and reports of loss, each of which counts as one message
//            without payload. The sender counts what it has sent, dropped or not, until it is acknowledged.
// Heartbeat: a side that has received nothing for an interval sends a ping; after two pings without a reply the
//            connection counts as lost. The server waits a quarter longer, so that usually only the client sends pings.
//
// Errors:    Protocol: the peer has broken one of the rules above, which the message names. The connection has to be
//            closed; the session can be resumed.
// Threads:   one at a time; it may be moved to another thread.
// Cost:      360 bytes, and what the ring holds.

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
  Window window = {1024, 1 << 20};  // Received, and not yet handled.
  // The bounds of the messages that were sent or are to be sent, and are not yet acknowledged.
  Window ring = {1024, 1 << 20};
  std::uint32_t ack_every = 32;
  Duration ack_after = 40_ms;
};

class Core {
 public:
  struct Event {
    enum class Kind : std::uint8_t { Nothing, Message, Lost, Bye };
    Kind kind = Kind::Nothing;
    // The number of the message, or of the last lost one, which has to be passed to handled().
    std::uint64_t number = 0;
    std::uint64_t lost = 0;  // How many were lost.
    std::uint16_t type = 0;
    std::string_view payload = {};  // Set for Message, and for Bye, where it is the reason; refers to the packet.
    Code code = Code::Cancelled;
    std::size_t cost() const noexcept { return kind == Kind::Message ? payload.size() + message_cost : message_cost; }
  };
  enum class Due : std::uint8_t { Nothing, Packet, LinkLost };

  explicit Core(const CoreOptions& options) noexcept : options_(options) {}

  // --- for the application

  // Appends a message. ResourceExhausted: there is no room. InvalidArgument: it is larger than the ring.
  // In both cases the message is not taken.
  Result<> push(std::uint16_t type, Buffer&& payload, WhenFull when_full, std::uint64_t key);
  bool has_room(std::size_t payload_bytes) const noexcept;
  // The message with this number, and all before it, has been handled; `cost` is that of the Event. Number 0: it
  // belongs to a session that was forgotten.
  void handled(Instant now, std::uint64_t number, std::size_t cost) noexcept;

  std::uint64_t unacknowledged() const noexcept { return ring_.size(); }
  std::size_t ring_bytes() const noexcept { return ring_.bytes(); }
  std::size_t unhandled_bytes() const noexcept { return unhandled_bytes_; }
  std::uint64_t dropped() const noexcept { return dropped_; }  // Dropped because of WhenFull::DropOldest.
  std::uint64_t heartbeats_missed() const noexcept { return heartbeats_missed_; }

  // --- for the connection

  Point point() const noexcept { return {seen_, handled_}; }
  // Returns point() as it is now sent to the peer. Call it before link().
  Point tell_point() noexcept;
  Window window() const noexcept { return options_.window; }
  // Call it when both sides know each other's point. Protocol: the peer claims to have received a message that was
  // never sent. Heartbeat zero: no heartbeats are sent, and a silent connection is kept.
  Result<> link(Instant now, const Point& peer, const Window& peer_window, Duration heartbeat);
  // The peer has forgotten the session: all numbers start from 1 again. Messages that were never sent stay queued;
  // returns how many others there were.
  std::uint64_t begin_again();
  void unlink() noexcept { is_linked_ = false; }
  bool is_linked() const noexcept { return is_linked_; }
  Result<Event> receive(Instant now, std::string_view packet);
  // The peer's silence so far does not count: sends it another ping.
  void ask_again(Instant now) noexcept {
    quiet_since_ = now;
    missed_ = 1;
    ping_due_ = true;
  }
  // Appends the next packet to `out`; false: there is nothing to send now.
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
  std::uint64_t link_next_ = 1;     // The next message to be sent over this connection.
  std::uint64_t acked_ = 0;         // The last message that the peer has acknowledged.
  std::uint64_t flight_bytes_ = 0;  // The cost of the messages of the ring before link_next_.
  // It is at least the cost of what the peer may have to handle and the ring does not have: dropped messages, and
  // Skips.
  std::uint64_t gone_bytes_ = 0;
  std::uint64_t skip_number_ = 0;  // The number of the last Skip that was sent.
  std::uint64_t skip_lost_ = 0;    // How many messages that Skip reports.
  std::uint64_t sent_max_ = 0;     // The highest number of a message that was sent.
  std::uint64_t dropped_ = 0;

  std::uint64_t seen_ = 0;
  std::uint64_t handled_ = 0;
  std::uint64_t ack_told_ = 0;   // The last value of `handled_` that was sent to the peer.
  std::uint32_t unhandled_ = 0;  // Messages and losses that have arrived and were not handled.
  std::size_t unhandled_bytes_ = 0;
  std::size_t untold_bytes_ = 0;  // Bytes handled since then.
  Instant ack_at_ = Instant::never();
  Instant quiet_since_;  // The last time that something came, or that a heartbeat was sent.
  std::uint64_t heartbeats_missed_ = 0;
};

}  // namespace keel::sessions::internal
