// keel/base/per_thread.h — a value for each calling thread, owned by one object.
//
//   class Limiter { PerThread<Table> tables_; … tables_.get([] { return Table(); }).take(key) … };
//
// Use a PerThread for data that a shared object keeps for each worker, so that workers share nothing. The values are
// destroyed with the PerThread, on the thread that destroys it; the value of a thread that has ended is taken over by a
// later thread.
//
// Threads:  get() on any thread; it returns the value of the calling thread.
// Lifetime: references are valid as long as the PerThread.
// Cost:     get() makes one comparison for each thread that has called it before; the first call of a thread allocates.

#pragma once

#include <atomic>
#include <utility>

namespace keel {

namespace internal {
// The address of this variable identifies the thread.
inline thread_local char this_thread;
}  // namespace internal

template <class T>
class PerThread {
 public:
  PerThread() = default;
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;
  ~PerThread() {
    for (Node* node = first_.load(std::memory_order_acquire); node != nullptr;) delete std::exchange(node, node->next);
  }

  // The calling thread's value; `make` creates it at the first call.
  template <class Make>
  T& get(Make make) {
    Node* const first = first_.load(std::memory_order_acquire);
    for (Node* node = first; node != nullptr; node = node->next) {
      if (node->thread == &internal::this_thread) return node->value;
    }
    auto* made = new Node{&internal::this_thread, make(), first};
    while (!first_.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
    }
    return made->value;
  }

 private:
  struct Node {
    const void* thread;
    T value;
    Node* next;
  };
  std::atomic<Node*> first_{nullptr};
};

}  // namespace keel
