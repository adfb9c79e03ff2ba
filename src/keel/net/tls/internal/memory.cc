#include "keel/net/tls/internal/memory.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

#include "keel/base/pool.h"

namespace keel::tls::internal {
namespace {

// Each block is preceded by its size, which pool_free() needs; 16 bytes, so that the block stays aligned.
constexpr std::size_t head_bytes = 16;

char* start_of(void* block) noexcept { return static_cast<char*>(block) - head_bytes; }
std::size_t bytes_of(void* block) noexcept {
  std::size_t bytes;
  std::memcpy(&bytes, start_of(block), sizeof bytes);
  return bytes;
}

void* allocate(std::size_t bytes, const char*, int) noexcept {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) return nullptr;
  try {
    char* const start = static_cast<char*>(pool_allocate(head_bytes + bytes));
    std::memcpy(start, &bytes, sizeof bytes);
    return start + head_bytes;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void release(void* block, const char*, int) noexcept {
  if (block != nullptr) pool_free(start_of(block), head_bytes + bytes_of(block));
}

void* reallocate(void* block, std::size_t bytes, const char* file, int line) noexcept {
  if (block == nullptr) return allocate(bytes, file, line);
  if (bytes == 0) {
    release(block, file, line);
    return nullptr;
  }
  void* const grown = allocate(bytes, file, line);
  if (grown == nullptr) return nullptr;  // What was there stays.
  std::memcpy(grown, block, std::min(bytes, bytes_of(block)));
  release(block, file, line);
  return grown;
}

const bool is_set = CRYPTO_set_mem_functions(&allocate, &reallocate, &release) == 1;

}  // namespace

bool uses_pools() noexcept { return is_set; }

}  // namespace keel::tls::internal
