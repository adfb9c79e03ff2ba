#include "keel/http/server/literal_table.h"

#include "keel/base/check.h"
#include "keel/base/scan.h"

namespace keel::http {
namespace {

constexpr std::uint32_t displacements_tried = 1024;

// The exclusive or of the two halves of the product.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// The last load of eight bytes may overlap the one before, so that the last bytes need not be read one by one.
inline std::uint64_t hash_of(std::uint64_t salt, std::string_view text) noexcept {
  constexpr std::uint64_t multiplier = 0xd6e8feb86659fd93;
  const char* at = text.data();
  const std::size_t size = text.size();
  std::uint64_t hash = salt * multiplier ^ size;
  if (size >= 8) {
    const char* const last = at + size - 8;
    for (; at < last; at += 8) hash = mix(hash ^ scan::load64(at), multiplier);
    return mix(hash ^ scan::load64(last), multiplier);
  }
  if (size >= 4) {
    return mix(hash ^ scan::load32(at) ^ std::uint64_t{scan::load32(at + size - 4)} << 32, multiplier);
  }
  if (size > 0) {
    const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])}; };
    hash ^= byte(0) ^ byte(size / 2) << 8 ^ byte(size - 1) << 16;
  }
  return mix(hash, multiplier);
}

}  // namespace

LiteralTable::LiteralTable() : displacements_(8), bucket_mask_(7), slots_(16), slot_mask_(15), buckets_(8) {}

std::uint32_t LiteralTable::find(std::string_view text) const noexcept {
  if ((sizes_ >> text.size() % 64 & 1) == 0) return none;
  const std::uint64_t hash = hash_of(salt_, text);
  const Key& key = slots_[slot_of(hash, displacements_[bucket_of(hash)])];
  if (key.size != text.size()) return none;
  return scan::is_same(text_.data() + key.at, text.data(), text.size()) ? key.value : none;
}

void LiteralTable::add(std::string_view text, std::uint32_t value) {
  KEEL_CHECK(value != none && find(text) == none, "a literal may be added only once, and needs a value");
  const Key key{hash_of(salt_, text), static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(text.size()),
                value};
  text_.append(text);
  sizes_ |= std::uint64_t{1} << text.size() % 64;
  keys_.push_back(key);
  const std::size_t bucket = bucket_of(key.hash);
  buckets_[bucket].push_back(static_cast<std::uint32_t>(keys_.size() - 1));
  if (keys_.size() * 2 > slots_.size() || !place(bucket)) rebuild();
}

// Gives each key of `bucket` a slot of its own; all keys except the one that was added last may already have slots.
bool LiteralTable::place(std::size_t bucket) {
  const std::vector<std::uint32_t>& members = buckets_[bucket];
  for (std::uint32_t member : members) {
    Key& slot = slots_[slot_of(keys_[member].hash, displacements_[bucket])];
    const Key& key = keys_[member];
    if (slot.hash == key.hash && slot.at == key.at && slot.size == key.size) slot = Key();
  }
  for (std::uint32_t displacement = 0; displacement < displacements_tried; ++displacement) {
    std::size_t placed = 0;
    for (; placed < members.size(); ++placed) {
      Key& slot = slots_[slot_of(keys_[members[placed]].hash, displacement)];
      if (slot.value != none) break;
      slot = keys_[members[placed]];
    }
    if (placed == members.size()) {
      displacements_[bucket] = displacement;
      return true;
    }
    for (; placed > 0; --placed) slots_[slot_of(keys_[members[placed - 1]].hash, displacement)] = Key();
  }
  return false;
}

// Rebuilds the table with twice as many slots. A new salt also separates keys whose hashes were equal.
void LiteralTable::rebuild() {
  for (bool done = false; !done;) {
    const std::size_t size = slots_.size() * 2;
    ++salt_;
    slots_.assign(size, Key());
    slot_mask_ = size - 1;
    displacements_.assign(size / 2, 0);
    bucket_mask_ = size / 2 - 1;
    buckets_.assign(size / 2, {});
    for (std::uint32_t i = 0; i < keys_.size(); ++i) {
      Key& key = keys_[i];
      key.hash = hash_of(salt_, std::string_view(text_).substr(key.at, key.size));
      buckets_[bucket_of(key.hash)].push_back(i);
    }
    done = true;
    for (std::size_t bucket = 0; bucket < buckets_.size() && done; ++bucket) {
      done = buckets_[bucket].empty() || place(bucket);
    }
  }
}

}  // namespace keel::http
