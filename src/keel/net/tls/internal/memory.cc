#include "keel/net/tls/internal/memory.h"

#include <malloc.h>
#include <openssl/crypto.h>
#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "keel/base/sanitizers.h"

namespace keel::tls::internal {
namespace {

// The pools of base/pool.h need the size of a freed block, which OpenSSL does not pass. A header with the size would
// take 16 B in each of the 34 blocks of an idle connection, and sizes of powers of two would waste more. malloc knows
// the size of a block, so malloc is asked instead. The size classes up to 1,032 B are those of malloc (8 B more than
// multiples of 16 B). Above 1,032 B, each power of two is divided into 64 classes, so a block is at most 1.6 % larger
// than the requested size.
constexpr std::size_t block_min = 24;
constexpr std::size_t block_step = 16;
constexpr std::size_t fine_max = 1032;
constexpr std::size_t fine_count = (fine_max - block_min) / block_step + 1;
constexpr std::size_t coarse_shift = 10;  // fine_max minus malloc's 8 B is 2^10.
constexpr std::size_t per_octave_shift = 6;
constexpr std::size_t octaves = 6;
constexpr std::size_t class_count = fine_count + (octaves << per_octave_shift);

constexpr std::size_t size_of(std::size_t i) noexcept {
  if (i < fine_count) return block_min + block_step * i;
  const std::size_t octave = coarse_shift + ((i - fine_count) >> per_octave_shift);
  const std::size_t part = (i - fine_count) & ((1u << per_octave_shift) - 1);
  return (std::size_t{1} << octave) + ((part + 1) << (octave - per_octave_shift)) + 8;
}
constexpr std::size_t block_max = size_of(class_count - 1);

// The smallest class whose blocks have at least `bytes` bytes; `bytes` is at most block_max.
constexpr std::size_t class_of(std::size_t bytes) noexcept {
  if (bytes <= block_min) return 0;
  if (bytes <= fine_max) return (bytes - block_min + block_step - 1) / block_step;
  const std::size_t last = bytes - 9;
  const std::size_t octave = 63 - static_cast<std::size_t>(__builtin_clzl(last));
  const std::size_t part = (last - (std::size_t{1} << octave)) >> (octave - per_octave_shift);
  return fine_count + ((octave - coarse_shift) << per_octave_shift) + part;
}

constexpr bool classes_fit() noexcept {
  for (std::size_t i = 0; i < class_count; ++i) {
    if (class_of(size_of(i)) != i || (i != 0 && class_of(size_of(i - 1) + 1) != i)) return false;
  }
  return true;
}
static_assert(class_count == 448 && block_max == 64 * 1024 + 8 && classes_fit());

// The maximum total sizes of the free blocks that a thread keeps: the first is for the blocks of each class, the second
// for all blocks. While the thread has no connections, the third constant replaces the first.
constexpr std::size_t class_bytes_max = 2 * 1024 * 1024;
constexpr std::size_t retained_bytes_max = 8 * 1024 * 1024;
constexpr std::size_t quiet_class_bytes_max = 64 * 1024;
// It is not worthwhile to trim a smaller amount than this.
constexpr std::size_t quiet_bytes_max = 1024 * 1024;

struct FreeBlock {
  FreeBlock* next;
};
struct SizeClass {
  FreeBlock* head;
  std::uint32_t room;   // How many more blocks may be kept.
  std::uint32_t bytes;  // The size of a block; 0 until the thread keeps blocks.
};
// The array has no destructor, because every access would then have to check whether the destructor is registered.
constinit thread_local SizeClass classes[class_count]{};
constinit thread_local std::size_t room_bytes = 0;  // How many more bytes may be kept.
constinit thread_local std::size_t next_victim = 0;
constinit thread_local std::size_t connections = 0;

enum class Keeps : unsigned char { NotYet, Yes, NoLonger };
constinit thread_local Keeps keeps = Keeps::NotYet;

constexpr std::uint32_t room_of(std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>(class_bytes_max / bytes);
}

void free_kept() noexcept {
  for (SizeClass& one : classes) {
    while (one.head != nullptr) std::free(std::exchange(one.head, one.head->next));
    one.room = 0;
  }
  room_bytes = 0;
}

void give_room_again() noexcept {
  for (std::size_t i = 0; i < class_count; ++i) {
    classes[i].bytes = static_cast<std::uint32_t>(size_of(i));
    classes[i].room = room_of(size_of(i));
  }
  room_bytes = retained_bytes_max;
}

void free_one(SizeClass& of) noexcept {
  std::free(std::exchange(of.head, of.head->next));
  ++of.room;
  room_bytes += of.bytes;
}

// Frees blocks of other sizes, so that sizes that are no longer requested do not occupy the room forever. The function
// frees only a few blocks for each returned block, to bound the cost of a release.
bool make_room(const SizeClass& wanted) noexcept {
  constexpr int looks_max = 16;
  for (int looks = 0; looks < looks_max && room_bytes < wanted.bytes; ++looks) {
    next_victim = next_victim + 1 == class_count ? 0 : next_victim + 1;
    SizeClass& other = classes[next_victim];
    if (&other != &wanted && other.head != nullptr) free_one(other);
  }
  return room_bytes >= wanted.bytes;
}

void keep_what_a_few_handshakes_need() noexcept {
  if (keeps != Keeps::Yes || retained_bytes_max - room_bytes <= quiet_bytes_max) return;
  for (SizeClass& one : classes) {
    const std::uint32_t least_room = room_of(one.bytes) - static_cast<std::uint32_t>(quiet_class_bytes_max / one.bytes);
    while (one.room < least_room) free_one(one);
  }
}

void end_of_thread(void*) noexcept {
  free_kept();
  keeps = Keeps::NoLonger;
}

// From now on this thread keeps blocks until it ends; it keeps none if its end cannot be detected.
bool begin_to_keep() noexcept {
  struct Key {
    pthread_key_t key{};
    bool is_made = pthread_key_create(&key, end_of_thread) == 0;
  };
  static const Key end;
  if (!end.is_made || pthread_setspecific(end.key, classes) != 0) return false;
  keeps = Keeps::Yes;
  give_room_again();
  return true;
}

void* allocate(std::size_t bytes, const char*, int) noexcept {
  if (KEEL_ADDRESS_SANITIZER || bytes > block_max) return std::malloc(bytes);
  const std::size_t wanted = class_of(bytes);
  // malloc sometimes adds the 16 B that follow a block; such a block is kept in the next larger class.
  for (std::size_t i = wanted; i < std::min(wanted + 2, class_count); ++i) {
    SizeClass& from = classes[i];
    if (from.head == nullptr) continue;
    ++from.room;
    room_bytes += from.bytes;
    return std::exchange(from.head, from.head->next);
  }
  return std::malloc(size_of(wanted));
}

void release(void* block, const char*, int) noexcept {
  if (block == nullptr) return;
  const std::size_t bytes = KEEL_ADDRESS_SANITIZER ? 0 : ::malloc_usable_size(block);
  if (bytes < block_min || bytes > block_max + block_step) return std::free(block);
  std::size_t i = class_of(std::min(bytes, block_max));
  if (size_of(i) > bytes) --i;
  if (keeps != Keeps::Yes && (keeps == Keeps::NoLonger || !begin_to_keep())) return std::free(block);
  SizeClass& into = classes[i];
  if (into.room == 0 || (room_bytes < into.bytes && !make_room(into))) return std::free(block);
  --into.room;
  room_bytes -= into.bytes;
  into.head = ::new (block) FreeBlock{into.head};
}

void* reallocate(void* block, std::size_t bytes, const char* file, int line) noexcept {
  if (block == nullptr) return allocate(bytes, file, line);
  if (bytes == 0) {
    release(block, file, line);
    return nullptr;
  }
  if (KEEL_ADDRESS_SANITIZER) return std::realloc(block, bytes);
  void* const grown = allocate(bytes, file, line);
  if (grown == nullptr) return nullptr;  // The old block is unchanged.
  std::memcpy(grown, block, std::min<std::size_t>(bytes, ::malloc_usable_size(block)));
  release(block, file, line);
  return grown;
}

const bool is_set = CRYPTO_set_mem_functions(&allocate, &reallocate, &release) == 1;

}  // namespace

bool uses_pools() noexcept { return is_set; }

void trim_pools() noexcept {
  free_kept();
  if (keeps == Keeps::Yes) give_room_again();
}

PoolUse::PoolUse() noexcept : thread_(&connections) { ++connections; }

PoolUse::~PoolUse() {
  if (thread_ == &connections && --connections == 0) keep_what_a_few_handshakes_need();
}

}  // namespace keel::tls::internal
