#if KEEL_WITH_URING

#include "keel/io/internal/uring_buffers.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "keel/base/pool.h"

namespace keel::io {

UringBuffers::~UringBuffers() {
  for (std::size_t name = count; name < known_.size(); ++name) {
    if (known_[name].copy != nullptr) pool_free(known_[name].copy, known_[name].size);
  }
  if (ring_ != nullptr) munmap(ring_, count * sizeof(io_uring_buf));
  if (memory_ != nullptr) munmap(memory_, count * stride_);
}

Result<> UringBuffers::set_up(io_uring& ring) {
  void* buffers =
      mmap(nullptr, count * sizeof(io_uring_buf), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffers == MAP_FAILED) return Error::from_errno("mmap", errno);
  ring_ = static_cast<io_uring_buf_ring*>(buffers);
  void* memory =
      mmap(nullptr, count * stride_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return Error::from_errno("mmap", errno);
  // Keeps data of clients out of core dumps.
  madvise(memory, count * stride_, MADV_DONTDUMP);
  memory_ = static_cast<char*>(memory);
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uint64_t>(ring_);
  registration.ring_entries = count;
  registration.bgid = 0;
  io_uring_buf_ring_init(ring_);
  if (const int result = io_uring_register_buf_ring(&ring, &registration, 0); result < 0) {
    return Error::from_errno("io_uring_register_buf_ring", -result);
  }
  known_.resize(count);
  fill();
  return {};
}

std::uint32_t UringBuffers::copy(std::uint32_t name, std::uint32_t size) noexcept {
  std::uint32_t copied = free_name_;
  if (copied == none) {
    copied = static_cast<std::uint32_t>(known_.size());
    known_.push_back({});
  } else {
    free_name_ = known_[copied].next;
  }
  known_[copied].copy = static_cast<char*>(pool_allocate(size));
  known_[copied].size = size;
  std::memcpy(known_[copied].copy, at(name), size);
  recycle(name);
  return copied;
}

void UringBuffers::free_copy(std::uint32_t name) noexcept {
  pool_free(std::exchange(known_[name].copy, nullptr), known_[name].size);
  known_[name].next = std::exchange(free_name_, name);
}

}  // namespace keel::io

#endif
