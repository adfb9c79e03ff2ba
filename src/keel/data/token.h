// keel/data/token.h — texts that nobody can guess: session ids, API keys, links that reset a password.
//
//   const std::string session = random_token();          // 32 random bytes, 43 characters of A-Z a-z 0-9 - _
//
// The bits are those of Host::secret(): the kernel's, and the seed's in a simulation. The text stands in a path, a
// query, a cookie or a field as it is. Store a digest of what is as good as a password, and compare with
// constant_time_equal() (base/constant_time.h).
//
// Threads: a function.  Cost: a system call and a string.

#pragma once

#include <cstddef>
#include <string>

namespace keel {

// `bytes` is 16 to 64: fewer could be found out, which is a bug and aborts.
std::string random_token(std::size_t bytes = 32);

}  // namespace keel
