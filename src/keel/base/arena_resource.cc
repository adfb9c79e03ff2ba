#include "keel/base/arena_resource.h"

#include <cstdint>
#include <new>

namespace keel {

void* ArenaResource::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment <= Arena::alignment_max) return arena_.allocate(bytes, alignment);
  const std::size_t more = alignment - Arena::alignment_max;
  if (bytes > SIZE_MAX - more) throw std::bad_alloc();
  const auto at = reinterpret_cast<std::uintptr_t>(arena_.allocate(bytes + more, Arena::alignment_max));
  return reinterpret_cast<void*>((at + alignment - 1) & ~(alignment - 1));
}

void ArenaResource::do_deallocate(void*, std::size_t, std::size_t) {}

bool ArenaResource::do_is_equal(const std::pmr::memory_resource& other) const noexcept {
  const auto* const same = dynamic_cast<const ArenaResource*>(&other);
  return same != nullptr && &same->arena_ == &arena_;
}

}  // namespace keel
