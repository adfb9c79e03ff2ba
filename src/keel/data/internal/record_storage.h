// The layout of a Record in memory; for code that builds a Record or visits its values.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>

#include "keel/base/bug.h"
#include "keel/base/copy.h"
#include "keel/data/record.h"

namespace keel {

// The head of a block, before the values of an array or before the alternating names and values of a record. If the
// block has space for more than linear_max fields, the sorted order of the names follows the values.
struct alignas(8) Record::Block {  // The head has the same alignment as the values.
  // If a record has at most this many fields, a name is searched for linearly.
  static constexpr std::size_t linear_max = 16;

  std::uint32_t size;
  std::uint32_t capacity;
  bool is_record;
  bool is_sorted;  // Whether the fields are in the order that is_before() defines.

  Value* values() noexcept { return reinterpret_cast<Value*>(this + 1); }
  const Value* values() const noexcept { return reinterpret_cast<const Value*>(this + 1); }
  std::size_t value_count() const noexcept { return std::size_t{size} << (is_record ? 1 : 0); }
  std::string_view name(std::size_t i) const noexcept { return values()[2 * i].text(); }
  std::uint32_t* order() noexcept { return reinterpret_cast<std::uint32_t*>(values() + 2 * std::size_t{capacity}); }
  const std::uint32_t* order() const noexcept { return const_cast<Block*>(this)->order(); }
  bool has_order() const noexcept { return is_record && capacity > linear_max; }

  // The order of keys in deterministic CBOR.
  static bool is_before(std::string_view a, std::string_view b) noexcept {
    return a.size() != b.size() ? a.size() < b.size() : std::memcmp(a.data(), b.data(), a.size()) < 0;
  }
  // The order of keys in deterministic CBOR, for two Values that contain names.
  static bool is_before(const Value& a, const Value& b) noexcept {
    if (a.bytes_[1] != b.bytes_[1]) return a.bytes_[1] < b.bytes_[1];
    if (a.bytes_[1] == Value::is_long) [[unlikely]]
      return is_before(a.text(), b.text());
    const std::size_t size = a.bytes_[1];
    if (size == 0) return false;
    const unsigned shift = size < 8 ? static_cast<unsigned>(64 - 8 * size) : 0;
    const auto first = [&](const Value& of) {
      std::uint64_t word = 0;
      std::memcpy(&word, of.bytes_ + 2, sizeof word);
      if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
      return word >> shift;
    };
    const std::uint64_t one = first(a);
    const std::uint64_t other = first(b);
    if (one != other) return one < other;
    return size > 8 && std::memcmp(a.bytes_ + 10, b.bytes_ + 10, size - 8) < 0;
  }
  std::uint32_t* lower_bound(std::string_view wanted) noexcept {
    return std::lower_bound(order(), order() + size, wanted,
                            [&](std::uint32_t i, std::string_view one) { return is_before(name(i), one); });
  }
  void sort() noexcept {
    for (std::uint32_t i = 0; i < size; ++i) order()[i] = i;
    if (is_sorted) return;
    std::sort(order(), order() + size, [&](std::uint32_t a, std::uint32_t b) {
      if (is_before(name(a), name(b))) return true;
      return !is_before(name(b), name(a)) && a < b;
    });
  }
  const Value* find(std::string_view wanted) const noexcept { return const_cast<Block*>(this)->find(wanted); }
  Value* find(std::string_view wanted) noexcept {
    if (!has_order()) {
      for (std::size_t i = 0; i < size; ++i) {
        if (name(i) == wanted) return &values()[2 * i + 1];
      }
      return nullptr;
    }
    const std::uint32_t* const at = lower_bound(wanted);
    return at != order() + size && name(*at) == wanted ? &values()[2 * std::size_t{*at} + 1] : nullptr;
  }
  // Computes the sorted order after fields have been appended without checks. Returns the index of the first field
  // whose name an earlier field also has; `size` if all names are different.
  std::size_t seal() noexcept {
    if (!is_record) return size;
    if (has_order()) sort();
    if (is_sorted) return size;
    std::size_t found = size;
    if (has_order()) {
      for (std::size_t i = 1; i < size; ++i) {
        const std::size_t at = order()[i];
        if (at < found && name(order()[i - 1]) == name(at)) found = at;
      }
      return found;
    }
    for (std::size_t i = 1; i < size; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (name(i) == name(j)) return i;
      }
    }
    return found;
  }
};

