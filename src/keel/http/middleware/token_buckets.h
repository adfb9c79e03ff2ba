// keel/http/middleware/token_buckets.h — token buckets by key, in a table of fixed size.
//
//   TokenBuckets buckets({.tokens = 100, .per = 1_min, .keys_max = 16'384}, sip_key);
//   const TokenBuckets::Taken taken = buckets.take("192.0.2.1", now);
//   if (!taken.allowed) … taken.retry_after …
//
// A key's bucket holds `tokens`, refilled evenly within `per`. An unknown key has a full bucket, so a full bucket needs
// no entry: an entry is the time at which its bucket will be full again (GCRA in its virtual scheduling form). In a
// full table, a new key replaces the fullest bucket of its set of eight, so the key that has taken most tokens is
// remembered longest. Keys are distinguished by a keyed hash of 64 bits (base/siphash.h), so that
// clients cannot make them collide.
//
// Threads: one at a time.
// Cost:    a hash and two cache lines; the constructor allocates 16 bytes for each key, and no other function
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
    Duration per = Duration::seconds(60);  // The period must be at least a nanosecond for each token.
    std::uint32_t keys_max = 16 * 1024;    // Rounded up to a power of two, at least 8.
  };
  struct Taken {
    bool allowed;
    std::uint32_t remaining;  // Tokens that are left.
    Duration retry_after;     // If no token was taken: the time until there is one. Otherwise zero.
    Duration full_after;      // Time until the bucket is full, if no further token is taken.
  };

  // Options out of their range are a bug.
  TokenBuckets(const Options& options, SipKey key);

  // Takes a token from the bucket of `key`. `now` never decreases between calls.
  Taken take(std::string_view key, Instant now) noexcept;

 private:
  static constexpr std::size_t set_size = 8;
  struct Entry {
    std::uint64_t hash = 0;
    std::int64_t full_at = 0;  // The time in ns at which the bucket is full; in the past for a full bucket.
  };

  SipKey key_;
  std::int64_t interval_;  // Time between two tokens, in ns.
  std::int64_t burst_;     // Time from empty to full, in ns.
  std::uint64_t set_mask_;
  std::vector<Entry> entries_;
};

}  // namespace keel::http
