// The amount that one operation may send before the other operations of a loop get their turn. The limit also applies
// to a task that never waits because all its operations complete immediately.
//
// An engine has a share for each completion that it dispatches, and one for the code that runs between two dispatches.
// Operations that are submitted when the share is used up are deferred to the next dispatch.

#pragma once

#include <cstddef>
#include <cstdint>

namespace keel::io {

// Sending this amount takes less than a millisecond. With a quarter of this amount, a large write to a fast peer would
// take a tenth more time.
inline constexpr std::int64_t turn_share = 1024 * 1024;
// The share that a message or a system call with `bytes` bytes uses: even a short message costs as much time as copying
// 4 KiB.
constexpr std::int64_t share_of(std::size_t bytes) noexcept { return static_cast<std::int64_t>(bytes) + 4096; }

}  // namespace keel::io
