#include "keel/base/buffer.h"

#include <algorithm>

#include "keel/base/pool.h"

namespace keel {
namespace {

// The size class of most buffers, known at compile time.
constexpr std::size_t first_capacity = 256;

}  // namespace

void Buffer::give_back() noexcept {
  if (capacity_ == first_capacity) [[likely]] {
    pool_free(data_, first_capacity);
  } else {
    pool_free(data_, capacity_);
  }
}

void Buffer::grow(std::size_t more) {
  if (capacity_ != 0 || more > first_capacity) [[unlikely]]
    return grow_further(more);
  data_ = static_cast<char*>(pool_allocate(first_capacity));
  capacity_ = first_capacity;
}

void Buffer::grow_further(std::size_t more) {
  const std::size_t capacity = pool_block_size(std::max(size_ + more, capacity_ * 2));
  auto* data = static_cast<char*>(pool_allocate(capacity));
  if (size_ != 0) std::memcpy(data, data_, size_);
  if (data_ != nullptr) pool_free(data_, capacity_);
  data_ = data;
  capacity_ = capacity;
}

}  // namespace keel
