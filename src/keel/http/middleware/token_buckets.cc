#include "keel/http/middleware/token_buckets.h"

#include <algorithm>
#include <bit>

#include "keel/base/check.h"

namespace keel::http {

TokenBuckets::TokenBuckets(const Options& options, SipKey key) : key_(key) {
  KEEL_CHECK(options.tokens > 0 && options.per.count_ns() >= options.tokens,
             "a bucket must hold at least one token, and must be refilled with at most one token each nanosecond");
  interval_ = options.per.count_ns() / options.tokens;
  burst_ = interval_ * options.tokens;
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(options.keys_max, set_size));
  entries_.resize(size);
  set_mask_ = size / set_size - 1;
}

TokenBuckets::Taken TokenBuckets::take(std::string_view key, Instant now) noexcept {
  const std::uint64_t hash = siphash(key_, key);
  Entry* const set = &entries_[(hash & set_mask_) * set_size];
  Entry* entry = std::find_if(set, set + set_size, [hash](const Entry& one) { return one.hash == hash; });
  if (entry == set + set_size) {
    entry = std::min_element(set, set + set_size, [](const Entry& a, const Entry& b) { return a.full_at < b.full_at; });
    *entry = {hash, 0};
  }
  const std::int64_t at = now.ns();
  const std::int64_t full_at = std::max(entry->full_at, at) + interval_;
  const std::int64_t missing = full_at - at;
  if (missing > burst_) {
    return {false, 0, Duration::nanoseconds(missing - burst_), Duration::nanoseconds(missing - interval_)};
  }
  entry->full_at = full_at;
  return {true, static_cast<std::uint32_t>((burst_ - missing) / interval_), Duration(), Duration::nanoseconds(missing)};
}

}  // namespace keel::http
