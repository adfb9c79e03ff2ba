// Publishing while others change the list of subscribers. Crosses threads: run under ThreadSanitizer.
#include "keel/events/internal/topic_core.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "keel/events/internal/handling.h"

namespace keel::events::internal::topic_core_test {
namespace {

struct Placed {};

template <class F>
Subscription subscribe(TopicCore& topic, F handler) {
  return topic.add(*new Handling<Placed, Everything, F>(topic, Everything(), std::move(handler), SubscribeOptions{}));
}

class TopicCores : public ::testing::Test {
 protected:
  void publish() {
    const Placed event;
    topic.publish(&event);
  }
  TopicCore topic{event_type<Placed>(), [](const Error&) {}};
};

TEST_F(TopicCores, let_publish_return_while_somebody_changes_the_list_that_it_has_read) {
  std::latch reads(1);
  std::latch go(1);
  const Subscription waits = subscribe(topic, [&](const Placed&) {
    reads.count_down();
    go.wait();
  });
  Subscription ends = subscribe(topic, [](const Placed&) {});
  std::promise<void> returned;
  std::thread publisher([&] {
    publish();
    returned.set_value();
  });
  reads.wait();
  ends.end();  // What the publisher has read is in use no more.

  std::optional<std::unique_lock<std::mutex>> changing(topic.hold_list());
  go.count_down();

  EXPECT_EQ(returned.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  changing.reset();
  publisher.join();
}

TEST_F(TopicCores, destroy_a_handler_that_ended_itself_though_somebody_holds_the_list_when_it_returns) {
  const auto held = std::make_shared<int>(1);
  std::optional<std::unique_lock<std::mutex>> changing;
  Subscription once;
  once = subscribe(topic, [&, held](const Placed&) {
    once.end();
    changing.emplace(topic.hold_list());
  });

  publish();

  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace keel::events::internal::topic_core_test
