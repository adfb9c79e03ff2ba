// All interleavings of a publisher and of somebody who ends a subscription, on a machine whose stores wait in a buffer
// before others see them (x86-TSO: Sewell et al., "x86-TSO", CACM 2010). The steps are those of Publishing and
// TopicCore; a step left out, or a barrier, and the search finds what goes wrong.
#include "keel/events/internal/readers.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "keel/events/internal/topic_core.h"

namespace keel::events::internal::readers_test {
namespace {

// What is shared. Lists: the one with the subscriber, then the one without.
enum Variable : std::uint8_t { Current, How, Read, Calling, variable_count };
enum : std::uint8_t { ListWith = 0, ListWithout = 1, CallIt = 0, PassOver = 1, Nothing = 2, Subscriber1 = 1 };

struct Rules {
  bool looks_again = true;         // The publisher, after it has announced what it reads.
  bool announces_call = true;      // The publisher, before it looks how to call.
  bool passes_over = true;         // Who ends changes how the subscriber is called.
  bool has_barrier = true;         // The ending thread makes the other one pass a barrier.
  bool stores_are_fenced = false;  // Otherwise: each announcement is sequentially consistent.
  bool waits = true;               // Who ends waits for the handler.
  bool looks_who_reads = true;     // Who ends frees only what nobody reads.
};

struct Store {
  std::uint8_t variable, value;
};

struct State {
  std::array<std::uint8_t, variable_count> memory = {ListWith, CallIt, Nothing, Nothing};
  std::array<Store, 4> buffer = {};  // The publisher's; who ends uses operations that leave none behind.
  std::uint8_t buffered = 0;
  std::uint8_t publisher = 0, ender = 0, rounds = 0;
  std::uint8_t seen = Nothing;
  bool is_running = false, is_forgotten = false, is_freed = false;

  std::string key() const {
    std::string text(reinterpret_cast<const char*>(memory.data()), memory.size());
    for (int i = 0; i < buffered; ++i) {
      text += static_cast<char>(buffer[i].variable);
      text += static_cast<char>(buffer[i].value);
    }
    for (const int part : {int{buffered}, int{publisher}, int{ender}, int{rounds}, int{seen}, int{is_running},
                           int{is_forgotten}, int{is_freed}}) {
      text += static_cast<char>(part);
    }
    return text;
  }
};

class Search {
 public:
  explicit Search(Rules rules) : rules_(rules) { visit(State()); }
  std::size_t states() const { return visited_.size(); }
  const std::string& wrong() const { return wrong_; }
  bool has_freed() const { return has_freed_; }

 private:
  static constexpr int rounds_max = 2;

  std::uint8_t load(const State& state, std::uint8_t variable) const {
    for (int i = state.buffered; i > 0; --i) {
      if (state.buffer[i - 1].variable == variable) return state.buffer[i - 1].value;
    }
    return state.memory[variable];
  }
  static void flush_one(State& state) {
    state.memory[state.buffer[0].variable] = state.buffer[0].value;
    for (int i = 1; i < state.buffered; ++i) state.buffer[i - 1] = state.buffer[i];
    --state.buffered;
  }
  static void flush(State& state) {
    while (state.buffered > 0) flush_one(state);
  }
  void store(State& state, std::uint8_t variable, std::uint8_t value, bool is_announcement) const {
    if (state.buffered == state.buffer.size()) flush_one(state);
    state.buffer[state.buffered++] = {variable, value};
    if (is_announcement && rules_.stores_are_fenced) flush(state);
  }
  void found(const char* what) {
    if (wrong_.empty()) wrong_ = what;
  }

  void visit(State state) {
    if (!wrong_.empty() || !visited_.insert(state.key()).second) return;
    if (state.buffered > 0) {
      State next = state;
      flush_one(next);
      visit(next);
    }
    publish(state);
    end(state);
  }

  void publish(State state) {
    switch (state.publisher) {
      case 0:
        if (state.rounds == rounds_max) return;
        ++state.rounds;
        state.seen = load(state, Current);
        break;
      case 1:
        store(state, Read, state.seen, true);
        break;
      case 2: {
        const std::uint8_t again = load(state, Current);
        if (rules_.looks_again && again != state.seen) {
          state.seen = again;
          state.publisher = 0;  // To 1 below.
        }
        break;
      }
      case 3:
        if (state.seen == ListWith && state.is_freed) found("a list is read that was freed");
        if (state.seen == ListWithout) state.publisher = 6;  // To 7: there is nobody to call.
        break;
      case 4:
        if (rules_.announces_call) store(state, Calling, Subscriber1, true);
        break;
      case 5:
        if (state.is_freed) found("a subscriber is called that was freed");
        if (load(state, How) == CallIt) {
          if (state.is_forgotten) found("a handler is called that was destroyed");
          state.is_running = true;
        }
        break;
      case 6:
        state.is_running = false;
        break;
      case 7:
        store(state, Calling, Nothing, false);
        break;
      case 8:
        store(state, Read, Nothing, false);
        break;
    }
    state.publisher = static_cast<std::uint8_t>((state.publisher + 1) % 9);
    visit(state);
  }

