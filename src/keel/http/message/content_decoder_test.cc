#include "keel/http/message/content_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/http/middleware/content_coder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::content_decoder_test {
namespace {

std::string text_of(std::size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) text += "{\"id\":" + std::to_string(i * 7919) + ",\"name\":\"user\"},";
  return text.substr(0, size);
}
std::string coded(std::string_view coding, std::string_view content) {
  ContentCoder coder;
  Buffer out;
  EXPECT_TRUE(coder.begin(coding) && coder.write(content, out) && coder.end(out));
  return std::string(out.view());
}
// The content, or what was wrong.
std::string decoded(ContentDecoder& decoder, std::string_view coding, std::string_view bytes, std::size_t piece,
                    std::size_t room_bytes = 16 * 1024) {
  EXPECT_TRUE(decoder.begin(coding));
  std::string content;
  std::vector<char> room(room_bytes);
  while (!bytes.empty()) {
    std::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    while (true) {
      const Result<std::size_t> count = decoder.decode(next, room);
      if (!count) return std::string(count.error().message());
      if (*count == 0) break;
      content.append(room.data(), *count);
    }
    EXPECT_TRUE(next.empty());
  }
  const Result<> ended = decoder.end();
  return ended ? content : std::string(ended.error().message());
}
std::string decoded(std::string_view coding, std::string_view bytes, std::size_t piece = 1 << 20) {
  ContentDecoder decoder;
  const auto index = static_cast<std::size_t>(std::ranges::find(ContentDecoder::codings(), coding) -
                                              ContentDecoder::codings().begin());
  const std::string input = static_cast<char>(index) + std::string(bytes);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  return decoded(decoder, coding, bytes, piece);
}

TEST(ContentDecoder, gives_back_what_was_encoded_in_every_coding_however_it_is_cut) {
  ContentDecoder decoder;
  for (const std::string_view coding : ContentDecoder::codings()) {
    for (const std::size_t size : {0u, 1u, 200u, 65'536u, 300'000u}) {
      const std::string content = text_of(size);
      const std::string bytes = coded(coding, content);
      for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1'000}, bytes.size()}) {
        EXPECT_TRUE(decoded(decoder, coding, bytes, piece) == content) << coding << " " << size << " by " << piece;
        EXPECT_TRUE(decoded(decoder, coding, bytes, piece, 13) == content) << coding << " " << size << " by " << piece;
      }
      EXPECT_TRUE(decoded(coding, bytes) == content);
    }
  }
}

TEST(ContentDecoder, refuses_a_content_that_ends_at_any_byte_before_its_end) {
  for (const std::string_view coding : ContentDecoder::codings()) {
    const std::string bytes = coded(coding, text_of(700));
    for (std::size_t size = 1; size < bytes.size(); ++size) {
      EXPECT_EQ(decoded(coding, std::string_view(bytes).substr(0, size)),
                "the " + std::string(coding) + " content ends too early")
          << size;
    }
  }
}

// Servers send "Content-Encoding: gzip" with "Content-Length: 0".
TEST(ContentDecoder, takes_no_byte_at_all_for_an_empty_content) {
  for (const std::string_view coding : ContentDecoder::codings()) EXPECT_EQ(decoded(coding, ""), "");
}

TEST(ContentDecoder, refuses_what_is_not_of_the_coding) {
  for (const std::string_view coding : ContentDecoder::codings()) {
    EXPECT_EQ(decoded(coding, "<html>not compressed at all</html>"),
              "the " + std::string(coding) + " content is broken");
    EXPECT_EQ(decoded(coding, "<html>not compressed at all</html>", 1),
              "the " + std::string(coding) + " content is broken");
  }
}

TEST(ContentDecoder, refuses_gzip_whose_checksum_or_length_is_another) {
  std::string bytes = coded("gzip", text_of(700));
  for (const std::size_t from_end : {8u, 1u}) {
    std::string other = bytes;
    other[other.size() - from_end] ^= 1;
    EXPECT_EQ(decoded("gzip", other), "the gzip content is broken");
  }
}

