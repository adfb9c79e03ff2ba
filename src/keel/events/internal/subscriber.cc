#include "keel/events/internal/subscriber.h"

#include <utility>

#include "keel/base/bug.h"
#include "keel/events/internal/mailbox.h"
#include "keel/events/internal/readers.h"
#include "keel/events/internal/topic_core.h"

namespace keel::events::internal {

Subscriber::Subscriber(TopicCore& topic, const EventType& type, const SubscribeOptions& options, Call how, Run task)
    : call(how), run(task), topic_(topic), priority_(options.priority) {
  if (options.executor != nullptr) mailbox_ = std::make_unique<Mailbox>(*this, type, options);
}

Subscriber::~Subscriber() = default;

void Subscriber::enqueue(const void* event, Awaited* awaited) const noexcept {
  mailbox_->push(event, awaited != nullptr ? &awaited->receipt() : nullptr);
}

void Subscriber::count(Outcome outcome) const noexcept {
  Counts& counts = this_reader().counts(topic_.id());
  switch (outcome) {
    case Outcome::Delivered:
      return counts.delivered.add();
    case Outcome::Failed:
      return counts.failed.add();
    case Outcome::Dropped:
      return counts.dropped.add();
  }
}

void Subscriber::failed(Error&& error) const noexcept {
  count(Outcome::Failed);
  topic_.report(error);
}

void Subscriber::failed(Error&& error, Awaited* awaited) const noexcept {
  failed(std::move(error));
  if (awaited != nullptr) awaited->receipt().note(Outcome::Failed);
}

void Subscriber::unpin() noexcept {
  if (tasks_.end()) {
    awaits_tasks_->home_->post(awaits_tasks_->last_);
  }
}

bool TasksEnded::start() {
  home_ = Executor::current();
  KEEL_EXPECT_AT(home_ != nullptr && home_->is_serial(), "finish() of a subscription must be awaited on a loop",
                 place());
  subscriber_.awaits_tasks_ = this;
  return !subscriber_.tasks_.wait();
}

}  // namespace keel::events::internal
