// keel/net/sessions/when_full.h — what happens to a message when its session has no room for it.
//
// A session keeps the messages that its peer has not acknowledged, up to the limits SessionOptions::ring_messages and
// ring_bytes. If a peer is away or does not read, the ring fills up.

#pragma once

#include <cstdint>

namespace keel::sessions {

enum class WhenFull : std::uint8_t {
  Refuse,      // send() fails with ResourceExhausted, and nothing changes.
  Close,       // The session ends, with ResourceExhausted as its reason.
  DropOldest,  // The oldest messages are dropped. The receiver learns how many messages it lost.
  // An unsent message of the same type and key is replaced without changing its position, even if there is room: a
  // value that the peer has not seen is useless once there is a newer one. If there is neither room nor an unsent
  // message of this type and key, NewestOfKey acts as DropOldest does.
  NewestOfKey,
};

}  // namespace keel::sessions
