// keel/http/middleware/token_buckets.h — token buckets, one for each key, in a table of fixed size.
//
//   TokenBuckets buckets({.tokens = 100, .per = 1_min, .keys_max = 16'384}, sip_key);
//   const TokenBuckets::Taken taken = buckets.take("192.0.2.1", now);
//   if (!taken.allowed) … taken.retry_after …
//
// The bucket of a key holds at most `tokens` tokens; an empty bucket is refilled evenly within `per`. A key that is not
// in the table has a full bucket, so a full bucket needs no entry. An entry stores the time at which its bucket will be
// full again (GCRA in its virtual scheduling form). If the table is full, a new key replaces the fullest of the eight
// buckets in its set, so that the keys that have taken the most tokens are remembered longest. Keys are distinguished
// by a keyed hash of 64 bits (base/siphash.h), so that clients cannot make them collide.
//
// Threads: one thread at a time.
// Cost:    a hash and access to two cache lines; the constructor allocates 16 bytes for each key, and no other function
//          allocates.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "keel/base/siphash.h"
#include "keel/base/time.h"

namespace keel::http {

class TokenBuckets {
 public:
  struct Options {
    std::uint32_t tokens = 100;            // At least 1.
    Duration per = Duration::seconds(60);  // At least `tokens` nanoseconds.
    std::uint32_t keys_max = 16 * 1024;    // Rounded up to a power of two, at least 8.
  };
  struct Taken {
    bool allowed;
    std::uint32_t remaining;  // Tokens that are left in the bucket.
    Duration retry_after;     // If no token was taken: the time until the bucket has a token. Otherwise zero.
    Duration full_after;      // Time until the bucket is full, if no further token is taken.
  };

  // An option outside of its bounds is a bug.
  TokenBuckets(const Options& options, SipKey key);

  // Takes a token from the bucket of `key`, if the bucket has one. `now` must not decrease between calls.
  Taken take(std::string_view key, Instant now) noexcept;

 private:
  static constexpr std::size_t set_size = 8;
  struct Entry {
    std::uint64_t hash = 0;
    // The time in ns at which the bucket is full; for a full bucket, this time is in the past.
    std::int64_t full_at = 0;
  };

  SipKey key_;
  std::int64_t interval_;  // Time between two tokens, in ns.
  std::int64_t burst_;     // Time from empty to full, in ns.
  std::uint64_t set_mask_;
  std::vector<Entry> entries_;
};

}  // namespace keel::http
