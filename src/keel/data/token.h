// keel/data/token.h — random texts that cannot be guessed: for session ids, API keys, password-reset links.
//
//   const std::string session = random_token();          // 32 random bytes, 43 characters of A-Z a-z 0-9 - _
//
// The random bits come from Host::secret(): from the kernel, or from the seed in a simulation. The text can be used
// unchanged in a path, a query, a cookie or a header field. If a token grants access as a password does, store only its
// digest, and compare digests with constant_time_equal() (base/constant_time.h).
//
// Threads: a function.
// Cost:    one system call and one string.

#pragma once

#include <cstddef>
#include <string>

namespace keel {

// `bytes` must be from 16 to 64, because a shorter token could be guessed; any other number throws a Bug (base/bug.h).
std::string random_token(std::size_t bytes = 32);

}  // namespace keel
