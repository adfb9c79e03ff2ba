// In which order the members of an object come. Clients write them in an order of their own, seldom in that of a table,
// and keep to it: what followed a member last time is what is looked for first the next time. A guess only, which the
// reader compares with the text.

#pragma once

#include <cstddef>
#include <cstdint>

namespace keel::json::internal {

// Of one object, while it is read.
class KeyOrder {
 public:
  static constexpr std::size_t members_max = 64;

  // Of a table of at most members_max. What is known of it is of this thread.
  KeyOrder(const void* table, std::size_t count) noexcept
      : known_(known + (reinterpret_cast<std::uintptr_t>(table) * 0x9E3779B97F4A7C15 >> (64 - room_bits))),
        count_(count) {
    guess();
  }

  // The number of the member that is likely to be next; `count` when the end is.
  std::size_t expected() const noexcept { return expected_; }
  // Member `i` has come.
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

  // Of each member, at one more than its number, and of the begin: the next one, exclusive-or what it is in the order
  // of the table, so that this order is the first guess. Tables share what is here: some overlap, and guess wrongly.
  static constinit inline thread_local std::uint8_t known[(std::size_t{1} << room_bits) + members_max + 1] = {};

  std::uint8_t* known_;
  std::size_t count_;
  std::size_t before_ = 0;
  std::size_t expected_ = 0;
};

}  // namespace keel::json::internal
