// Predicts the order of an object's members. Each client writes members in an order of its own, which is seldom the
// order of the table, but is always the same. Therefore the search begins with the member that followed the current
// member last time. The prediction may be wrong, so the reader compares the predicted key with the text.

#pragma once

#include <cstddef>
#include <cstdint>

namespace keel::json::internal {

// Predicts the members of one object while the object is read.
class KeyOrder {
 public:
  static constexpr std::size_t members_max = 64;

  // `table` must have at most members_max members. The order in which a table's keys arrived last time is kept per
  // thread.
  KeyOrder(const void* table, std::size_t count) noexcept
      : known_(known + (reinterpret_cast<std::uintptr_t>(table) * 0x9E3779B97F4A7C15 >> (64 - room_bits))),
        count_(count) {
    guess();
  }

  // The index of the member that probably comes next; `count` if the object probably ends.
  std::size_t expected() const noexcept { return expected_; }
  // Notes that member `i` was read.
  [[gnu::always_inline]] void came(std::size_t i) noexcept {
    if (i != expected_) known_[before_] = static_cast<std::uint8_t>(i ^ before_);
    before_ = i + 1;
    guess();
  }

 private:
  static constexpr int room_bits = 12;

  [[gnu::always_inline]] void guess() noexcept {
    expected_ = before_ ^ known_[before_];
    if (expected_ > count_) expected_ = before_;
  }

  // For each member, at its index + 1: the member that followed it last time; at 0: the member that came first. The
  // value is XORed with the index of the next member in the table, so that zeros stand for the order of the table
  // itself. All tables share this array; if two tables use overlapping parts of it, guesses may be wrong.
  static constinit inline thread_local std::uint8_t known[(std::size_t{1} << room_bits) + members_max + 1] = {};

  std::uint8_t* known_;
  std::size_t count_;
  std::size_t before_ = 0;
  std::size_t expected_ = 0;
};

}  // namespace keel::json::internal
