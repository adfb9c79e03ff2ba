// keel/net/sessions/when_full.h — what becomes of a message when its session has no room for it.
//
// A session keeps what its peer has not acknowledged: SessionOptions::ring_messages and ring_bytes bound it. A peer
// that is away, or that does not read, fills it.

#pragma once

#include <cstdint>

namespace keel::sessions {

enum class WhenFull : std::uint8_t {
  Refuse,       // send() fails with ResourceExhausted; nothing has changed.
  Close,        // The session ends, with ResourceExhausted as its reason.
  DropOldest,   // The oldest messages go. Their receiver hears how many it has lost.
  NewestOfKey,  // A message of the same type and key that was not sent yet is replaced, at its place, whether there is
                // room or not: a value that nobody has seen is of no use once there is a newer one. Where there is none
                // and no room, as DropOldest.
};

}  // namespace keel::sessions
