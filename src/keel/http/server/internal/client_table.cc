#include "keel/http/server/internal/client_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "keel/base/check.h"

namespace keel::http {
namespace {

constexpr std::size_t entries_min = 64;

}  // namespace

std::uint32_t ClientTable::enter(std::string_view address) {
  KEEL_CHECK(address.size() <= sizeof(ClientEntry::address), "a client must be identified by at most eight bytes");
  if (free_ == 0) make_room();
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, address.data(), address.size());
  const auto size = static_cast<std::uint32_t>(address.size());
  const std::uint64_t hash = siphash(key_, address);
  std::uint32_t& bucket = buckets_[hash & (buckets_.size() - 1)];
  std::uint32_t place = bucket;
  while (place != 0 && (entries_[place].address != bytes || entries_[place].size != size)) place = entries_[place].next;
  if (place == 0) {
    place = std::exchange(free_, entries_[free_].next);
    entries_[place] = {.hash = hash, .address = bytes, .size = size, .next = std::exchange(bucket, place)};
    ++size_;
  }
  ++entries_[place].connections;
  return place;
}

void ClientTable::leave(std::uint32_t place) noexcept {
  ClientEntry& entry = entries_[place];
  if (--entry.connections != 0) return;
  std::uint32_t* at = &buckets_[entry.hash & (buckets_.size() - 1)];
  while (*at != place) at = &entries_[*at].next;
  *at = entry.next;
  entry.next = std::exchange(free_, place);
  --size_;
}

// Doubles the number of entries, and makes as many buckets as entries.
void ClientTable::make_room() {
  const std::size_t before = entries_.size();
  const std::size_t count = std::max(entries_min, 2 * before);
  std::vector<std::uint32_t> buckets(count);
  entries_.resize(count);
  buckets_ = std::move(buckets);
  for (std::size_t i = std::max<std::size_t>(before, 1); i < count; ++i) {
    entries_[i].next = std::exchange(free_, static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 1; i < before; ++i) {
    std::uint32_t& bucket = buckets_[entries_[i].hash & (buckets_.size() - 1)];
    entries_[i].next = std::exchange(bucket, static_cast<std::uint32_t>(i));
  }
}

}  // namespace keel::http
