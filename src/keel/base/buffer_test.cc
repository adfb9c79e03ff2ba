#include "keel/base/buffer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace keel::buffer_test {
namespace {

TEST(Buffer, begins_empty_and_owns_nothing) {
  const Buffer buffer;
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.capacity(), 0u);
  EXPECT_EQ(buffer.view(), "");
}

TEST(Buffer, keeps_its_bytes_while_it_grows) {
  Buffer buffer;
  std::string expected;

  for (int i = 0; i < 5000; ++i) {
    const std::string piece = std::to_string(i);
    buffer.append(piece);
    buffer.push_back(',');
    expected += piece + ',';
  }
  buffer.append({});

  EXPECT_EQ(buffer.view(), expected);
}

TEST(Buffer, appends_texts_of_every_length_and_nothing_else) {
  std::string text;
  for (int i = 0; i < 130; ++i) text.push_back(static_cast<char>('!' + i % 90));
  for (std::size_t size = 0; size <= text.size(); ++size) {
    // In memory of its own size, where one byte too many is found.
    const std::string part(text.data(), size);
    Buffer buffer;
    buffer.append("<");
    buffer.append(part);
    const std::size_t end = buffer.size();
    buffer.push_back('>');
    ASSERT_EQ(buffer.view(), "<" + part + ">") << size;
    ASSERT_EQ(end, size + 1);
  }
}

TEST(Buffer, takes_bytes_written_behind_its_end) {
  Buffer buffer;
  buffer.append("ab");

  std::memcpy(buffer.reserve(2), "cd", 2);
  buffer.commit(2);

  EXPECT_EQ(buffer.view(), "abcd");
  EXPECT_EQ(buffer.capacity(), 256u);
}

TEST(Buffer, consumes_from_the_front) {
  Buffer buffer;
  buffer.append("abcd");

  buffer.consume(3);
  EXPECT_EQ(buffer.view(), "d");
  buffer.consume(1);
  EXPECT_TRUE(buffer.empty());
}

TEST(BufferDeathTest, aborts_when_more_is_used_than_there_is) {
#ifdef NDEBUG
  GTEST_SKIP() << "not checked in this build";
#endif
  Buffer buffer;
  buffer.append("abc");

  EXPECT_DEATH(buffer.consume(4), "consume\\(\\) cannot remove more bytes than the buffer holds");
  EXPECT_DEATH(buffer.commit(254), "a buffer cannot be larger than its capacity");
  buffer.commit(253);
  EXPECT_DEATH(buffer.resize(257), "a buffer cannot be larger than its capacity");
  buffer.consume(256);
  EXPECT_TRUE(buffer.empty());
}

TEST(Buffer, keeps_its_block_when_cleared_and_gives_it_back_when_released) {
  Buffer buffer;
  buffer.append("abc");

  buffer.clear();
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_EQ(buffer.capacity(), 256u);

  buffer.release();
  EXPECT_EQ(buffer.capacity(), 0u);
  buffer.append("again");
  EXPECT_EQ(buffer.view(), "again");
}

TEST(Buffer, is_empty_after_it_was_moved_from) {
  Buffer first;
  first.append("abc");

  Buffer second(std::move(first));
  EXPECT_EQ(second.view(), "abc");
  EXPECT_EQ(first.capacity(), 0u);

  Buffer third;
  third.append("gone");
  third = std::move(second);
  EXPECT_EQ(third.view(), "abc");
  EXPECT_EQ(second.capacity(), 0u);
}

}  // namespace
}  // namespace keel::buffer_test
