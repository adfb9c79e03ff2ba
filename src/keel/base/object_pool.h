// keel/base/object_pool.h — objects of one type that are created and destroyed often: sessions, orders, timers of a
// protocol.
//
//   ObjectPool<Session> sessions;                        // of this worker
//   Session& session = sessions.make(std::move(peer));   // stays where it is until it is released
//   …
//   sessions.release(session);
//   std::unique_ptr<Session, ObjectPool<Session>::Release> owned(&sessions.make(id),
//                                                                ObjectPool<Session>::Release(sessions));
//
// Objects are stored next to each other in blocks of 4 KiB or more, and the most recently released place is used first.
// The memory of released objects is kept until the pool is destroyed. Use pool.h for objects of different sizes, and an
// Arena for objects that all end together.
//
// Errors:   make() throws std::bad_alloc, or the exception of T's constructor, and leaves the pool unchanged.
// Lifetime: every object must be released exactly once, before its pool is destroyed; every build checks this rule, and
//           also that the object came from this pool. AddressSanitizer also finds uses of an object after its release.
// Threads:  only one; use a pool for each worker (PerThread), and release objects on the worker that made them.
// Cost:     one pointer for each object in addition to its size; make() and release() take a few instructions, plus
//           T's constructor and destructor. Each new block comes from the heap, by way of pool.h.

#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/base/sanitizers.h"

#if KEEL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace keel {

template <class T>
class ObjectPool {
 public:
  struct Statistics {
    std::size_t live;        // Objects that have been made and not yet released.
    std::size_t high_water;  // The largest number of objects that were live at the same time.
    std::size_t capacity;    // The number of objects for which the pool's blocks have room.
    std::size_t blocks;
  };
  // The deleter of a std::unique_ptr: releases the object to its pool.
  class Release {
   public:
    explicit Release(ObjectPool& pool) noexcept : pool_(&pool) {}
    void operator()(T* object) const noexcept { pool_->release(*object); }

   private:
    ObjectPool* pool_;
  };

  ObjectPool() = default;
  ObjectPool(const ObjectPool&) = delete;
  ObjectPool& operator=(const ObjectPool&) = delete;
  ~ObjectPool() {
    KEEL_CHECK(live_ == 0, "every object must be released before its pool is destroyed");
    while (blocks_ != nullptr) {
      Block* const gone = std::exchange(blocks_, blocks_->next);
      unpoison(gone, block_bytes);
      pool_free(gone, block_bytes);
    }
  }

  template <class... Args>
  T& make(Args&&... args) {
    Slot& slot = take();
    unpoison(slot.object, sizeof(T));
    Taken taken{*this, &slot};
    T* const object = ::new (static_cast<void*>(slot.object)) T(std::forward<Args>(args)...);
    taken.slot = nullptr;
    return *object;
  }

  void release(T& object) noexcept {
    Slot& slot =
        *reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(__builtin_addressof(object)) - offsetof(Slot, object));
    KEEL_CHECK(slot.link == this, "an object must be released exactly once, to the pool that made it");
    object.~T();
    give_back(slot);
  }

  Statistics statistics() const noexcept { return {live_, high_water_, block_count_ * slots_per_block, block_count_}; }

 private:
  struct Slot {
    void* link;  // The pool while the object lives; otherwise the next free slot.
    alignas(T) std::byte object[sizeof(T)];
  };
  struct alignas(Slot) Block {
    Block* next;
  };
  static constexpr std::size_t slots_of_4k = (4096 - sizeof(Block)) / sizeof(Slot);
  static constexpr std::size_t slots_per_block = slots_of_4k < 8 ? 8 : slots_of_4k;
  static constexpr std::size_t block_bytes = sizeof(Block) + slots_per_block * sizeof(Slot);
  static_assert(alignof(T) <= 16, "the objects of an ObjectPool must not need an alignment above 16 bytes");

  // Gives the slot back to the pool if T's constructor throws.
  struct Taken {
    ~Taken() {
      if (slot != nullptr) [[unlikely]]
        pool.give_back(*slot);
    }
    ObjectPool& pool;
    Slot* slot;
  };

  Slot& take() {
    Slot* slot = free_;
    if (slot != nullptr) [[likely]] {
      free_ = static_cast<Slot*>(slot->link);
    } else {
      if (fresh_ == fresh_end_) [[unlikely]]
        add_block();
      slot = fresh_++;
    }
    slot->link = this;
    if (++live_ > high_water_) high_water_ = live_;
    return *slot;
  }
  void give_back(Slot& slot) noexcept {
    slot.link = free_;
    free_ = &slot;
    --live_;
    poison(slot.object, sizeof(T));
  }
  [[gnu::noinline]] void add_block() {
    auto* const block = ::new (pool_allocate(block_bytes)) Block{blocks_};
    blocks_ = block;
    ++block_count_;
    fresh_ = reinterpret_cast<Slot*>(block + 1);
    fresh_end_ = fresh_ + slots_per_block;
  }

#if KEEL_ADDRESS_SANITIZER
  static void poison(void* at, std::size_t bytes) noexcept { ASAN_POISON_MEMORY_REGION(at, bytes); }
  static void unpoison(void* at, std::size_t bytes) noexcept { ASAN_UNPOISON_MEMORY_REGION(at, bytes); }
#else
  static void poison(void*, std::size_t) noexcept {}
  static void unpoison(void*, std::size_t) noexcept {}
#endif

  Slot* free_ = nullptr;
  Slot* fresh_ = nullptr;  // Slots that have not been used yet.
  Slot* fresh_end_ = nullptr;
  Block* blocks_ = nullptr;
  std::size_t block_count_ = 0;
  std::size_t live_ = 0;
  std::size_t high_water_ = 0;
};

}  // namespace keel
