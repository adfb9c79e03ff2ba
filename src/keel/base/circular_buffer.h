// keel/base/circular_buffer.h — a bounded ring of values for one thread: a queue, or the last N elements of a sequence.
//
//   CircularBuffer<Request> waiting(64);
//   if (!waiting.try_push(std::move(request))) return fail(Code::ResourceExhausted, "too many requests wait");
//   Request next = waiting.pop_front();
//
//   CircularBuffer<Duration> last(16);                       // a moving window
//   last.push_overwriting(took);                             // the oldest goes when it is full
//   for (std::size_t i = 0; i < last.size(); ++i) sum += last[i];
//
// The push function decides what happens when the buffer is full: try_push rejects the value and leaves it with the
// caller; push_overwriting destroys the oldest element. A CircularBuffer is not thread-safe: to pass values between
// threads, use a queue.
//
// Bugs:     a capacity that is not a power of two aborts; access to an element that does not exist (front, back,
//           operator[], or pop_front of an empty buffer) throws a Bug.
// Lifetime: until an element is popped or overwritten, it stays in its place, and references to it stay valid.
// Threads:  one at a time.
// Cost:     an index is computed with a mask instead of a division. The memory is allocated once, from pool.h, and
//           freed by the destructor.

#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"

namespace keel {

template <class T>
class CircularBuffer {
  static_assert(alignof(T) <= 16, "the elements of a CircularBuffer must not need an alignment above 16 bytes");

 public:
  // Makes room for `capacity` elements, which must be a power of two. Throws std::bad_alloc.
  explicit CircularBuffer(std::size_t capacity) : mask_(capacity - 1) {
    KEEL_CHECK(capacity != 0 && (capacity & mask_) == 0, "the capacity of a CircularBuffer must be a power of two");
    KEEL_CHECK(capacity <= static_cast<std::size_t>(-1) / 2 / sizeof(T), "a CircularBuffer must fit into memory");
    elements_ = static_cast<T*>(pool_allocate(capacity * sizeof(T)));
  }
  // After the move, `other` must not be used, except to destroy it.
  CircularBuffer(CircularBuffer&& other) noexcept
      : elements_(std::exchange(other.elements_, nullptr)),
        mask_(other.mask_),
        first_(std::exchange(other.first_, 0)),
        end_(std::exchange(other.end_, 0)) {}
  CircularBuffer& operator=(CircularBuffer&&) = delete;
  ~CircularBuffer() {
    clear();
    if (elements_ != nullptr) pool_free(elements_, capacity() * sizeof(T));
  }

  std::size_t size() const noexcept { return end_ - first_; }
  std::size_t capacity() const noexcept { return mask_ + 1; }
  bool empty() const noexcept { return first_ == end_; }
  bool full() const noexcept { return size() == capacity(); }

  // Appends after the newest element. Returns false, and leaves `value` unchanged, when the buffer is full.
  [[nodiscard]] bool try_push(T&& value) { return try_put(std::move(value)); }
  [[nodiscard]] bool try_push(const T& value) { return try_put(value); }
  // Appends after the newest element; if the buffer is full, first destroys the oldest element. The oldest element of a
  // full buffer is lost even if T's constructor throws.
  void push_overwriting(T value) {
    if (full()) drop_front();
    put(std::move(value));
  }

  // The i-th oldest element.
  T& operator[](std::size_t i) {
    expect(i);
    return place(first_ + i);
  }
  const T& operator[](std::size_t i) const {
    expect(i);
    return place(first_ + i);
  }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size() - 1]; }
  const T& back() const { return (*this)[size() - 1]; }

  // Removes and returns the oldest element.
  T pop_front() {
    T value = std::move(front());
    drop_front();
    return value;
  }
  void clear() noexcept {
    while (!empty()) drop_front();
  }

 private:
  void expect(std::size_t i) const {
    if (i >= size()) [[unlikely]]
      throw_bug("a CircularBuffer is asked for an element that it does not have", std::source_location::current());
  }
  T& place(std::size_t number) const noexcept { return elements_[number & mask_]; }
  template <class Value>
  bool try_put(Value&& value) {
    if (full()) return false;
    put(std::forward<Value>(value));
    return true;
  }
  template <class Value>
  void put(Value&& value) {
    ::new (static_cast<void*>(&place(end_))) T(std::forward<Value>(value));
    ++end_;
  }
  void drop_front() noexcept { place(first_++).~T(); }

  T* elements_ = nullptr;
  std::size_t mask_;
  // The numbers of the oldest element and of the next element to be pushed, counted from the first push. The numbers of
  // elements wrap around at 2^64.
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

}  // namespace keel
