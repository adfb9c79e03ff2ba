#include "keel/observe/log_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "keel/observe/log.h"
#include "keel/observe/log_record.h"

namespace keel::log::log_ring_test {
namespace {

#define SKIP_WITHOUT_LOGS() \
  if (!is_recorded) GTEST_SKIP() << "compiled out"

// The field "n" of every record.
std::vector<std::uint64_t> drain(Reader& reader) {
  std::vector<std::uint64_t> numbers;
  reader.drain([&numbers](const Record& record) {
    record.for_each([&numbers](const FieldView& f) {
      if (f.name == "n") numbers.push_back(f.word);
    });
  });
  return numbers;
}

void fill(Logger& log, std::uint64_t from, std::uint64_t count) {
  for (std::uint64_t n = from; n < from + count; ++n) log.info("n", field("n", n));  // 64 bytes each
}

TEST(Ring, keeps_order_over_many_laps) {
  SKIP_WITHOUT_LOGS();
  Reader reader(false);
  Ring ring({.bytes = 4096});
  Logger log("ring.laps");
  std::uint64_t sent = 0;
  std::uint64_t got = 0;
  for (std::uint64_t lap = 0; lap < 200; ++lap) {
    for (std::uint64_t i = 0; i < lap % 20; ++i) {
      log.info("n", field("text", std::string(sent % 71, 'x')), field("n", sent));
      ++sent;
    }
    for (const std::uint64_t n : drain(reader)) EXPECT_EQ(n, got++);
  }
  EXPECT_EQ(got, sent);
}

TEST(Ring, drops_the_newest_when_full_and_counts_exactly) {
  SKIP_WITHOUT_LOGS();
  Reader reader(false);
  Ring ring({.bytes = 4096, .overflow = Overflow::DropNewest});
  Logger log("ring.newest");
  const std::uint64_t before = dropped();
  fill(log, 0, 100);

  const auto numbers = drain(reader);
  ASSERT_FALSE(numbers.empty());
  EXPECT_EQ(numbers.front(), 0u);
  EXPECT_EQ(numbers.size() + (dropped() - before), 100u);
  fill(log, 100, 1);
  EXPECT_EQ(drain(reader), std::vector<std::uint64_t>{100});
}

TEST(Ring, drops_the_oldest_when_told_so) {
  SKIP_WITHOUT_LOGS();
  Reader reader(false);
  Ring ring({.bytes = 4096, .overflow = Overflow::DropOldest});
  Logger log("ring.oldest");
  const std::uint64_t before = dropped();
  fill(log, 0, 1000);

  const auto numbers = drain(reader);
  ASSERT_GT(numbers.size(), 50u);
  EXPECT_EQ(numbers.back(), 999u);
  EXPECT_EQ(numbers.size() + (dropped() - before), 1000u);
}

// Fills the ring with `flood`, then records one line of each level above, and gives the levels of what is read.
std::vector<Level> read_after_flood(Reader& reader, const Logger& log, Level flood) {
  for (int i = 0; i < 1000; ++i) log.log(flood, "flood", field("n", i));
  for (int level = static_cast<int>(flood) + 1; level <= static_cast<int>(Level::Fatal); ++level) {
    log.log(static_cast<Level>(level), "one", field("n", level));
  }
  std::vector<Level> above;
  reader.drain([&](const Record& record) {
    if (record.message() == "one") above.push_back(record.level());
  });
  return above;
}

TEST(Ring, keeps_room_for_higher_levels_in_a_flood_of_lower_ones) {
  SKIP_WITHOUT_LOGS();
  Reader reader(false);
  for (const Overflow overflow : {Overflow::DropNewest, Overflow::DropOldest}) {
    Ring ring({.bytes = 4096, .overflow = overflow});
    Logger log("ring.flood");
    const std::uint64_t infos = dropped(Level::Info), warnings = dropped(Level::Warn), errors = dropped(Level::Error);

    EXPECT_EQ(read_after_flood(reader, log, Level::Info),
              (std::vector<Level>{Level::Warn, Level::Error, Level::Fatal}));
    EXPECT_GT(dropped(Level::Info), infos + 900);
    EXPECT_EQ(dropped(Level::Warn), warnings);

    EXPECT_EQ(read_after_flood(reader, log, Level::Warn), (std::vector<Level>{Level::Error, Level::Fatal}));
    EXPECT_GT(dropped(Level::Warn), warnings + 900);
    EXPECT_EQ(dropped(Level::Error), errors);
  }
}

TEST(Ring, drops_no_error_for_an_info_that_is_newer) {
  SKIP_WITHOUT_LOGS();
  Reader reader(false);
  Ring ring({.bytes = 4096, .overflow = Overflow::DropOldest});
  Logger log("ring.rank");
  log.error("one");
  for (int i = 0; i < 1000; ++i) log.info("flood", field("n", i));

  int errors = 0;
  reader.drain([&](const Record& record) { errors += record.level() == Level::Error; });

  EXPECT_EQ(errors, 1);
}

TEST(Ring, takes_a_record_of_half_of_it_wherever_the_last_one_has_ended) {
  SKIP_WITHOUT_LOGS();
  Reader reader(false);
  Ring ring({.bytes = 4096});
  Logger log("ring.half");
  for (int i = 0; i < 300; ++i) {
    log.info("small", field("text", std::string(static_cast<std::size_t>(i % 200), 'x')));
    reader.drain([](const Record&) {});
    const std::uint64_t before = dropped();
    log.info("large", field("text", std::string(1900, 'x')));
    EXPECT_EQ(dropped(), before) << i;
    reader.drain([](const Record&) {});
  }
}

TEST(Ring, refuses_a_record_above_half_of_it) {
  SKIP_WITHOUT_LOGS();
  Reader reader(false);
  Ring ring({.bytes = 4096});
  Logger log("ring.large");
  const std::uint64_t before = dropped();
  log.info("large", field("text", std::string(3000, 'x')));
  EXPECT_EQ(dropped() - before, 1u);
  log.info("n", field("n", 1));
  EXPECT_EQ(drain(reader), std::vector<std::uint64_t>{1});
}

TEST(Ring, blocks_only_while_a_thread_drains) {
  SKIP_WITHOUT_LOGS();
  std::atomic<bool> stop = false;
  std::vector<std::uint64_t> numbers;
  {
    Reader reader(true);
    std::thread writer([&] {
      while (!stop.load()) {
        reader.wait(1_ms);
        for (const std::uint64_t n : drain(reader)) numbers.push_back(n);
      }
      for (const std::uint64_t n : drain(reader)) numbers.push_back(n);
    });
    const std::uint64_t before = dropped();
    std::thread worker([] {
      Ring ring({.bytes = 4096, .overflow = Overflow::Block});
      Logger log("ring.block");
      fill(log, 0, 5000);
    });
    worker.join();
    stop = true;
    reader.wake();
    writer.join();
    EXPECT_EQ(dropped(), before);
    ASSERT_EQ(numbers.size(), 5000u);
    for (std::uint64_t n = 0; n < numbers.size(); ++n) EXPECT_EQ(numbers[n], n);
  }
  Reader by_hand(false);
  Ring ring({.bytes = 4096, .overflow = Overflow::Block});
  Logger log("ring.block");
  const std::uint64_t before = dropped();
  fill(log, 0, 100);
  EXPECT_GT(dropped(), before);
}

// Runs under the thread sanitizer: workers with and without rings against one reader, for each policy.
TEST(Ring, every_record_is_read_or_counted) {
  SKIP_WITHOUT_LOGS();
  for (const Overflow overflow : {Overflow::DropNewest, Overflow::DropOldest, Overflow::Block}) {
    constexpr std::uint64_t each = 4000;
    const std::uint64_t before = dropped();
    std::atomic<int> running = 4;
    std::uint64_t read = 0;
    Reader reader(true);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&running, overflow, i] {
        if (i < 3) {
          Ring ring({.bytes = 8192, .overflow = overflow});
          Logger log("ring.many");
          fill(log, 0, each);
        } else {
          Logger log("ring.shared");
          fill(log, 0, each);
        }
        running.fetch_sub(1);
      });
    }
    while (running.load() != 0) {
      reader.wait(1_ms);
      read += drain(reader).size();
    }
    for (auto& thread : threads) thread.join();
    read += drain(reader).size();
    EXPECT_EQ(read + (dropped() - before), 4 * each);
  }
}