  void end(State state) {
    switch (state.ender) {
      case 0:
        if (rules_.passes_over) state.memory[How] = PassOver;
        break;
      case 1:
        state.memory[Current] = ListWithout;
        break;
      case 2:
        if (rules_.has_barrier) flush(state);
        break;
      case 3:
        if (rules_.waits && state.memory[Calling] == Subscriber1) return;
        break;
      case 4:
        if (state.is_running) found("a handler is destroyed that runs");
        state.is_forgotten = true;
        break;
      case 5:
        if (rules_.looks_who_reads && state.memory[Read] == ListWith) return;
        state.is_freed = true;
        has_freed_ = true;
        break;
      default:
        return;
    }
    ++state.ender;
    visit(state);
  }

  const Rules rules_;
  std::set<std::string> visited_;
  std::string wrong_;
  bool has_freed_ = false;
};

TEST(Readers, neither_read_what_was_freed_nor_call_what_was_ended_however_they_interleave) {
  const Search search{Rules()};

  EXPECT_EQ(search.wrong(), "");
  EXPECT_TRUE(search.has_freed());
  EXPECT_GT(search.states(), 300u);
}

TEST(Readers, need_no_barrier_where_each_announcement_is_sequentially_consistent) {
  const Search search({.has_barrier = false, .stores_are_fenced = true});

  EXPECT_EQ(search.wrong(), "");
  EXPECT_TRUE(search.has_freed());
}

TEST(Readers, would_go_wrong_without_any_one_of_their_steps) {
  EXPECT_NE(Search({.looks_again = false}).wrong(), "");
  EXPECT_NE(Search({.announces_call = false}).wrong(), "");
  EXPECT_NE(Search({.passes_over = false}).wrong(), "");
  EXPECT_NE(Search({.has_barrier = false}).wrong(), "");
  EXPECT_NE(Search({.waits = false}).wrong(), "");
  EXPECT_NE(Search({.looks_who_reads = false}).wrong(), "");
}

TEST(Readers, are_one_for_each_thread_and_pass_to_a_later_one) {
  Reader* const here = &this_reader();
  EXPECT_EQ(&this_reader(), here);
  Reader* first = nullptr;
  Reader* second = nullptr;
  std::thread([&] { first = &this_reader(); }).join();
  std::thread([&] { second = &this_reader(); }).join();

  EXPECT_NE(first, here);
  EXPECT_EQ(second, first);
}

TEST(Readers, have_a_frame_for_each_publish_inside_another_and_use_it_again) {
  static Reader reader(true);  // They are never destroyed.
  const Snapshot list;

  EXPECT_EQ(&reader.first_free(), &reader.outermost());
  reader.outermost().snapshot = &list;
  Frame& second = reader.first_free();
  second.snapshot = &list;
  Frame& third = reader.first_free();

  EXPECT_NE(&second, &reader.outermost());
  EXPECT_NE(&third, &reader.outermost());
  EXPECT_NE(&third, &second);
  EXPECT_EQ(&reader.first_free(), &third);
  second.snapshot = nullptr;
  EXPECT_EQ(&reader.first_free(), &second);
  reader.outermost().snapshot = nullptr;
  EXPECT_EQ(&reader.first_free(), &reader.outermost());
}

TEST(Readers, without_the_barrier_have_no_frame_for_those_who_count_on_it) {
  static Reader reader(false);

  EXPECT_FALSE(reader.outermost().is_free());
  EXPECT_TRUE(reader.first_free().is_free());
}

TEST(Readers, count_for_each_topic_what_all_threads_did) {
  const std::uint32_t one = take_topic();
  const std::uint32_t other = take_topic();
  this_reader().counts(one).published.add(2);
  std::thread([&] { this_reader().counts(one).published.add(3); }).join();

  EXPECT_EQ(totals(one).published, 5u);
  EXPECT_EQ(totals(other).published, 0u);
  give_back_topic(one);
  EXPECT_EQ(totals(take_topic()).published, 0u);
  give_back_topic(one);
  give_back_topic(other);
}

}  // namespace
}  // namespace keel::events::internal::readers_test
