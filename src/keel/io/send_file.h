// keel/io/send_file.h — sends a part of a file to a socket with sendfile(2), for engines that execute a SendFile, and
// for programs without an engine.
//
//   switch (send_share(op, calls)) {
//     case Share::Last: …  // op.result is valid
//     case Share::Waits: … // try again when op.fd can be written
//     case Share::More: …  // try again after others had their turn
//   }
//
// Errors:  in op.result, a negative errno; see SendFile.
// Threads: any. No SIGPIPE is raised.
// Cost:    three system calls for a share of 256 KiB, four when the socket takes less. A call blocks while the disk is
//          read.

#pragma once

#include <cstdint>

#include "keel/io/op.h"

namespace keel::io {

// The outcome of one call. Last: `op` is complete and op.result is set. Waits: the socket is full. More: more bytes can
// be sent.
enum class Share : std::uint8_t { Last, Waits, More };

// Sends at most 256 KiB, and adds to `system_calls` the number of system calls that this function makes. `op` is not
// submitted to an engine.
Share send_share(SendFile& op, std::uint64_t& system_calls) noexcept;

}  // namespace keel::io
