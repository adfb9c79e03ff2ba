#include "keel/base/buffer.h"

#include <algorithm>

#include "keel/base/pool.h"

namespace keel {

void Buffer::release() noexcept {
  if (data_ != nullptr) pool_free(data_, capacity_);
  data_ = nullptr;
  size_ = capacity_ = 0;
}

void Buffer::grow(std::size_t more) {
  const std::size_t capacity = pool_block_size(std::max({size_ + more, capacity_ * 2, std::size_t{256}}));
  auto* data = static_cast<char*>(pool_allocate(capacity));
  if (size_ != 0) std::memcpy(data, data_, size_);
  if (data_ != nullptr) pool_free(data_, capacity_);
  data_ = data;
  capacity_ = capacity;
}

}  // namespace keel
