// keel/task/channel.h — passes values between tasks, in order and with a limit.
//
//   Channel<Job> jobs(16);
//   co_await jobs.send(std::move(job));              // waits while 16 are inside
//   jobs.close();                                    // no more will come
//
//   while (auto job = co_await jobs.receive()) {…}   // nullopt: closed, and everything has been received
//
// If the capacity is 0, send() completes when a receiver has taken the value. Senders and receivers wait in the order
// of their arrival; each value goes to one receiver.
//
// Errors:   send() fails with Cancelled once the channel is closed, also for senders that are already waiting; the
//           value stays with the sender.
// Threads:  one loop.
// Lifetime: outlives the tasks that wait (checked); values that were not received are destroyed with the channel.
// Cancel:   Cancelled or DeadlineExceeded. A send that ends with Cancelled or DeadlineExceeded has not sent its value,
//           and the value is unchanged. A cancelled receive has received no value: if a value was handed to the
//           receiver, but its task had not continued yet, that value becomes the next value to be received. Therefore
//           any(a.receive(), b.receive()) takes a value from one channel only. A value that a send has handed over
//           counts as sent, even if the send is then cancelled: in any(a.send(x), b.send(y)), both x and y may be sent.
// Cost:     O(1) per value. Room for `capacity` values is allocated once; more room is allocated only if receivers that
//           were stopped return more values than fit.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "keel/task/context.h"
#include "keel/task/wait_list.h"

namespace keel {

template <class T>
class Channel {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "the values of a channel must move without throwing, because tasks may wait while a value is moved");

 public:
  class [[nodiscard]] Send : public Waiting {
   public:
    using Value = void;
    Send(Channel& channel, T& value) noexcept : channel_(channel), value_(value) {}
    bool start() noexcept {
      if (channel_.closed_ || channel_.put(value_)) {
        refused_ = channel_.closed_;
        return true;
      }
      return wait_in(channel_.senders_);
    }
    Result<> take() noexcept {
      if (refused_) return fail(Code::Cancelled, "the channel is closed");
      return taken();
    }

   private:
    friend class Channel;
    Channel& channel_;
    T& value_;
    bool refused_ = false;
  };

  class [[nodiscard]] SendCopy : public Send {
   public:
    SendCopy(Channel& channel, const T& value) : Send(channel, copy_), copy_(value) {}

   private:
    T copy_;
  };

  class [[nodiscard]] Receive : public Waiting {
   public:
    using Value = std::optional<T>;
    explicit Receive(Channel& channel) noexcept : channel_(channel) {}
    bool start() noexcept {
      value_ = channel_.get();
      if (value_.has_value() || channel_.closed_) return true;
      has_waited_ = true;
      return wait_in(channel_.receivers_);
    }
    Result<std::optional<T>> take() noexcept {
      if (Result<> waited = taken(); !waited) return std::move(waited).error();
      if (has_waited_) {
        // The task may have been stopped after it was woken; the channel then gets the value back.
        if (context().is_stopped()) {
          if (value_.has_value()) channel_.put_back(*value_);
          return fail(Code::Cancelled, "a wait was cancelled");
        }
        // The channel is closed, but a cancelled receive may have returned a value to it.
        if (!value_.has_value()) value_ = channel_.get();
      }
      return std::move(value_);
    }

   private:
    friend class Channel;
    Channel& channel_;
    std::optional<T> value_;
    bool has_waited_ = false;
  };

  explicit Channel(std::size_t capacity)
      : capacity_(capacity),
        slot_count_(capacity),
        slots_(capacity > 0 ? std::make_unique<std::optional<T>[]>(capacity) : nullptr) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Waits for room. `value` must live until the send has completed, as a named object or a temporary in the awaiting
  // expression does. A successful send moves from `value`; after an error, `value` is unchanged and may be sent again.
  Send send(T&& value) noexcept { return Send(*this, value); }
  // Sends a copy of `value`.
  SendCopy send(const T& value) { return SendCopy(*this, value); }
  // False: the channel has no room now, or is closed; `value` is then unchanged.
  bool try_send(T&& value) noexcept { return !closed_ && put(value); }

  // Waits for a value, and returns the oldest value. nullopt: the channel is closed and empty.
  Receive receive() noexcept { return Receive(*this); }
  // nullopt: no value is available.
  std::optional<T> try_receive() noexcept { return get(); }

  // Closes the channel: values inside can still be received. Idempotent.
  void close() noexcept {
    if (std::exchange(closed_, true)) return;
    while (Waiting* sender = senders_.pop()) {
      static_cast<Send*>(sender)->refused_ = true;
      WaitList::wake(*sender);
    }
    receivers_.wake_all();
  }
  bool is_closed() const noexcept { return closed_; }
  // The number of stored values: at most `capacity`, plus values that cancelled receives returned.
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  std::optional<T>& slot(std::size_t i) noexcept {
    const std::size_t at = first_ + i;
    return slots_[at < slot_count_ ? at : at - slot_count_];
  }
  // Gives `value` to the receiver that has waited longest. Receivers wait only while the channel is empty.
  bool give(T& value) noexcept {
    Waiting* const receiver = receivers_.pop();
    if (receiver == nullptr) return false;
    static_cast<Receive*>(receiver)->value_.emplace(std::move(value));
    WaitList::wake(*receiver);
    return true;
  }
  // Moves `value` to a receiver, or into a free slot.
  bool put(T& value) noexcept {
    if (give(value)) return true;
    if (size_ >= capacity_) return false;
    slot(size_++).emplace(std::move(value));
    return true;
  }
  // Puts back a value that its receiver could not take: the value is received next, but after values that were put back
  // earlier.
  void put_back(T& value) noexcept {
    if (give(value)) return;
    if (size_ == slot_count_) make_room();
    first_ = (first_ == 0 ? slot_count_ : first_) - 1;
    for (std::size_t i = 0; i < come_back_; ++i) slot(i).emplace(std::move(*slot(i + 1)));
    slot(come_back_++).emplace(std::move(value));
    ++size_;
  }
  void make_room() noexcept {
    const std::size_t count = slot_count_ + slot_count_ / 2 + 1;
    auto slots = std::make_unique<std::optional<T>[]>(count);
    for (std::size_t i = 0; i < size_; ++i) slots[i].emplace(std::move(*slot(i)));
    slots_ = std::move(slots);
    slot_count_ = count;
    first_ = 0;
  }
  // Removes and returns the oldest value, after which the next waiting sender proceeds. Senders wait only while the
  // channel is full.
  std::optional<T> get() noexcept {
    std::optional<T> value;
    if (size_ > 0) {
      value.swap(slots_[first_]);
      first_ = first_ + 1 == slot_count_ ? 0 : first_ + 1;
      --size_;
      if (come_back_ > 0) --come_back_;
      if (size_ >= capacity_) return value;
    }
    if (Waiting* const sender = senders_.pop()) {
      T& sent = static_cast<Send*>(sender)->value_;
      if (value.has_value()) {
        slot(size_++).emplace(std::move(sent));
      } else {
        value.emplace(std::move(sent));
      }
      WaitList::wake(*sender);
    }
    return value;
  }

  const std::size_t capacity_;
  std::size_t slot_count_;
  std::unique_ptr<std::optional<T>[]> slots_;  // A ring.
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::size_t come_back_ = 0;  // How many of the oldest values were returned by receivers.
  bool closed_ = false;
  WaitList senders_;
  WaitList receivers_;
};

}  // namespace keel
