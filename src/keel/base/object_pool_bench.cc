// 64 objects of 48 bytes made and released again, in the order they were made: from an ObjectPool, from the thread's
// pool of blocks, from the standard's pool resource, and from new and delete. Nanoseconds for one object made and
// released.

#include "keel/base/object_pool.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory_resource>
#include <new>

#include "keel/base/pool.h"

namespace keel {
namespace {

struct Session {
  explicit Session(std::uint64_t number) : id(number) {}
  std::uint64_t id;
  std::uint64_t state[5] = {};
};
constexpr std::uint64_t live_max = 64;

// Makes and releases; each object must be what it was made as.
template <class Make, class Release>
void make_and_release(benchmark::State& state, Make make, Release release) {
  Session* sessions[live_max];
  std::uint64_t wrong = 0;
  while (state.KeepRunningBatch(live_max)) {
    for (std::uint64_t i = 0; i < live_max; ++i) benchmark::DoNotOptimize(sessions[i] = make(i));
    for (std::uint64_t i = 0; i < live_max; ++i) {
      wrong += sessions[i]->id != i;
      release(sessions[i]);
    }
  }
  if (wrong != 0) state.SkipWithError("an object was not what it was made as");
}

void object_pool(benchmark::State& state) {
  ObjectPool<Session> pool;
  make_and_release(
      state, [&](std::uint64_t id) { return &pool.make(id); }, [&](Session* session) { pool.release(*session); });
}
BENCHMARK(object_pool);

void block_pool(benchmark::State& state) {
  make_and_release(
      state, [](std::uint64_t id) { return new (pool_allocate(sizeof(Session))) Session(id); },
      [](Session* session) {
        session->~Session();
        pool_free(session, sizeof(Session));
      });
}
BENCHMARK(block_pool);

void unsynchronized_pool(benchmark::State& state) {
  std::pmr::unsynchronized_pool_resource resource;
  std::pmr::polymorphic_allocator<> allocator(&resource);
  make_and_release(
      state, [&](std::uint64_t id) { return allocator.new_object<Session>(id); },
      [&](Session* session) { allocator.delete_object(session); });
}
BENCHMARK(unsynchronized_pool);

void new_and_delete(benchmark::State& state) {
  make_and_release(state, [](std::uint64_t id) { return new Session(id); }, [](Session* session) { delete session; });
}
BENCHMARK(new_and_delete);

}  // namespace
}  // namespace keel
