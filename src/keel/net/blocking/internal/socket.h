// The common part of blocking streams and listeners: waiting for a descriptor.

#pragma once

#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/io/address.h"

namespace keel::blocking::internal {

Instant deadline_after(Duration timeout);
// Waits until `fd` is ready for `events` (poll(2)). DeadlineExceeded.
Result<> wait_for(int fd, short events, Instant deadline);
Address name_of(int fd, int (*ask)(int, sockaddr*, socklen_t*)) noexcept;

}  // namespace keel::blocking::internal
