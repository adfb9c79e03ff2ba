// How much may be sent in a row before the others of a loop get their turn: by one operation, or by a task whose
// operations all complete immediately and which therefore never waits.
//
// An engine has a share for each thing that it dispatches, and one for what runs between two dispatches. What it
// submits when that is used up is put off to the next dispatch.

#pragma once

#include <cstddef>
#include <cstdint>

namespace keel::io {

// Less than a millisecond. With a quarter of it a large write to a fast peer takes a tenth more time.
inline constexpr std::int64_t turn_share = 1024 * 1024;
// The share that a message, or a system call, of this size takes: as long as a short one lasts 4 KiB are copied.
constexpr std::int64_t share_of(std::size_t bytes) noexcept { return static_cast<std::int64_t>(bytes) + 4096; }

}  // namespace keel::io
