// keel/task/channel.h — values from tasks to tasks, in order, with a bound.
//
//   Channel<Job> jobs(16);
//   co_await jobs.send(std::move(job));              // waits while 16 are inside
//   jobs.close();                                    // no more will come
//
//   while (auto job = co_await jobs.receive()) {…}   // nullopt: closed, and everything has been received
//
// A capacity of 0 is a meeting: send() completes when a receiver has taken the value. Senders and receivers wait in the
// order they came; each value goes to one receiver.
//
// Errors:   send(): Cancelled once the channel is closed, also for those that wait. Both: Cancelled or DeadlineExceeded
//           when the task is stopped; then nothing was sent, nothing was received.
// Threads:  one loop.
// Lifetime: outlives those who wait (checked); what was not received is destroyed with the channel.
// Cost:     room for `capacity` values is allocated once, O(1) per value.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "keel/task/wait_list.h"

namespace keel {

template <class T>
class Channel {
  static_assert(std::is_nothrow_move_constructible_v<T>, "a value is moved while others wait for it");

 public:
  class [[nodiscard]] Send : public Waiting {
   public:
    using Value = void;
    Send(Channel& channel, T&& value) noexcept : channel_(channel), value_(std::move(value)) {}
    bool start() noexcept {
      if (channel_.closed_ || channel_.put(value_)) {
        refused_ = channel_.closed_;
        return true;
      }
      return wait_in(channel_.senders_);
    }
    Result<> take() noexcept {
      if (refused_) return Error(Code::Cancelled, "the channel is closed");
      return taken();
    }

   private:
    friend class Channel;
    Channel& channel_;
    T value_;
    bool refused_ = false;
  };

  class [[nodiscard]] Receive : public Waiting {
   public:
    using Value = std::optional<T>;
    explicit Receive(Channel& channel) noexcept : channel_(channel) {}
    bool start() noexcept {
      value_ = channel_.get();
      return value_.has_value() || channel_.closed_ || wait_in(channel_.receivers_);
    }
    Result<std::optional<T>> take() noexcept {
      if (Result<> waited = taken(); !waited) return std::move(waited).error();
      return std::move(value_);
    }

   private:
    friend class Channel;
    Channel& channel_;
    std::optional<T> value_;
  };

  explicit Channel(std::size_t capacity)
      : capacity_(capacity), slots_(capacity > 0 ? std::make_unique<std::optional<T>[]>(capacity) : nullptr) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Waits for room.
  Send send(T value) noexcept { return Send(*this, std::move(value)); }
  // False: no room now, or closed; `value` is untouched.
  bool try_send(T&& value) noexcept { return !closed_ && put(value); }

  // The oldest value; waits for one. nullopt: the channel is closed and empty.
  Receive receive() noexcept { return Receive(*this); }
  // nullopt: nothing is there now.
  std::optional<T> try_receive() noexcept { return get(); }

  // No more values: what is inside can still be received. Idempotent.
  void close() noexcept {
    if (std::exchange(closed_, true)) return;
    while (Waiting* sender = senders_.pop()) {
      static_cast<Send*>(sender)->refused_ = true;
      WaitList::wake(*sender);
    }
    receivers_.wake_all();
  }
  bool is_closed() const noexcept { return closed_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  // Moves `value` to a receiver, or into a free slot. Receivers wait only while the channel is empty.
  bool put(T& value) noexcept {
    if (Waiting* receiver = receivers_.pop()) {
      static_cast<Receive*>(receiver)->value_.emplace(std::move(value));
      WaitList::wake(*receiver);
      return true;
    }
    if (size_ == capacity_) return false;
    const std::size_t end = first_ + size_;
    slots_[end < capacity_ ? end : end - capacity_].emplace(std::move(value));
    ++size_;
    return true;
  }
  // The oldest value; a sender that waits moves up. Senders wait only while the channel is full.
  std::optional<T> get() noexcept {
    std::optional<T> value;
    Waiting* const sender = senders_.pop();
    if (size_ > 0) {
      value.swap(slots_[first_]);
      first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
      --size_;
      if (sender != nullptr) put(static_cast<Send*>(sender)->value_);
    } else if (sender != nullptr) {
      value.emplace(std::move(static_cast<Send*>(sender)->value_));
    }
    if (sender != nullptr) WaitList::wake(*sender);
    return value;
  }

  const std::size_t capacity_;
  std::unique_ptr<std::optional<T>[]> slots_;  // A ring.
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  bool closed_ = false;
  WaitList senders_;
  WaitList receivers_;
};

}  // namespace keel