// RFC 1952 §2.2: members follow each other.
TEST(ContentDecoder, takes_several_members_of_gzip_for_one_content) {
  const std::string bytes = coded("gzip", "one ") + coded("gzip", "two ") + coded("gzip", "three");
  for (const std::size_t piece : {1u, 5u, 1'000u}) EXPECT_EQ(decoded("gzip", bytes, piece), "one two three");
  EXPECT_EQ(decoded("gzip", bytes + "rest"), "the gzip content is broken");
}

// RFC 8878 §3.
TEST(ContentDecoder, takes_several_frames_of_zstd_for_one_content) {
  if (ContentDecoder::coding_of("zstd").empty()) GTEST_SKIP() << "built without it";
  const std::string bytes = coded("zstd", "one ") + coded("zstd", "two ") + coded("zstd", "three");
  for (const std::size_t piece : {1u, 5u, 1'000u}) EXPECT_EQ(decoded("zstd", bytes, piece), "one two three");
  EXPECT_EQ(decoded("zstd", bytes + "rest"), "the zstd content is broken");
}

// RFC 9659: of the memory that a frame asks for, no more than 8 MiB.
TEST(ContentDecoder, refuses_zstd_that_asks_for_a_window_above_8_mib) {
  if (ContentDecoder::coding_of("zstd").empty()) GTEST_SKIP() << "built without it";
  // Magic number, a frame header without a size, and a window of 2^(10 + (descriptor >> 3)).
  const auto frame = [](int window_bits) {
    return std::string("\x28\xb5\x2f\xfd\0", 5) + static_cast<char>((window_bits - 10) << 3) +
           std::string("\x01\0\0", 3);  // The last block, raw and empty.
  };
  EXPECT_EQ(decoded("zstd", frame(23)), "");
  EXPECT_EQ(decoded("zstd", frame(24)), "the zstd content asks for a window above 8 MiB");
  EXPECT_EQ(decoded("zstd", frame(31)), "the zstd content asks for a window above 8 MiB");
}

TEST(ContentDecoder, refuses_bytes_behind_the_end_of_brotli) {
  if (ContentDecoder::coding_of("br").empty()) GTEST_SKIP() << "built without it";
  const std::string bytes = coded("br", text_of(700)) + "rest";
  for (const std::size_t piece : {std::size_t{1}, bytes.size() - 4, bytes.size()}) {
    EXPECT_EQ(decoded("br", bytes, piece), "the br content is followed by other bytes");
  }
}

TEST(ContentDecoder, writes_a_bomb_in_pieces_of_the_room_it_has) {
  for (const std::string_view coding : ContentDecoder::codings()) {
    const std::string bytes = coded(coding, std::string(64 << 20, '\0'));
    EXPECT_LT(bytes.size(), 70'000u) << coding;
    ContentDecoder decoder;
    ASSERT_TRUE(decoder.begin(coding));
    std::string_view rest = bytes;
    std::vector<char> room(4096);
    std::size_t all = 0;
    while (true) {
      const Result<std::size_t> count = decoder.decode(rest, room);
      ASSERT_TRUE(count) << coding;
      if (*count == 0) break;
      all += *count;
    }
    EXPECT_TRUE(decoder.end());
    EXPECT_EQ(all, 64u << 20);
  }
}

TEST(ContentDecoder, begins_anew_after_a_content_that_was_given_up_or_broken) {
  ContentDecoder decoder;
  for (int round = 0; round < 2; ++round) {
    for (const std::string_view coding : ContentDecoder::codings()) {
      const std::string bytes = coded(coding, text_of(3'000));
      EXPECT_EQ(decoded(decoder, coding, "not at all what it says it is, of whatever kind", 5),
                "the " + std::string(coding) + " content is broken");
      ASSERT_TRUE(decoder.begin(coding));
      std::string_view half = std::string_view(bytes).substr(0, bytes.size() / 2);
      char room[100];
      ASSERT_TRUE(decoder.decode(half, room));
      EXPECT_EQ(decoded(decoder, coding, bytes, 100), text_of(3'000));
      decoder.release();
    }
  }
}

TEST(ContentDecoder, knows_the_names_of_codings) {
  EXPECT_EQ(ContentDecoder::coding_of("GZip"), "gzip");
  EXPECT_EQ(ContentDecoder::coding_of("x-gzip"), "gzip");  // RFC 9110 §8.4.1.3.
  for (const char* name : {"", "deflate", "compress", "identity", "gzip, br", "gzi"}) {
    EXPECT_EQ(ContentDecoder::coding_of(name), "") << name;
  }
  for (const std::string_view coding : ContentDecoder::codings()) {
    EXPECT_NE(ContentDecoder::accepted().find(coding), std::string_view::npos);
  }
  EXPECT_EQ(ContentDecoder::codings().data(), ContentCoder::codings().data());
}

TEST(ContentDecoders, lend_as_many_as_are_asked_for_and_those_that_came_back_again) {
  ContentDecoders decoders;
  for (int round = 0; round < 2; ++round) {
    std::vector<ContentDecoders::Lease> leases;
    for (int i = 0; i < 20; ++i) {
      leases.push_back(decoders.lend());
      EXPECT_EQ(decoded(*leases.back(), "gzip", coded("gzip", "content"), 3), "content");
    }
  }
  ContentDecoders::Lease lease = decoders.lend();
  const ContentDecoder* const first = lease.get();
  lease.reset();
  EXPECT_EQ(decoders.lend().get(), first);
}

}  // namespace
}  // namespace keel::http::content_decoder_test
