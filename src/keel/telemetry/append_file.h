// keel/telemetry/append_file.h — opens the file of a log or of crash reports, but not a file that another user
// has put in its place.
//
// Result:   a descriptor that appends and that the caller has to close; exec(2) also closes this descriptor. A file
//           that does not exist is created, with mode 0640. /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N are
//           duplicates of descriptors 1, 2 and N, which works for sockets too. A FIFO is opened if it has a reader;
//           writes to it do not block.
// Links:    a symbolic link that belongs to root or to the user of this process is followed, because operators make
//           such links to volumes or to /dev/stdout. A link of another user is an error (FailedPrecondition), because
//           any user who can write to the folder could choose the file to which this process appends. The target is
//           read from the same link whose owner was checked. If a folder in the path is a link, the system follows it
//           as usual.
// Errors:   FailedPrecondition, with advice, for a link of another user, a FIFO without a reader, and a socket.
//           For every other failure, the error of the system. The caller has to add the path to the error; if the path
//           is a link, the message names the target.
// Cost:     three system calls, and four more for each link. The call never waits for the other end of a FIFO, but does
//           wait for a process that has a lease on the file (fcntl(2)).

#pragma once

#include <string>

#include "keel/base/result.h"

namespace keel::telemetry {

// Opens `path` for appending and creates it if it does not exist; returns the descriptor.
Result<int> open_append_file(const std::string& path);

}  // namespace keel::telemetry
