// keel/exec/job_memory.h — memory for small jobs that are allocated on one thread and freed on another.
//
// job_allocate(bytes) returns a block of 64 or 128 bytes, which shares no cache line with other blocks; job_free(block,
// bytes) frees it, with the same `bytes` as at the allocation. Larger blocks go to malloc. Blocks move between threads
// 64 at a time. A thread that only makes jobs therefore gets back the blocks of jobs that other threads have run, and
// after a while no block comes from the heap. Memory that was once in use is kept for the life of the process.
//
// Errors:  if memory runs out, job_allocate() throws std::bad_alloc, as operator new does.
// Threads: both functions may be called on any thread.
// Cost:    two loads and a store; a lock for every 64 blocks. Under AddressSanitizer every call goes to malloc, so that
//          misuse is found.
// Source:  magazines and depot of Bonwick and Adams, "Magazines and Vmem" (USENIX 2001).

#pragma once

#include <cstddef>

namespace keel {

// The largest block, in bytes.
inline constexpr std::size_t job_block_max = 128;

void* job_allocate(std::size_t bytes);
void job_free(void* block, std::size_t bytes) noexcept;

}  // namespace keel
