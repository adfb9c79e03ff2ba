// Memory for the marks that schema.cc sets: words that are taken and given back in the order of a stack. The first
// words are a part of the Scratch object, so they need no allocation.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace keel::contract::internal {

class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::size_t size() const noexcept { return size_; }
  // The pointer is valid until more words are taken.
  std::uint64_t* at(std::size_t offset) noexcept { return words_ + offset; }
  // Takes this many words, set to zero, and returns their offset.
  std::size_t take(std::size_t count) {
    if (size_ + count > capacity_) grow(size_ + count);
    std::fill_n(words_ + size_, count, 0);
    size_ += count;
    return size_ - count;
  }
  // Gives back all words that were taken after the call of size() that returned `size`.
  void give_back(std::size_t size) noexcept { size_ = size; }

 private:
  void grow(std::size_t least) {
    const std::size_t capacity = std::max(least, 2 * capacity_);
    auto made = std::make_unique<std::uint64_t[]>(capacity);
    std::copy_n(words_, size_, made.get());
    more_ = std::move(made);
    words_ = more_.get();
    capacity_ = capacity;
  }

  std::array<std::uint64_t, 64> first_;
  std::unique_ptr<std::uint64_t[]> more_;
  std::uint64_t* words_ = first_.data();
  std::size_t capacity_ = first_.size();
  std::size_t size_ = 0;
};

}  // namespace keel::contract::internal
