#include "keel/data/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace keel::base64::base64_test {
namespace {

constexpr Form forms[] = {Form::Standard, Form::StandardUnpadded, Form::Url, Form::UrlPadded};

std::string why_not(std::string_view text, Form form) {
  const Result<std::string> bytes = decode(text, form);
  if (bytes) return "it is well-formed";
  EXPECT_EQ(bytes.error().code(), Code::InvalidArgument);
  return std::string(bytes.error().message());
}

// RFC 4648 §10.
TEST(Base64, writes_and_reads_the_vectors_of_its_rfc) {
  const std::pair<std::string, std::string> vectors[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
  };
  for (const auto& [bytes, text] : vectors) {
    const std::string bare = text.substr(0, text.find('='));
    EXPECT_EQ(encode(bytes, Form::Standard), text);
    EXPECT_EQ(encode(bytes, Form::UrlPadded), text);
    EXPECT_EQ(encode(bytes, Form::StandardUnpadded), bare);
    EXPECT_EQ(encode(bytes, Form::Url), bare);
    EXPECT_EQ(decode(text, Form::Standard).value(), bytes);
    EXPECT_EQ(decode(text, Form::UrlPadded).value(), bytes);
    EXPECT_EQ(decode(bare, Form::StandardUnpadded).value(), bytes);
    EXPECT_EQ(decode(bare, Form::Url).value(), bytes);
  }
}

TEST(Base64, has_two_alphabets_that_are_not_mixed) {
  const std::string bytes = "\xfb\xff\xbf";
  EXPECT_EQ(encode(bytes, Form::Standard), "+/+/");
  EXPECT_EQ(encode(bytes, Form::Url), "-_-_");
  EXPECT_EQ(decode("+/+/", Form::Standard).value(), bytes);
  EXPECT_EQ(decode("-_-_", Form::Url).value(), bytes);
  EXPECT_EQ(why_not("-_-_", Form::Standard), "base64: byte 0 is not in the alphabet");
  EXPECT_EQ(why_not("AAAA+/+/", Form::UrlPadded), "base64: byte 4 is not in the alphabet");
}

TEST(Base64, reads_back_what_it_wrote_for_each_byte_at_each_place) {
  for (const Form form : forms) {
    for (std::size_t size = 1; size <= 8; ++size) {
      for (std::size_t at = 0; at < size; ++at) {
        for (int byte = 0; byte < 256; ++byte) {
          std::string bytes(size, '\x5a');
          bytes[at] = static_cast<char>(byte);
          const std::string text = encode(bytes, form);
          ASSERT_EQ(text.size(), encoded_size(size, form));
          ASSERT_EQ(decoded_size(text), size);
          ASSERT_EQ(decode(text, form).value(), bytes);
        }
      }
    }
  }
}

// Of all texts of up to four characters that can be made of a few, those that are accepted are those that are written.
TEST(Base64, accepts_one_text_for_each_sequence_of_bytes) {
  const std::string_view characters = "AQg/_=+-\n ";
  for (const Form form : forms) {
    for (std::size_t size = 0; size <= 4; ++size) {
      std::vector<std::size_t> digits(size, 0);
      while (true) {
        std::string text;
        for (const std::size_t digit : digits) text += characters[digit];
        const Result<std::string> bytes = decode(text, form);
        if (bytes) {
          ASSERT_EQ(encode(*bytes, form), text);
        }
        std::size_t at = 0;
        while (at < size && ++digits[at] == characters.size()) digits[at++] = 0;
        if (at == size) break;
      }
    }
  }
}

TEST(Base64, says_which_byte_is_wrong_and_why) {
  EXPECT_EQ(why_not("Zm9v!mFy", Form::Standard), "base64: byte 4 is not in the alphabet");
  EXPECT_EQ(why_not("Zm9vYm\n=", Form::Standard), "base64: byte 6 is not in the alphabet");
  EXPECT_EQ(why_not(std::string_view("Zm9\0", 4), Form::Standard), "base64: byte 3 is not in the alphabet");
  EXPECT_EQ(why_not("Zm9vYg", Form::Standard), "base64: byte 6 is missing: this form must end with padding");
  EXPECT_EQ(why_not("Zm9vYg==", Form::Url), "base64: byte 6 is padding, which is not allowed at this position");
  EXPECT_EQ(why_not("Zg==Zg==", Form::Standard), "base64: byte 2 is padding, which is not allowed at this position");
  EXPECT_EQ(why_not("====", Form::Standard), "base64: byte 0 is padding, which is not allowed at this position");
  EXPECT_EQ(why_not("Zm9vY", Form::Url),
            "base64: byte 5 is missing: the last group has one character, which holds only 6 of the 8 bits of a byte");
}

TEST(Base64, rejects_bits_beyond_the_last_byte) {
  EXPECT_EQ(why_not("Zh==", Form::Standard),
            "base64: byte 1 has bits that go beyond the last byte; these must be zero");
  EXPECT_EQ(why_not("Zm9", Form::Url), "base64: byte 2 has bits that go beyond the last byte; these must be zero");
  EXPECT_EQ(decode("Zm8", Form::Url).value(), "fo");
}

TEST(Base64, writes_into_memory_that_is_there) {
  std::byte room[3];
  EXPECT_EQ(decode("Zm9v", room, Form::Standard).value(), 3u);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(room), 3), "foo");
  EXPECT_EQ(decode("Zm9vYg==", room, Form::Standard).error().code(), Code::ResourceExhausted);

  Buffer out;
  out.append("kept:");
  EXPECT_EQ(decode("Zm9v", out, Form::Standard).value(), 3u);
  EXPECT_FALSE(decode("Zm9vYmFy!", out, Form::Standard));
  EXPECT_EQ(out.view(), "kept:foo");

  Buffer text;
  text.append("Basic ");
  encode(text, std::as_bytes(std::span("a:b", 3)), Form::Standard);
  EXPECT_EQ(text.view(), "Basic YTpi");
}

}  // namespace
}  // namespace keel::base64::base64_test
