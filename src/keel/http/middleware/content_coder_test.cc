#include "keel/http/middleware/content_coder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "keel/http/testing/internal/decode_testing.h"

namespace keel::http::content_coder_test {
namespace {

std::string json_of(std::size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) text += "{\"id\":" + std::to_string(i) + ",\"name\":\"user\"},";
  return text.substr(0, size);
}
std::string noise_of(std::size_t size) {
  std::string text(size, '\0');
  std::uint64_t state = 1;
  for (char& c : text) {
    state = state * 6364136223846793005 + 1442695040888963407;
    c = static_cast<char>(state >> 56);
  }
  return text;
}

TEST(ContentCoder, gives_back_what_it_was_given_in_every_coding_and_size) {
  ContentCoder coder;
  for (const std::string_view coding : ContentCoder::codings()) {
    for (const std::size_t size : {200u, 1'024u, 65'536u, 65'537u, 1'000'000u}) {
      for (int again = 0; again < 3; ++again) {
        const std::string content = json_of(size);
        Buffer out;
        out.append("before:");
        ASSERT_TRUE(coder.encode(coding, content, out)) << coding << " " << size;
        EXPECT_LT(out.size(), size);
        EXPECT_EQ(internal::decode(coding, out.view().substr(7)), content) << coding << " " << size;
        EXPECT_TRUE(out.view().starts_with("before:"));
      }
    }
  }
}

TEST(ContentCoder, leaves_what_would_not_be_smaller_and_goes_on_afterwards) {
  ContentCoder coder;
  for (const std::string_view coding : ContentCoder::codings()) {
    for (const std::string& content : {std::string(), std::string("x"), std::string("xy"), noise_of(5'000)}) {
      Buffer out;
      out.append("before");
      EXPECT_FALSE(coder.encode(coding, content, out)) << coding << " " << content.size();
      EXPECT_EQ(out.view(), "before");
    }
    Buffer out;
    EXPECT_TRUE(coder.encode(coding, json_of(2'000), out));
    EXPECT_EQ(internal::decode(coding, out.view()), json_of(2'000));
  }
}

TEST(ContentCoder, passes_its_levels_on) {
  ContentCoder little({.gzip = 1, .brotli = 1, .zstd = 1});
  ContentCoder much({.gzip = 9, .brotli = 9, .zstd = 15});
  for (const std::string_view coding : ContentCoder::codings()) {
    Buffer a;
    Buffer b;
    ASSERT_TRUE(little.encode(coding, json_of(100'000), a));
    ASSERT_TRUE(much.encode(coding, json_of(100'000), b));
    EXPECT_NE(a.size(), b.size()) << coding;
  }
}

TEST(ContentCoder, gives_a_reader_all_that_was_written_of_a_content_in_pieces) {
  ContentCoder coder;
  const std::string content = json_of(300'000) + noise_of(100'000) + json_of(1'000);
  for (const std::string_view coding : ContentCoder::codings()) {
    for (const std::size_t piece : {50'000u, 4'099u, 400'000u}) {
      Buffer out;
      ASSERT_TRUE(coder.begin(coding));
      for (std::size_t at = 0; at < content.size(); at += piece) {
        ASSERT_TRUE(coder.write(std::string_view(content).substr(at, piece), out));
        if (piece == 50'000) {
          ASSERT_EQ(internal::decode_begun(coding, out.view()), content.substr(0, at + piece)) << coding;
        }
      }
      ASSERT_TRUE(coder.end(out));
      EXPECT_EQ(internal::decode_begun(coding, out.view()), content) << coding << " " << piece;
      EXPECT_LT(out.size(), 250'000u) << coding;
      EXPECT_EQ(internal::decode(coding, out.view()), content) << "and its end is there";
    }
  }
}

TEST(ContentCoder, begins_another_content_after_one_that_ended_or_was_given_up) {
  ContentCoder coder;
  for (const std::string_view coding : ContentCoder::codings()) {
    Buffer given_up;
    ASSERT_TRUE(coder.begin(coding));
    ASSERT_TRUE(coder.write("never seen again", given_up));
    for (const std::string_view content : {"", "x", "hello, hello, hello"}) {
      Buffer out;
      ASSERT_TRUE(coder.begin(coding));
      ASSERT_TRUE(coder.write(content, out));
      ASSERT_TRUE(coder.write("", out));
      ASSERT_TRUE(coder.end(out));
      EXPECT_EQ(internal::decode(coding, out.view()), content) << coding;
    }
    Buffer whole;
    EXPECT_TRUE(coder.encode(coding, json_of(2'000), whole));
    EXPECT_EQ(internal::decode(coding, whole.view()), json_of(2'000)) << coding;
  }
}

TEST(ContentCoders, lend_as_many_as_there_may_be) {
  ContentCoders coders({}, 6);
  std::vector<ContentCoders::Lease> lent;
  for (int i = 0; i < 6; ++i) {
    lent.push_back(coders.lend());
    ASSERT_NE(lent.back(), nullptr);
    ASSERT_TRUE(lent.back()->begin("gzip"));
  }
  EXPECT_EQ(coders.lend(), nullptr);
  const ContentCoder* const first = lent[0].get();
  lent.erase(lent.begin());
  const ContentCoders::Lease again = coders.lend();
  EXPECT_EQ(again.get(), first) << "with the memory that it has";
  EXPECT_TRUE(again->begin("gzip"));
  EXPECT_EQ(coders.lend(), nullptr);
  EXPECT_EQ(ContentCoders({}, 0).lend(), nullptr);
}

// A body may be answered on one thread and end on another.
TEST(ContentCoders, are_lent_and_taken_back_by_any_thread) {
  ContentCoders coders({}, 3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&coders] {
      for (int n = 0; n < 2'000; ++n) {
        const ContentCoders::Lease coder = coders.lend();
        if (coder != nullptr && n % 500 == 0) {
          Buffer out;
          EXPECT_TRUE(coder->begin("gzip") && coder->write("text", out) && coder->end(out));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const ContentCoders::Lease all[] = {coders.lend(), coders.lend(), coders.lend()};
  for (const ContentCoders::Lease& one : all) EXPECT_NE(one, nullptr);
  EXPECT_EQ(coders.lend(), nullptr);
}

TEST(ContentCoderDeathTest, wants_its_calls_in_order) {
  Buffer out;
  EXPECT_DEATH(ContentCoder().write("x", out), "must be called before write");
  EXPECT_DEATH(ContentCoder().end(out), "must be called before end");
  EXPECT_DEATH(ContentCoder().begin("deflate"), "the content coding must be one that this build supports");
  EXPECT_DEATH(
      {
        ContentCoder coder;
        coder.begin("gzip");
        coder.encode("gzip", "hello", out);
      },
      "must be called before encode");
}

TEST(ContentCoderDeathTest, refuses_levels_out_of_range) {
  EXPECT_DEATH(ContentCoder({.gzip = 0}), "1 to 9");
  EXPECT_DEATH(ContentCoder({.gzip = 10}), "1 to 9");
  EXPECT_DEATH(ContentCoder({.brotli = 12}), "0 to 11");
  EXPECT_DEATH(ContentCoder({.zstd = 0}), "1 to 19");
  EXPECT_DEATH(ContentCoder({.zstd = 20}), "1 to 19");
}

}  // namespace
}  // namespace keel::http::content_coder_test
