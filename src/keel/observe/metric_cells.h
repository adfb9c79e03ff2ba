// keel/observe/metric_cells.h — the storage of counts: 64-bit cells, one set for each worker, which are summed when the
// metrics are read.
//
//   metrics::ThreadCells cells;           // on the worker's thread, for as long as it runs
//
// A cell is identified by a number (an index); every thread has a place for each cell. A thread that has installed
// ThreadCells adds with a plain load and store; all other threads add atomically to one shared place. Places are
// allocated in chunks, so that cells can be made while threads run.
//
// Threads:  ThreadCells belongs to the thread that made it and is destroyed there; its counts are kept.
// Cost:     add() takes about 1 ns with ThreadCells, and 5 ns or more without ThreadCells; a cell takes 8 bytes for
//           each thread.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace keel::metrics {
namespace internal {

inline constexpr std::uint32_t chunk_cells = 1024;
inline constexpr std::uint32_t chunks_max = 2048;  // The limits allow two million cells in a process.

using Cell = std::atomic<std::uint64_t>;

struct CellSet {
  std::atomic<Cell*> chunks[chunks_max] = {};
  Cell& at(std::uint32_t index) noexcept {
    return chunks[index / chunk_cells].load(std::memory_order_acquire)[index % chunk_cells];
  }
};

constinit inline thread_local CellSet* current_cells = nullptr;
CellSet& shared_cells() noexcept;

inline void add(std::uint32_t index, std::uint64_t n) noexcept {
  if (CellSet* own = current_cells) [[likely]] {
    Cell& cell = own->at(index);
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  } else {
    shared_cells().at(index).fetch_add(n, std::memory_order_relaxed);
  }
}
// Adds to the bucket and to the sum of a histogram with only one lookup, because both are in the same chunk.
inline void add_two(std::uint32_t a, std::uint64_t n, std::uint32_t b, std::uint64_t m) noexcept {
  if (CellSet* own = current_cells) [[likely]] {
    Cell* const chunk = own->chunks[a / chunk_cells].load(std::memory_order_acquire);
    Cell& first = chunk[a % chunk_cells];
    Cell& second = chunk[b % chunk_cells];
    first.store(first.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    second.store(second.load(std::memory_order_relaxed) + m, std::memory_order_relaxed);
  } else {
    shared_cells().at(a).fetch_add(n, std::memory_order_relaxed);
    shared_cells().at(b).fetch_add(m, std::memory_order_relaxed);
  }
}

// Creates a chunk of zero cells with a place in every thread, and returns its number. To make more than chunks_max
// chunks is a bug and aborts.
std::uint32_t make_chunk();
// Frees the chunk: the caller guarantees that no thread adds to it any more.
void free_chunk(std::uint32_t chunk) noexcept;
// Sums the cells of `chunk` over all threads into `sums`, which has chunk_cells elements.
void read_chunk(std::uint32_t chunk, std::span<std::uint64_t> sums) noexcept;
std::uint64_t read_cell(std::uint32_t index) noexcept;

}  // namespace internal

class ThreadCells {
 public:
  ThreadCells();
  ~ThreadCells();
  ThreadCells(const ThreadCells&) = delete;
  ThreadCells& operator=(const ThreadCells&) = delete;

 private:
  internal::CellSet* cells_;
};

}  // namespace keel::metrics