// For code that works on the memory of a Record; `arena` is the Record's arena, or null if the Record uses the heap.
struct Record::Storage {
  static Block* make(Arena* arena, bool is_record, std::size_t capacity) {
    KEEL_EXPECT(capacity < std::size_t{1} << 31, "an array or a record has too many values for a Record");
    const std::size_t each =
        is_record ? 2 * sizeof(Value) + (capacity > Block::linear_max ? sizeof(std::uint32_t) : 0) : sizeof(Value);
    const std::size_t bytes = sizeof(Block) + capacity * each;
    void* const at = arena != nullptr ? arena->allocate(bytes) : ::operator new(bytes);
    return ::new (at) Block{0, static_cast<std::uint32_t>(capacity), is_record, true};
  }
  static void free(Block* block, Arena* arena) noexcept {
    if (arena == nullptr) ::operator delete(block);
  }
  // Returns a block with space for one more value, into which the values of `block` have been moved; `block` is freed.
  static Block* grow(Block* block, bool is_record, Arena* arena);

  static void set_text(Value& value, Kind kind, std::string_view text, Arena* arena) {
    std::memset(value.bytes_, 0, sizeof value.bytes_);
    value.bytes_[0] = static_cast<unsigned char>(kind);
    if (text.size() <= Value::short_max) [[likely]] {
      value.bytes_[1] = static_cast<unsigned char>(text.size());
      if (!text.empty()) std::memcpy(value.bytes_ + 2, text.data(), text.size());
      return;
    }
    KEEL_EXPECT(text.size() <= std::numeric_limits<std::uint32_t>::max(),
                "a string in a Record must be shorter than 4 GiB");
    auto* const copied =
        static_cast<char*>(arena != nullptr ? arena->allocate(text.size(), 1) : ::operator new(text.size()));
    copy_short(copied, text.data(), text.size());
    value.bytes_[1] = Value::is_long;
    const auto size = static_cast<std::uint32_t>(text.size());
    std::memcpy(value.bytes_ + 4, &size, sizeof size);
    std::memcpy(value.bytes_ + 8, &copied, sizeof copied);
  }
  // Sets a text. The bytes between the text and `end` must be readable too, which makes copying faster.
  static void set_text(Value& value, Kind kind, const char* at, std::size_t size, const char* end, Arena* arena) {
    if (size > Value::short_max || static_cast<std::size_t>(end - at) < Value::short_max) [[unlikely]] {
      return set_text(value, kind, {at, size}, arena);
    }
    value.bytes_[0] = static_cast<unsigned char>(kind);
    value.bytes_[1] = static_cast<unsigned char>(size);
    std::memcpy(value.bytes_ + 2, at, Value::short_max);
  }
  static void set_block(Value& value, Block* block) noexcept {
    value.set(block->is_record ? Kind::Record : Kind::Array, block);
  }

  static void release(Value& value, Arena* arena) noexcept;
  static void release(Block* block, Arena* arena) noexcept;
  // Copies a value that is nested at most `left` levels deep; if the value is nested more deeply, returns false and
  // leaves `to` unchanged.
  static bool copy(Value& to, const Value& from, Arena* arena, int left);
  static Block* copy(const Block* from, Arena* arena, int left);
  static bool make_value(Value& to, const Input& from, Arena* arena, int left);
  // Returns the value of a field; if the field does not exist, adds it at the end with the value null.
  static Value& field(Block*& block, std::string_view name, Arena* arena);
  static Value& push_back(Block*& block, Arena* arena);
  static void erase(Block* block, std::size_t index, Arena* arena) noexcept;
  static void merge(Block*& to, const Block* from, Arena* arena);
  static bool are_equal(const Block* a, const Block* b);
};

}  // namespace keel
