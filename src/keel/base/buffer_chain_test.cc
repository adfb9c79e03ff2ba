#include "keel/base/buffer_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "keel/base/bug.h"

namespace keel::buffer_chain_test {
namespace {

Buffer buffer_of(std::string_view text) {
  Buffer buffer;
  buffer.append(text);
  return buffer;
}
// As a write of all its parts sends it.
std::string text_of(const BufferChain& chain) {
  std::vector<iovec> parts(chain.size() + 1);
  parts.resize(chain.gather(parts));
  std::string text;
  for (const iovec& part : parts) {
    EXPECT_NE(part.iov_len, 0u);
    text.append(static_cast<const char*>(part.iov_base), part.iov_len);
  }
  return text;
}
std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

TEST(BufferChain, begins_empty_and_owns_nothing) {
  const BufferChain chain;
  iovec part;

  EXPECT_TRUE(chain.empty());
  EXPECT_EQ(chain.front(), "");
  EXPECT_EQ(chain.gather({&part, 1}), 0u);
}

TEST(BufferChain, keeps_the_order_of_what_is_copied_and_what_is_taken_over) {
  BufferChain chain;

  chain.append("head, ");
  chain.append(buffer_of("body, "));
  chain.append(Buffer());
  chain.append("");
  chain.append("tail");

  EXPECT_EQ(chain.size(), 16u);
  EXPECT_EQ(text_of(chain), "head, body, tail");
}

TEST(BufferChain, takes_a_buffer_over_without_copying_it) {
  Buffer body = buffer_of("body");
  const char* const bytes = body.data();
  BufferChain chain;

  chain.append(std::move(body));
  chain.append(" and more behind it");

  EXPECT_EQ(chain.front().data(), bytes);
  EXPECT_EQ(chain.front(), "body and more behind it");
}

TEST(BufferChain, never_moves_bytes_while_more_comes_and_others_go) {
  BufferChain chain;
  chain.append("first");
  chain.append("second");
  const char* const at = chain.front().data() + 5;

  for (int i = 0; i < 100; ++i) chain.append(pattern(1000));
  chain.consume(5);

  EXPECT_EQ(chain.front().data(), at);
  EXPECT_EQ(chain.front().substr(0, 6), "second");
}

TEST(BufferChain, gathers_what_fits_into_the_parts_that_are_given) {
  BufferChain chain;
  for (int i = 0; i < 3; ++i) chain.append(buffer_of(pattern(256)));
  iovec parts[2];

  ASSERT_EQ(chain.gather(parts), 2u);
  EXPECT_EQ(parts[0].iov_len, 256u);
  EXPECT_EQ(parts[1].iov_len, 256u);
  chain.consume(300);
  ASSERT_EQ(chain.gather(parts), 2u);
  EXPECT_EQ(parts[0].iov_len, 212u);
}

TEST(BufferChain, fills_large_pieces_into_blocks_of_at_most_16_KiB) {
  BufferChain chain;
  const std::string text = pattern(100'000);

  chain.append(text);

  std::vector<iovec> parts(100);
  parts.resize(chain.gather(parts));
  EXPECT_EQ(parts.size(), 7u);
  for (const iovec& part : parts) EXPECT_LE(part.iov_len, BufferChain::block_bytes_max);
  EXPECT_TRUE(text_of(chain) == text);
}

TEST(BufferChain, copies_and_reads_across_blocks) {
  BufferChain chain;
  chain.append(buffer_of("one"));
  chain.append(buffer_of("two"));
  char bytes[5];

  EXPECT_EQ(chain.copy_to(bytes), 5u);
  EXPECT_EQ(std::string_view(bytes, 5), "onetw");
  EXPECT_EQ(chain.read(bytes), 5u);
  EXPECT_EQ(chain.read(bytes), 1u);
  EXPECT_EQ(bytes[0], 'o');
  EXPECT_EQ(chain.read(bytes), 0u);
}

// A pipe stands for what readv() and writev() are given.
TEST(BufferChain, goes_through_writev_and_readv) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  BufferChain output;
  for (int i = 0; i < 20; ++i) output.append(buffer_of(pattern(1000 + static_cast<std::size_t>(i))));
  const std::string expected = text_of(output);
  BufferChain input;
  iovec parts[16];

  while (!output.empty()) {
    const ssize_t sent = writev(ends[1], parts, static_cast<int>(output.gather(parts)));
    ASSERT_GT(sent, 0);
    output.consume(static_cast<std::size_t>(sent));
    const ssize_t got = readv(ends[0], parts, static_cast<int>(input.reserve(parts, 30'000)));
    ASSERT_EQ(got, sent);
    input.commit(static_cast<std::size_t>(got));
  }

  EXPECT_TRUE(text_of(input) == expected);
  close(ends[0]);
  close(ends[1]);
}

TEST(BufferChain, does_not_contain_what_was_reserved_and_not_committed) {
  BufferChain chain;
  chain.append("kept");
  iovec parts[4];

  ASSERT_GE(chain.reserve(parts, 50'000), 2u);
  chain.append(buffer_of(", taken over"));
  ASSERT_GE(chain.reserve(parts, 50'000), 2u);
  chain.commit(0);
  chain.append(", copied");

  EXPECT_EQ(text_of(chain), "kept, taken over, copied");
}

TEST(BufferChain, is_empty_after_it_was_moved_from) {
  BufferChain first;
  first.append("text");

  BufferChain second(std::move(first));
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(text_of(second), "text");

  BufferChain third;
  third.append("gone");
  third = std::move(second);
  EXPECT_TRUE(second.empty());
  EXPECT_EQ(text_of(third), "text");
  second.append("used again");
  EXPECT_EQ(text_of(second), "used again");
}

TEST(BufferChain, does_what_a_string_does) {
  std::minstd_rand random(3);
  BufferChain chain;
  std::string model;
  iovec parts[3];

  for (int i = 0; i < 5000; ++i) {
    const std::string piece = pattern(random() % (random() % 50 == 0 ? 40'000 : 400));
    switch (random() % 5) {
      case 0:
        chain.append(piece);
        model += piece;
        break;
      case 1:
        chain.append(buffer_of(piece));
        model += piece;
        break;
      case 2: {
        std::size_t left = piece.size();
        const std::size_t count = chain.reserve(parts, left);
        for (std::size_t at = 0; at < count; ++at) {
          piece.copy(static_cast<char*>(parts[at].iov_base), parts[at].iov_len, piece.size() - left);
          left -= parts[at].iov_len;
        }
        const std::size_t written = (piece.size() - left) / 2;
        chain.commit(written);
        model.append(piece, 0, written);
        break;
      }
      case 3: {
        const std::size_t count = std::min<std::size_t>(random() % 1500, model.size());
        chain.consume(count);
        model.erase(0, count);
        break;
      }
      default: {
        std::string into(random() % 2000, '\0');
        into.resize(chain.read(into));
        ASSERT_EQ(into, model.substr(0, into.size()));
        model.erase(0, into.size());
      }
    }
    ASSERT_EQ(chain.size(), model.size());
    ASSERT_TRUE(model.starts_with(chain.front()));
    if (i % 50 == 0) {
      ASSERT_TRUE(text_of(chain) == model) << i;
    }
  }
}

TEST(BufferChain, throws_a_bug_when_more_is_used_than_there_is) {
  BufferChain chain;
  chain.append("four");

  EXPECT_THROW(chain.consume(5), Bug);
  EXPECT_EQ(chain.size(), 4u);
  EXPECT_THROW(chain.commit(253), Bug);
}

}  // namespace
}  // namespace keel::buffer_chain_test
