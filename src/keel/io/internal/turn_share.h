// The amount that may be sent in a row before the other operations of a loop get their turn: by one operation, or by a
// task whose operations all complete immediately and which therefore never waits.
//
// An engine has a share for each completion that it dispatches, and one for the code that runs between two dispatches.
// Operations that are submitted when the share is used up are deferred to the next dispatch.

#pragma once

#include <cstddef>
#include <cstdint>

namespace keel::io {

// Sending this much takes less than a millisecond. A quarter of this would make a large write to a fast peer take a
// tenth more time.
inline constexpr std::int64_t turn_share = 1024 * 1024;
// The share that a message, or a system call, of this size uses: a short one costs as much time as copying 4 KiB.
constexpr std::int64_t share_of(std::size_t bytes) noexcept { return static_cast<std::int64_t>(bytes) + 4096; }

}  // namespace keel::io
