#include "keel/base/single_writer_counter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace keel::single_writer_counter_test {
namespace {

TEST(SingleWriterCounter, goes_up_and_down) {
  SingleWriterCounter counter;
  EXPECT_EQ(counter.get(), 0u);

  counter.add();
  counter.add(41);
  EXPECT_EQ(counter.get(), 42u);
  counter.subtract();
  counter.subtract(11);
  EXPECT_EQ(counter.get(), 30u);
  counter.set(7);
  EXPECT_EQ(counter.get(), 7u);
}

TEST(SingleWriterCounter, is_read_while_it_grows_and_never_goes_back) {
  constexpr std::uint64_t most = 200'000;
  SingleWriterCounter counter;
  std::atomic<bool> went_back = false;
  std::thread reader([&] {
    for (std::uint64_t before = 0; before < most;) {
      const std::uint64_t now = counter.get();
      if (now < before) went_back = true;
      before = now;
    }
  });
  for (std::uint64_t i = 0; i < most; ++i) counter.add();
  reader.join();

  EXPECT_EQ(counter.get(), most);
  EXPECT_FALSE(went_back);
}

}  // namespace
}  // namespace keel::single_writer_counter_test
