#include "keel/observe/metric_cells.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "keel/base/check.h"

namespace keel::metrics {
namespace {

using internal::Cell;
using internal::CellSet;
using internal::chunk_cells;

struct Store {
  std::mutex mutex;                 // Guards the members below; cells themselves are atomic.
  std::vector<CellSet*> sets;       // The sets of all threads that have a set; the first is the shared set.
  std::vector<std::uint32_t> free;  // Chunks that were given back, and can be used again.
  std::uint32_t chunks = 0;         // The number of chunks made so far.

  Store() { sets.push_back(&internal::shared_cells()); }
};

// Never destroyed: counters may be used until the process ends.
Store& store() {
  static Store& the_store = *new Store;
  return the_store;
}

void add_chunk(CellSet& set, std::uint32_t chunk) {
  set.chunks[chunk].store(new Cell[chunk_cells](), std::memory_order_release);
}

}  // namespace

namespace internal {

CellSet& shared_cells() noexcept {
  static CellSet& cells = *new CellSet;
  return cells;
}

std::uint32_t make_chunk() {
  Store& s = store();
  std::lock_guard lock(s.mutex);
  if (!s.free.empty()) {
    const std::uint32_t chunk = s.free.back();
    s.free.pop_back();
    return chunk;
  }
  KEEL_CHECK(s.chunks < chunks_max, "a process can have at most two million metric cells");
  const std::uint32_t chunk = s.chunks++;
  for (CellSet* set : s.sets) add_chunk(*set, chunk);
  return chunk;
}

void free_chunk(std::uint32_t chunk) noexcept {
  Store& s = store();
  std::lock_guard lock(s.mutex);
  for (CellSet* set : s.sets) {
    Cell* cells = set->chunks[chunk].load(std::memory_order_relaxed);
    std::for_each(cells, cells + chunk_cells, [](Cell& cell) { cell.store(0, std::memory_order_relaxed); });
  }
  s.free.push_back(chunk);
}

void read_chunk(std::uint32_t chunk, std::span<std::uint64_t> sums) noexcept {
  Store& s = store();
  std::lock_guard lock(s.mutex);
  std::fill(sums.begin(), sums.end(), 0);
  for (CellSet* set : s.sets) {
    const Cell* cells = set->chunks[chunk].load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += cells[i].load(std::memory_order_relaxed);
  }
}

std::uint64_t read_cell(std::uint32_t index) noexcept {
  Store& s = store();
  std::lock_guard lock(s.mutex);
  std::uint64_t sum = 0;
  for (CellSet* set : s.sets) sum += set->at(index).load(std::memory_order_relaxed);
  return sum;
}

}  // namespace internal

ThreadCells::ThreadCells() : cells_(new CellSet) {
  KEEL_CHECK(internal::current_cells == nullptr, "a thread can have only one set of metric cells");
  Store& s = store();
  std::lock_guard lock(s.mutex);
  for (std::uint32_t chunk = 0; chunk < s.chunks; ++chunk) add_chunk(*cells_, chunk);
  s.sets.push_back(cells_);
  internal::current_cells = cells_;
}

ThreadCells::~ThreadCells() {
  KEEL_CHECK(internal::current_cells == cells_, "metric cells must be destroyed on the thread that made them");
  internal::current_cells = nullptr;
  Store& s = store();
  std::lock_guard lock(s.mutex);
  std::erase(s.sets, cells_);
  for (std::uint32_t chunk = 0; chunk < s.chunks; ++chunk) {
    const std::unique_ptr<Cell[]> cells(cells_->chunks[chunk].load(std::memory_order_relaxed));
    Cell* shared = internal::shared_cells().chunks[chunk].load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < chunk_cells; ++i) {
      if (const std::uint64_t n = cells[i].load(std::memory_order_relaxed)) {
        shared[i].fetch_add(n, std::memory_order_relaxed);
      }
    }
  }
  delete cells_;
}

}  // namespace keel::metrics
