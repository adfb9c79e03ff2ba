#include "keel/base/testing/interleaving.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace keel::interleaving::interleaving_test {
namespace {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

struct TwoStores {
  Atomic<int> x{0};
  Atomic<int> y{0};
  void twice_to_x() {
    x.store(1, memory_order_relaxed);
    x.store(2, memory_order_relaxed);
  }
  void twice_to_y() {
    y.store(1, memory_order_relaxed);
    y.store(2, memory_order_relaxed);
  }
  void read_x() { x.load(memory_order_relaxed); }
  void check() {}
};

TEST(Interleaving, runs_every_order_of_what_concerns_each_other_once) {
  // Four stores, two and two in order: 4! / (2! 2!).
  EXPECT_EQ(explore<TwoStores>({&TwoStores::twice_to_x, &TwoStores::twice_to_x}).schedules, 6u);
  // Six, two and two and two.
  EXPECT_EQ(explore<TwoStores>({&TwoStores::twice_to_x, &TwoStores::twice_to_x, &TwoStores::twice_to_x}).schedules,
            90u);
  // A load before, between and after two stores.
  EXPECT_EQ(explore<TwoStores>({&TwoStores::twice_to_x, &TwoStores::read_x}).schedules, 3u);
}

TEST(Interleaving, runs_one_order_of_what_does_not) {
  EXPECT_EQ(explore<TwoStores>({&TwoStores::twice_to_x, &TwoStores::twice_to_y}).schedules, 1u);
  EXPECT_EQ(explore<TwoStores>({&TwoStores::read_x, &TwoStores::read_x}).schedules, 1u);
}

TEST(Interleaving, lets_a_load_see_older_writes_as_often_as_it_is_told) {
  // Before the stores the first value; between them two; after them three.
  EXPECT_EQ(explore<TwoStores>({&TwoStores::twice_to_x, &TwoStores::read_x}, {.stale_loads = 1}).schedules, 6u);
}

struct Increments {
  Atomic<int> x{0};
  void load_and_store() { x.store(x.load(memory_order_relaxed) + 1, memory_order_relaxed); }
  void compare_and_exchange() {
    int before = x.load(memory_order_relaxed);
    while (!x.compare_exchange_weak(before, before + 1, memory_order_relaxed, memory_order_relaxed)) {
    }
  }
  void check() { require(x.load(memory_order_relaxed) == 2, "two increments are two"); }
};

TEST(Interleaving, finds_the_update_that_is_lost_between_load_and_store) {
  const Verdict verdict = explore<Increments>({&Increments::load_and_store, &Increments::load_and_store});

  EXPECT_TRUE(verdict.failure.starts_with("two increments are two\nafter:\n  thread ")) << verdict.failure;
}

TEST(Interleaving, loses_no_update_of_a_compare_and_exchange) {
  for (const int stale_loads : {0, 2}) {
    const Verdict verdict = explore<Increments>({&Increments::compare_and_exchange, &Increments::compare_and_exchange},
                                                {.stale_loads = stale_loads});
    EXPECT_EQ(verdict.failure, "");
    EXPECT_GT(verdict.schedules, 2u);
  }
}

struct Exchanges {
  Atomic<int> x{0};
  int first = -1;
  int second = -1;
  void one() { first = x.exchange(1, memory_order_relaxed); }
  void two() { second = x.exchange(2, memory_order_relaxed); }
  void check() { require((first == 0) != (second == 0), "one of two exchanges is the first"); }
};

TEST(Interleaving, gives_an_exchange_the_newest_value_however_relaxed) {
  EXPECT_EQ(explore<Exchanges>({&Exchanges::one, &Exchanges::two}, {.stale_loads = 5}).failure, "");
}

struct Additions {
  Atomic<std::uint64_t> x{0};
  Atomic<std::uint64_t> data{0};
  std::uint64_t seen = 0;
  void add() { x.fetch_add(1, memory_order_relaxed); }
  void send() {
    data.store(1, memory_order_relaxed);
    x.store(10, memory_order_release);
  }
  void receive() {
    seen = x.load(memory_order_acquire);
    if (seen == 11) require(data.load(memory_order_relaxed) == 1, "what is added to a message leaves it released");
  }
  void check() {}
};
struct Sum : Additions {
  void check() { require(x.load(memory_order_relaxed) == 2, "two additions are two"); }
};

TEST(Interleaving, loses_no_addition_and_goes_on_releasing_what_it_adds_to) {
  EXPECT_EQ(explore<Sum>({&Sum::add, &Sum::add}, {.stale_loads = 2}).failure, "");
  EXPECT_EQ(explore<Sum>({&Sum::add, &Sum::add}).schedules, 2u);
  EXPECT_EQ(explore<Additions>({&Additions::send, &Additions::add, &Additions::receive}, {.stale_loads = 3}).failure,
            "");
  EXPECT_NE(explore<Additions>({&Additions::send, &Additions::add, &Additions::receive},
                               {.stale_loads = 3, .weak_stores_of = 0})
                .failure,
            "");
}

// The litmus tests of the memory model, by their usual names.

struct StoreBuffering {
  Atomic<int> x{0};
  Atomic<int> y{0};
  int seen_y = -1;
  int seen_x = -1;
  void one() {
    x.store(1, memory_order_release);
    seen_y = y.load(memory_order_acquire);
  }
  void two() {
    y.store(1, memory_order_release);
    seen_x = x.load(memory_order_acquire);
  }
  void check() { require(seen_x == 1 || seen_y == 1, "one of them sees the other"); }
};

TEST(Interleaving, lets_both_miss_each_others_store_only_where_loads_may_be_stale) {
  EXPECT_EQ(explore<StoreBuffering>({&StoreBuffering::one, &StoreBuffering::two}).failure, "");
  EXPECT_NE(explore<StoreBuffering>({&StoreBuffering::one, &StoreBuffering::two}, {.stale_loads = 1}).failure, "");
}

template <std::memory_order storing, std::memory_order loading>
struct MessagePassing {
  Atomic<int> data{0};
  Atomic<int> flag{0};
  void send() {
    data.store(1, memory_order_relaxed);
    flag.store(1, storing);
  }
  void receive() {
    if (flag.load(loading) == 1) require(data.load(memory_order_relaxed) == 1, "the message is there");
  }
  void check() {}
};

TEST(Interleaving, hides_a_message_unless_it_is_released_and_acquired) {
  const auto failure = []<class Run>(Run*, Options options) {
    return explore<Run>({&Run::send, &Run::receive}, options).failure;
  };
  MessagePassing<memory_order_release, memory_order_acquire>* const ordered = nullptr;
  MessagePassing<memory_order_relaxed, memory_order_acquire>* const not_released = nullptr;
  MessagePassing<memory_order_release, memory_order_relaxed>* const not_acquired = nullptr;

  EXPECT_EQ(failure(ordered, {.stale_loads = 3}), "");
  EXPECT_NE(failure(not_released, {.stale_loads = 1}), "");
  EXPECT_NE(failure(not_acquired, {.stale_loads = 1}), "");
  // The orders of the flag, the second atomic, are taken away.
  EXPECT_NE(failure(ordered, {.stale_loads = 1, .weak_loads_of = 1}), "");
  EXPECT_NE(failure(ordered, {.stale_loads = 1, .weak_stores_of = 1}), "");
  EXPECT_EQ(failure(ordered, {.stale_loads = 1, .weak_loads_of = 0, .weak_stores_of = 0}), "");
}

struct Coherence {
  Atomic<int> x{0};
  void write() {
    x.store(1, memory_order_relaxed);
    x.store(2, memory_order_relaxed);
  }
  void read() {
    const int first = x.load(memory_order_relaxed);
    const int second = x.load(memory_order_relaxed);
    require(first <= second, "what was seen is not older afterwards");
  }
  void check() {}
};

TEST(Interleaving, never_goes_back_in_the_order_of_one_atomic) {
  EXPECT_EQ(explore<Coherence>({&Coherence::write, &Coherence::read}, {.stale_loads = 2}).failure, "");
}

struct PlainMessage {
  Watched<int> data{0};
  Atomic<int> flag{0};
  void send() {
    data = 1;
    flag.store(1, memory_order_release);
  }
  void send_before_writing() {
    flag.store(1, memory_order_release);
    data = 1;
  }
  // An exchange continues with the release sequence of the store that it follows; a store ends it.
  void pass_on_by_exchange() {
    int one = 1;
    flag.compare_exchange_weak(one, 2, memory_order_relaxed, memory_order_relaxed);
  }
  void pass_on_by_store() {
    if (flag.load(memory_order_relaxed) == 1) flag.store(2, memory_order_relaxed);
  }
  void receive() {
    if (flag.load(memory_order_acquire) == 1) require(data == 1, "the message is there");
  }
  void receive_what_was_passed_on() {
    if (flag.load(memory_order_acquire) == 2) require(data == 1, "the message is there");
  }
  void write() { data = 2; }
  void check() {}
};

TEST(Interleaving, knows_plain_data_that_was_handed_over) {
  EXPECT_EQ(explore<PlainMessage>({&PlainMessage::send, &PlainMessage::receive}, {.stale_loads = 1}).failure, "");
}

TEST(Interleaving, finds_plain_data_that_was_not) {
  const std::string read = "plain data is read while another thread writes it";
  const std::string written = "plain data is written while another thread reads or writes it";

  EXPECT_TRUE(explore<PlainMessage>({&PlainMessage::write, &PlainMessage::write}).failure.starts_with(written));
  const auto early = explore<PlainMessage>({&PlainMessage::send_before_writing, &PlainMessage::receive});
  EXPECT_TRUE(early.failure.starts_with(written) || early.failure.starts_with(read)) << early.failure;
  // Without any stale load: the race is in the orders, not in the values.
  const auto weak = explore<PlainMessage>({&PlainMessage::send, &PlainMessage::receive}, {.weak_stores_of = 0});
  EXPECT_TRUE(weak.failure.starts_with(read)) << weak.failure;
}

TEST(Interleaving, hands_over_through_a_release_sequence_and_not_through_a_store) {
  EXPECT_EQ(explore<PlainMessage>(
                {&PlainMessage::send, &PlainMessage::pass_on_by_exchange, &PlainMessage::receive_what_was_passed_on},
                {.stale_loads = 1})
                .failure,
            "");
  EXPECT_NE(explore<PlainMessage>(
                {&PlainMessage::send, &PlainMessage::pass_on_by_store, &PlainMessage::receive_what_was_passed_on})
                .failure,
            "");
}

struct Relay {
  Watched<int> data{0};
  Atomic<int> first{0};
  Atomic<int> second{0};
  void send() {
    data = 1;
    first.store(1, memory_order_release);
  }
  void relay() {
    if (first.load(memory_order_acquire) == 1) second.store(1, memory_order_release);
  }
  void receive() {
    if (second.load(memory_order_acquire) == 1) require(data == 1, "the message is there");
  }
  void check() {}
};

TEST(Interleaving, hands_over_through_a_third_thread) {
  EXPECT_EQ(explore<Relay>({&Relay::send, &Relay::relay, &Relay::receive}, {.stale_loads = 1}).failure, "");
}

struct Counting {
  Atomic<unsigned char> x{0};
  int first = -1;
  int second = -1;
  void up() { first = x.fetch_add(1, memory_order_relaxed); }
  void down() { second = x.fetch_sub(1, memory_order_relaxed); }
  void check() {
    require(x.load(memory_order_relaxed) == 0, "one up and one down are none");
    require((first == 0 && second == 1) || (first == 255 && second == 0), "a value of 8 bits goes round");
  }
};
struct Bits {
  Atomic<std::uint32_t> x{6};
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  void set() { first = x.fetch_or(1, memory_order_relaxed); }
  void clear() { second = x.fetch_and(~2u, memory_order_relaxed); }
  void check() {
    require(x.load(memory_order_relaxed) == 5, "one bit is set and one cleared");
    require((first == 6 && second == 7) || (first == 4 && second == 6), "each sees what was before it");
  }
};

TEST(Interleaving, loses_no_change_of_a_read_and_write) {
  EXPECT_EQ(explore<Counting>({&Counting::up, &Counting::down}, {.stale_loads = 2}).failure, "");
  EXPECT_EQ(explore<Bits>({&Bits::set, &Bits::clear}, {.stale_loads = 2}).failure, "");
}

// A value that two threads own: the last to let go ends it.
template <std::memory_order order>
struct Shared {
  std::optional<Atomic<std::uint32_t>> owners{2};
  int ended = 0;
  void let_go() {
    if (owners->fetch_sub(1, order) != 1) return;
    owners.reset();
    ++ended;
  }
  void look_and_let_go() {
    owners->load(memory_order_relaxed);
    let_go();
  }
  void let_go_and_look() {
    let_go();
    if (owners) owners->load(memory_order_relaxed);
  }
  void check() { require(ended == 1, "it ends once"); }
};

TEST(Interleaving, knows_when_an_atomic_ends) {
  using Ordered = Shared<std::memory_order_acq_rel>;
  using Relaxed = Shared<memory_order_relaxed>;
  EXPECT_EQ(explore<Ordered>({&Ordered::look_and_let_go, &Ordered::look_and_let_go}).failure, "");

  const auto early = explore<Relaxed>({&Relaxed::look_and_let_go, &Relaxed::look_and_let_go});
  EXPECT_TRUE(early.failure.starts_with("an atomic is destroyed while another thread uses it")) << early.failure;
  const auto late = explore<Ordered>({&Ordered::let_go, &Ordered::let_go_and_look});
  EXPECT_TRUE(late.failure.starts_with("an atomic is used after it was destroyed")) << late.failure;
}

struct Sleeping {
  Atomic<int> x{0};
  bool slept = false;
  void sleep() {
    while (x.load(memory_order_relaxed) == 0) x.sleep_while(0);
    slept = true;
  }
  void set_and_wake() {
    x.store(1, memory_order_relaxed);
    x.wake_one();
  }
  void wake_and_set() {
    x.wake_one();
    x.store(1, memory_order_relaxed);
  }
  void check() { require(slept, "who sleeps is woken"); }
};

TEST(Interleaving, lets_threads_sleep_until_they_are_woken) {
  const Verdict woken = explore<Sleeping>({&Sleeping::sleep, &Sleeping::set_and_wake}, {.stale_loads = 1});
  EXPECT_EQ(woken.failure, "");
  EXPECT_GT(woken.schedules, 3u);

  const Verdict asleep = explore<Sleeping>({&Sleeping::sleep, &Sleeping::wake_and_set});
  EXPECT_TRUE(asleep.failure.starts_with("a thread sleeps, and no other thread wakes it")) << asleep.failure;
  EXPECT_NE(asleep.failure.find("\n  thread 0 would sleep on atomic 0"), std::string::npos) << asleep.failure;
}

struct Waiting {
  Atomic<int> x{0};
  void wait() {
    while (x.load(memory_order_relaxed) == 0) {
    }
  }
  void check() {}
};

TEST(InterleavingDeathTest, refuses_what_it_cannot_look_at) {
  EXPECT_DEATH(explore<Waiting>({&Waiting::wait}), "end by themselves in every schedule");
  EXPECT_DEATH(Atomic<int>(0).load(memory_order_relaxed), "can be made and used only inside explore");
}

}  // namespace
}  // namespace keel::interleaving::interleaving_test
