// keel/http/server/literal_table.h — a perfect hash from texts to numbers: one probe and one comparison per look-up.
//
// The table holds the router's literals: whole paths, patterns, hosts. Hash and displace: the keys of a bucket share a
// displacement, which is chosen when they are added so that each key has its own slot. Therefore find() takes constant
// time for any number of keys and any text.
//
// Errors:   adding a key that is there already is a bug and aborts.
// Threads:  find() may be called by any number of threads after the last key was added.
// Cost:     find(): the hash of the text, eight bytes per step, then two loads and a comparison. add(): constant on
//           average. Keys come from the program's own patterns: no client can choose them so that adding becomes slow.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::http {

class LiteralTable {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  LiteralTable();

  void add(std::string_view text, std::uint32_t value);
  // The value of the key, or `none`.
  std::uint32_t find(std::string_view text) const noexcept;

 private:
  struct Key {
    std::uint64_t hash = 0;
    std::uint32_t at = 0;  // Offset in text_.
    std::uint32_t size = 0;
    std::uint32_t value = none;  // none: a free slot.
  };

  std::size_t bucket_of(std::uint64_t hash) const noexcept { return hash >> 40 & bucket_mask_; }
  std::size_t slot_of(std::uint64_t hash, std::uint32_t displacement) const noexcept {
    return ((hash ^ displacement) * 0x9e3779b97f4a7c15 >> 32) & slot_mask_;
  }
  bool place(std::size_t bucket);
  void rebuild();

  // Bit n is set if some key has a size of n modulo 64: most texts of another size are excluded without a lookup.
  std::uint64_t sizes_ = 0;
  std::uint64_t salt_ = 1;
  // There is one for each bucket; the number of buckets is a power of two, half the number of slots.
  std::vector<std::uint32_t> displacements_;
  std::size_t bucket_mask_;                          // The number of buckets minus one.
  std::vector<Key> slots_;                           // The number of slots is a power of two; at most half are in use.
  std::size_t slot_mask_;                            // The number of slots minus one.
  std::vector<Key> keys_;                            // All keys, in the order in which they were added.
  std::vector<std::vector<std::uint32_t>> buckets_;  // The indices of the keys in each bucket.
  std::string text_;
};

}  // namespace keel::http