TEST(Ring, what_a_thread_recorded_survives_it) {
  SKIP_WITHOUT_LOGS();
  Reader reader(false);
  std::thread([] {
    Ring ring;
    Logger log("ring.gone");
    fill(log, 0, 3);
  }).join();
  EXPECT_EQ(drain(reader), (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(Ring, without_a_reader_its_end_is_a_loss_that_is_counted) {
  SKIP_WITHOUT_LOGS();
  const std::uint64_t before = dropped();
  std::thread([] {
    Ring ring;
    Logger log("ring.lost");
    fill(log, 0, 3);
  }).join();
  EXPECT_EQ(dropped() - before, 3u);
}

TEST(Reader, wakes_when_a_ring_is_half_full) {
  SKIP_WITHOUT_LOGS();
  Reader reader(true);
  std::thread worker([] {
    Ring ring({.bytes = 4096});
    Logger log("ring.half");
    fill(log, 0, 40);
  });
  const Instant began = Host::current().now();
  reader.wait(60_s);
  EXPECT_LT(Host::current().now() - began, 30_s);
  worker.join();
  drain(reader);
}

TEST(Thread, without_a_ring_shares_one) {
  SKIP_WITHOUT_LOGS();
  Reader reader(false);
  Logger log("ring.none");
  fill(log, 0, 3);
  EXPECT_EQ(drain(reader), (std::vector<std::uint64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace keel::log::log_ring_test
