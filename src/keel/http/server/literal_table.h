// keel/http/server/literal_table.h — a perfect hash table that maps texts to numbers: each lookup takes one probe and
// one comparison.
//
// The table holds the router's literals: whole paths, patterns, hosts. The method is hash and displace: the keys of a
// bucket share a displacement, which is chosen when a key is added so that each key has its own slot. Therefore find()
// takes constant time for any number of keys and any text.
//
// Errors:   adding a key that is already in the table is a bug and aborts.
// Threads:  any number of threads may call find() after the last key was added.
// Cost:     find() hashes the text, eight bytes per step, and then needs two loads and a comparison. add() takes
//           constant time on average. Keys are the program's own patterns, so no client can choose keys that make add()
//           slow.

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
  // The value of the key, or `none` if the table does not have the key.
  std::uint32_t find(std::string_view text) const noexcept;

 private:
  struct Key {
    std::uint64_t hash = 0;
    std::uint32_t at = 0;  // Offset in text_.
    std::uint32_t size = 0;
    std::uint32_t value = none;  // none: the slot is free.
  };

  std::size_t bucket_of(std::uint64_t hash) const noexcept { return hash >> 40 & bucket_mask_; }
  std::size_t slot_of(std::uint64_t hash, std::uint32_t displacement) const noexcept {
    return ((hash ^ displacement) * 0x9e3779b97f4a7c15 >> 32) & slot_mask_;
  }
  bool place(std::size_t bucket);
  void rebuild();

  // Bit n is set if the size of some key, modulo 64, is n. Most texts whose size is not that of a key are thus excluded
  // without a lookup.
  std::uint64_t sizes_ = 0;
  std::uint64_t salt_ = 1;
  // One displacement for each bucket; the number of buckets is a power of two, half the number of slots.
  std::vector<std::uint32_t> displacements_;
  std::size_t bucket_mask_;                          // The number of buckets minus one.
  std::vector<Key> slots_;                           // The number of slots is a power of two; at most half are in use.
  std::size_t slot_mask_;                            // The number of slots minus one.
  std::vector<Key> keys_;                            // All keys, in the order in which they were added.
  std::vector<std::vector<std::uint32_t>> buckets_;  // The indices of the keys in each bucket.
  std::string text_;
};

}  // namespace keel::http
