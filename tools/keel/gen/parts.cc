#include "gen/parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace keel::gen {

Parts::Parts(int count) : texts_(static_cast<std::size_t>(std::max(count, 1))) {}

std::string& Parts::of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9;  // Names that differ at their end alone would fall into one part.
  return texts_[(hash >> 32) % texts_.size()];
}

}  // namespace keel::gen
