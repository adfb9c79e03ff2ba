// keel/base/arena_resource.h — an Arena as std::pmr::memory_resource, for containers of the standard library.
//
//   Arena arena;
//   ArenaResource memory(arena);
//   std::pmr::vector<std::pmr::string> words(&memory);   // ends with the arena's rewind(), at the latest
//
// Memory that a container frees is not reused before the arena is rewound. When a vector grows, the memory of its
// former, smaller buffer stays unused until the rewind, so call reserve() first.
//
// Lifetime: refers to the arena. Containers must be destroyed before the arena is rewound, because their destructors
//           access their elements.
// Errors:   std::bad_alloc, as with any memory resource.
// Threads:  the arena's.
// Cost:     a virtual call and Arena::allocate; a deallocation is only the virtual call.

#pragma once

#include <cstddef>
#include <memory_resource>

#include "keel/base/arena.h"

namespace keel {

class ArenaResource final : public std::pmr::memory_resource {
 public:
  explicit ArenaResource(Arena& arena) noexcept : arena_(arena) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override;

  Arena& arena_;
};

}  // namespace keel
