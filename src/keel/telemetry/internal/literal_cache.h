// keel/telemetry/internal/literal_cache.h — values that are made once for each literal of the program and found by the
// literal's address.
//
// A hash of the address selects the first place to look, followed by the next places, so that literals with the same
// hash do not evict each other. A new literal replaces another literal only when all `size` places are taken; the
// places are replaced in turn.
//
// Threads: one at a time.
// Cost:    a multiplication and usually one comparison; `size` comparisons for an unknown literal when all places are
//          taken. The cache needs no memory besides the object.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace keel::telemetry {

template <class Value, std::size_t size>
class LiteralCache {
 public:
  // The value stored for `id`, which must not be 0; null: none is stored.
  template <class IsMeant>
  [[gnu::always_inline]] Value* find(std::uint64_t id, IsMeant&& is_meant) noexcept {
    const std::size_t first = first_place(id);
    if (ids_[first] == id && is_meant(values_[first])) [[likely]]
      return &values_[first];
    for (std::size_t i = 1; i < size && ids_[(first + i) % size] != 0; ++i) {
      const std::size_t place = (first + i) % size;
      if (ids_[place] == id && is_meant(values_[place])) return &values_[place];
    }
    return nullptr;
  }

  // Returns a place for `id`, which find() has not found; the place still has the value of its previous owner.
  Value& place(std::uint64_t id) noexcept {
    std::size_t place = first_place(id);
    for (std::size_t i = 0; ids_[place] != 0; ++i) {
      if (i == size) {
        place = next_out_++ % size;
        break;
      }
      place = (place + 1) % size;
    }
    ids_[place] = id;
    return values_[place];
  }

 private:
  static_assert(std::has_single_bit(size) && size > 1);
  static std::size_t first_place(std::uint64_t id) noexcept {
    return id * 0x9e3779b97f4a7c15 >> (64 - std::bit_width(size - 1));
  }

  std::uint64_t ids_[size] = {};  // 0: free
  Value values_[size] = {};
  std::size_t next_out_ = 0;
};

}  // namespace keel::telemetry
