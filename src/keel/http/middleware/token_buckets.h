// keel/http/middleware/token_buckets.h — token buckets by key, in a table of fixed size.
//
//   TokenBuckets buckets({.tokens = 100, .per = 1_min, .keys_max = 16'384}, sip_key);
//   const TokenBuckets::Taken taken = buckets.take("192.0.2.1", now);
//   if (!taken.allowed) … taken.retry_after …
//
// A key's bucket holds `tokens`, refilled evenly within `per`. A key that has not been seen has a full bucket, so a
// full one needs no place: an entry is one time, when its bucket will be full again (the virtual scheduling form,
// GCRA). In a table that is full, a new key takes the place of the fullest bucket of its set of eight: the key that has
// taken most tokens is remembered longest. Keys are distinguished by a keyed hash of 64 bits (base/siphash.h), so that
// clients cannot make them collide.
//
// Threads: one at a time.  Cost: a hash and two cache lines; no allocation after the constructor's 16 bytes a key.

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
    Duration per = Duration::seconds(60);  // At least a nanosecond a token.
    std::uint32_t keys_max = 16 * 1024;    // Rounded up to a power of two, at least 8.
  };
  struct Taken {
    bool allowed;
    std::uint32_t remaining;  // Tokens that are left.
    Duration retry_after;     // Not allowed: until there is a token. Else zero.
    Duration full_after;      // Until the bucket is full, when nothing more is taken.
  };

  // Options out of their range are a bug.
  TokenBuckets(const Options& options, SipKey key);

  // Takes a token from the bucket of `key`. `now` does not go back.
  Taken take(std::string_view key, Instant now) noexcept;

 private:
  static constexpr std::size_t set_size = 8;
  struct Entry {
    std::uint64_t hash = 0;
    std::int64_t full_at = 0;  // In ns; in the past: a full bucket.
  };

  SipKey key_;
  std::int64_t interval_;  // Between two tokens, in ns.
  std::int64_t burst_;     // From empty to full.
  std::uint64_t set_mask_;
  std::vector<Entry> entries_;
};

}  // namespace keel::http
