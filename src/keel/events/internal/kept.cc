#include "keel/events/internal/kept.h"

#include <algorithm>
#include <new>
#include <optional>

#include "keel/base/error.h"

namespace keel::events::internal {
namespace {

// Copies of events.
class Copies {
 public:
  Copies(const EventType& type, std::size_t stride, std::size_t count)
      : type_(type),
        stride_(stride),
        memory_(static_cast<std::byte*>(
            ::operator new(std::max<std::size_t>(count * stride, 1), std::align_val_t(type.alignment)))) {}
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  ~Copies() {
    for (std::size_t i = 0; i < size_; ++i) type_.destroy(memory_ + i * stride_);
    ::operator delete(memory_, std::align_val_t(type_.alignment));
  }
  void add(const void* event) {
    type_.copy(memory_ + size_ * stride_, event);
    ++size_;
  }
  std::size_t size() const noexcept { return size_; }
  const void* operator[](std::size_t i) const noexcept { return memory_ + i * stride_; }

 private:
  const EventType& type_;
  const std::size_t stride_;
  std::byte* const memory_;
  std::size_t size_ = 0;
};

}  // namespace

Kept::Kept(TopicCore& outer, std::size_t last)
    : Subscriber(outer, outer.type(), {}, &keep_and_call, nullptr),
      type_(outer.type()),
      last_(last),
      stride_((type_.bytes + type_.alignment - 1) / type_.alignment * type_.alignment),
      memory_(static_cast<std::byte*>(::operator new(last* stride_, std::align_val_t(type_.alignment)))),
      inner_(type_, [&outer](const Error& error) { outer.report(error); }) {}

Kept::~Kept() {
  while (first_ != end_) destroy(first_++);
  ::operator delete(memory_, std::align_val_t(type_.alignment));
}

void Kept::destroy(std::size_t number) noexcept { type_.destroy(place(number)); }

void Kept::keep(const void* event) {
  if (end_ - first_ == last_) destroy(first_++);
  type_.copy(place(end_), event);
  ++end_;
}

unsigned Kept::keep_and_call(Subscriber& subscriber, const void* event, Awaited* awaited) noexcept {
  auto& self = static_cast<Kept&>(subscriber);
  std::unique_lock lock(self.mutex_);
  try {
    self.keep(event);
  } catch (...) {  // The copy failed, so the event is not kept; the current subscribers still get it.
    self.failed(Error::from_exception());
  }
  return self.inner_.publish_kept(event, awaited, lock);
}

Subscription Kept::add(Subscriber& subscriber, std::size_t replay) {
  const std::unique_lock lock(mutex_);
  const std::size_t from = end_ - std::min(end_ - first_, replay);
  // The handler receives copies, because it may publish, and publishing changes the kept events.
  std::optional<Copies> copies;
  try {
    copies.emplace(type_, stride_, end_ - from);
    for (std::size_t i = from; i != end_; ++i) copies->add(place(i));
  } catch (...) {
    subscriber.release();
    subscriber.release();
    throw;
  }
  Subscription subscription = inner_.add(subscriber);
  for (std::size_t i = 0; i < copies->size(); ++i) inner_.replay(subscriber, (*copies)[i]);
  return subscription;
}

}  // namespace keel::events::internal
