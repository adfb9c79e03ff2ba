// keel/io/send_file.h — a part of a file to a socket, by sendfile(2): what engines do for a SendFile, and who has none.
//
//   switch (send_share(op, calls)) {
//     case Share::Last: …  // op.result holds
//     case Share::Waits: … // try again when op.fd can be written
//     case Share::More: …  // try again after others had their turn
//   }
//
// Errors:  in op.result, a negative errno; see SendFile.
// Threads: any. It gets no SIGPIPE.
// Cost:    three system calls for a share of 256 KiB, four when the socket takes less; waits for the disk.

#pragma once

#include <cstdint>

#include "keel/io/op.h"

namespace keel::io {

// What one call has done: the last part, a part after which the socket is full, or one after which more can be sent.
enum class Share : std::uint8_t { Last, Waits, More };

// Sends at most 256 KiB, and adds to `system_calls` how many it made. `op` is submitted nowhere.
Share send_share(SendFile& op, std::uint64_t& system_calls) noexcept;

}  // namespace keel::io
