#include "keel/observe/flight_recorder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "keel/base/sanitizers.h"

namespace keel::flight_recorder_test {
namespace {

flight::Entry entry(std::uint64_t number) {
  flight::Entry made;
  made.verb = "GET";
  made.object = "/users/{id}";
  made.outcome = 200;
  made.bytes = number;
  made.started = Instant::from_ns(static_cast<std::int64_t>(1000 + number));
  made.took = Duration::nanoseconds(static_cast<std::int64_t>(number));
  made.trace = {number, ~number};
  return made;
}

std::vector<flight::Entry> last(const FlightRecorder& recorder, int count = FlightRecorder::entries_max) {
  std::vector<flight::Entry> seen;
  recorder.last(count, [&seen](const flight::Entry& one) { seen.push_back(one); });
  return seen;
}

TEST(FlightRecorder, has_what_was_noted_newest_first) {
  const FlightRecorder recorder(3);
  EXPECT_TRUE(last(recorder).empty());

  flight::note(entry(1));
  flight::note(entry(2));

  const auto seen = last(recorder);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].bytes, 2u);
  EXPECT_EQ(seen[1].verb, "GET");
  EXPECT_EQ(seen[1].object, "/users/{id}");
  EXPECT_EQ(seen[1].outcome, 200u);
  EXPECT_EQ(seen[1].bytes, 1u);
  EXPECT_EQ(seen[1].started, Instant::from_ns(1001));
  EXPECT_EQ(seen[1].took, Duration::nanoseconds(1));
  EXPECT_EQ(seen[1].trace, (log::TraceId{1, ~std::uint64_t{1}}));
  EXPECT_EQ(recorder.worker(), 3);
}

TEST(FlightRecorder, keeps_as_many_as_it_says) {
  const FlightRecorder recorder(0);
  for (std::uint64_t i = 0; i < 1000; ++i) flight::note(entry(i));

  const auto seen = last(recorder);
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(FlightRecorder::entries_max));
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].bytes, 999 - i);
  EXPECT_EQ(last(recorder, 5).size(), 5u);
}

TEST(FlightRecorder, is_listed_while_it_lives) {
  std::vector<int> workers;
  const auto look = [&workers] {
    workers.clear();
    FlightRecorder::each([&workers](const FlightRecorder& recorder) { workers.push_back(recorder.worker()); });
  };
  {
    const FlightRecorder mine(1);
    look();
    EXPECT_EQ(workers, std::vector<int>{1});
    std::thread([&look, &workers] {
      const FlightRecorder other(2);
      look();
      EXPECT_EQ(workers, (std::vector<int>{1, 2}));
    }).join();
  }
  look();
  EXPECT_TRUE(workers.empty());
}

TEST(FlightRecorder, is_nobodys_on_other_threads) {
  flight::note(entry(1));  // Goes nowhere.
  const FlightRecorder recorder(0);
  std::thread([] { flight::note(entry(2)); }).join();

  EXPECT_TRUE(last(recorder).empty());
}

TEST(FlightRecorder, gives_whole_entries_while_it_is_written) {
  const FlightRecorder recorder(0);
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> read = 0;  // At least one: the writer may be through before the reader has begun.
  std::uint64_t torn = 0;
  std::thread reader([&] {
    while (!stop) {
      recorder.last(FlightRecorder::entries_max, [&](const flight::Entry& one) {
        ++read;
        const std::uint64_t number = one.bytes;
        if (one.trace != log::TraceId{number, ~number} || one.took.count_ns() != static_cast<std::int64_t>(number))
          ++torn;
      });
    }
  });
  for (std::uint64_t i = 0; i < (KEEL_SANITIZED ? 200'000 : 2'000'000) || read == 0; ++i) flight::note(entry(i));
  stop = true;
  reader.join();

  EXPECT_EQ(torn, 0u);
}

struct Subject {
  std::string_view path;
};
flight::Activity tell(const void* subject) { return {"POST", static_cast<const Subject*>(subject)->path, {7, 7}}; }

TEST(Doing, is_the_innermost_one_of_this_thread) {
  EXPECT_EQ(flight::Doing::current(), nullptr);
  const Subject outer{"/outer"};
  const Subject inner{"/inner"};
  const flight::Doing doing(&tell, &outer);
  {
    const flight::Doing nested(&tell, &inner);
    EXPECT_EQ(flight::Doing::current()->tell().object, "/inner");
    std::thread([] { EXPECT_EQ(flight::Doing::current(), nullptr); }).join();
  }
  const flight::Activity told = flight::Doing::current()->tell();
  EXPECT_EQ(told.object, "/outer");
  EXPECT_EQ(told.verb, "POST");
  EXPECT_EQ(told.trace, (log::TraceId{7, 7}));
}

}  // namespace
}  // namespace keel::flight_recorder_test
