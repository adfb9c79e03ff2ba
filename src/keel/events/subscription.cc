#include "keel/events/subscription.h"

#include "keel/events/internal/mailbox.h"
#include "keel/events/internal/subscriber.h"
#include "keel/events/internal/topic_core.h"

namespace keel::events {

void Subscription::end() noexcept {
  internal::Subscriber* const subscriber = std::exchange(subscriber_, nullptr);
  if (subscriber != nullptr) subscriber->topic().end(*subscriber);
}

Task<> Subscription::finish() {
  if (subscriber_ == nullptr) co_return;
  subscriber_->topic().unlist(*subscriber_);
  subscriber_->topic().wait_uncalled(*subscriber_);
  co_await internal::TasksEnded(*subscriber_);
  end();
}

std::size_t Subscription::queued() const noexcept {
  const internal::Mailbox* const mailbox = subscriber_ != nullptr ? subscriber_->mailbox() : nullptr;
  return mailbox != nullptr ? mailbox->queued() : 0;
}

std::uint64_t Subscription::dropped() const noexcept {
  const internal::Mailbox* const mailbox = subscriber_ != nullptr ? subscriber_->mailbox() : nullptr;
  return mailbox != nullptr ? mailbox->dropped() : 0;
}

}  // namespace keel::events
