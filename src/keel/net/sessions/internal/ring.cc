#include "keel/net/sessions/internal/ring.h"

#include <algorithm>
#include <utility>

namespace keel::sessions::internal {

void Ring::push(std::uint16_t type, std::uint64_t key, Buffer&& payload) {
  if (size_ == slots_.size()) arrange(std::max<std::size_t>(4, slots_.size() * 2), first_);
  Message& message = place(first_ + size_);
  message.type = type;
  message.key = key;
  message.payload = std::move(payload);
  bytes_ += message.cost();
  ++size_;
}

void Ring::replace(std::uint64_t number, Buffer&& payload) noexcept {
  Message& message = place(number);
  bytes_ -= message.cost();
  message.payload = std::move(payload);
  bytes_ += message.cost();
}

void Ring::pop_front() noexcept {
  Message& message = place(first_);
  bytes_ -= message.cost();
  message.payload.release();
  ++first_;
  --size_;
}

void Ring::arrange(std::size_t slots, std::uint64_t first) {
  std::vector<Message> arranged(slots);
  for (std::size_t i = 0; i < size_; ++i) arranged[(first + i) & (slots - 1)] = std::move(place(first_ + i));
  slots_.swap(arranged);
  first_ = first;
}

void Ring::renumber() {
  if (slots_.empty()) {
    first_ = 1;
  } else {
    arrange(slots_.size(), 1);
  }
}

}  // namespace keel::sessions::internal
