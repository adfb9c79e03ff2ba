// The names and counts of the buffers. That the kernel fills them, and what happens when it has none: engine_test.cc.

#include "keel/io/internal/uring_buffers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "keel/io/internal/sockets.h"

namespace keel::io::uring_buffers_test {
namespace {

constexpr std::string_view text = "what has come";

struct UringBuffersTest : ::testing::Test {
  void SetUp() override {
    if (const auto probed = probe_uring(); !probed) GTEST_SKIP() << probed.error().describe();
    ASSERT_EQ(io_uring_queue_init(8, &ring, 0), 0);
    has_ring = true;
    buffers = std::make_unique<UringBuffers>();
    const auto set_up = buffers->set_up(ring);
    ASSERT_TRUE(set_up) << set_up.error().describe();
  }
  void TearDown() override {
    if (has_ring) io_uring_queue_exit(&ring);
  }
  // As the kernel does, in the order in which it was given them.
  std::uint32_t come() {
    buffers->note_used();
    std::memcpy(buffers->at(next), text.data(), text.size());
    return next++;
  }
  std::string_view at(std::uint32_t name) { return {buffers->at(name), text.size()}; }

  io_uring ring{};
  bool has_ring = false;
  std::unique_ptr<UringBuffers> buffers;
  std::uint32_t next = 0;
};

TEST_F(UringBuffersTest, keep_what_is_lent_under_its_own_name) {
  const std::uint32_t name = come();

  EXPECT_EQ(buffers->lend(name, text.size()), name);
  EXPECT_EQ(buffers->lent(), 1u);
  EXPECT_EQ(at(name), text);
  buffers->take_back(name);
  EXPECT_EQ(buffers->lent(), 0u);
}

TEST_F(UringBuffersTest, copy_what_is_lent_beyond_the_most) {
  std::vector<std::uint32_t> lent;
  for (unsigned i = 0; i < UringBuffers::lent_max; ++i) {
    lent.push_back(buffers->lend(come(), text.size()));
    buffers->fill();
    buffers->want_more();
  }
  const std::uint32_t buffer = come();

  const std::uint32_t first = buffers->lend(buffer, text.size());
  std::memset(buffers->at(buffer), 'x', text.size());  // The kernel may have it again.
  EXPECT_GE(first, UringBuffers::count);
  EXPECT_EQ(at(first), text);
  EXPECT_EQ(buffers->lent(), UringBuffers::lent_max);
  EXPECT_EQ(buffers->lend(first, text.size()), first) << "a copy is held as it is";

  buffers->take_back(first);
  EXPECT_EQ(buffers->lend(come(), text.size()), first) << "names of copies are used again";
  EXPECT_EQ(at(first), text);
  for (const std::uint32_t name : lent) buffers->take_back(name);
  EXPECT_EQ(buffers->lent(), 0u);
}

TEST_F(UringBuffersTest, chain_what_waits) {
  std::uint32_t names[3];
  for (std::uint32_t& name : names) {
    name = buffers->lend(come(), text.size());
    buffers->end_chain(name, 7);
  }
  buffers->link(names[0], names[1]);
  buffers->link(names[1], names[2]);

  EXPECT_EQ(buffers->next_of(names[0]), names[1]);
  EXPECT_EQ(buffers->next_of(names[1]), names[2]);
  EXPECT_EQ(buffers->next_of(names[2]), UringBuffers::none);
  EXPECT_EQ(buffers->size_of(names[1]), 7u);
  for (const std::uint32_t name : names) buffers->take_back(name);
}

TEST_F(UringBuffersTest, run_out_and_are_given_in_greater_numbers) {
  const unsigned first = buffers->wanted();
  std::vector<std::uint32_t> come_ones;
  while (!buffers->is_empty()) come_ones.push_back(come());
  EXPECT_EQ(come_ones.size(), first);

  buffers->want_more();
  buffers->fill();
  EXPECT_FALSE(buffers->is_empty());
  EXPECT_EQ(buffers->wanted(), 2 * first);
  for (int i = 0; i < 10; ++i) buffers->want_more();
  EXPECT_EQ(buffers->wanted(), UringBuffers::count);
}

TEST_F(UringBuffersTest, are_fewer_again_when_fewer_would_have_done) {
  const unsigned least = buffers->wanted();
  buffers->want_more();
  buffers->fill();

  // Half empty at the end of each turn: all of them are needed.
  for (unsigned i = 0; i < least; ++i) buffers->recycle(come());
  for (int turn = 0; turn < 5000; ++turn) buffers->end_turn();
  EXPECT_EQ(buffers->wanted(), 2 * least);

  buffers->fill();
  for (int turn = 0; turn < 5000; ++turn) buffers->end_turn();
  EXPECT_EQ(buffers->wanted(), least);
}

}  // namespace
}  // namespace keel::io::uring_buffers_test
