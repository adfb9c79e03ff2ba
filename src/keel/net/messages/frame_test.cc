#include "keel/net/messages/frame.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::messages {
namespace {

using namespace std::string_view_literals;

struct Read {
  Frame frame;
  std::string payload;
};

// What a reader gives that is fed pieces of `piece` bytes.
std::vector<Read> read_in_pieces(FrameReader& reader, std::string_view bytes, std::size_t piece) {
  std::vector<Read> all;
  while (!bytes.empty()) {
    // A copy of its own, so that a view that outlives it is found.
    const std::string part(bytes.substr(0, piece));
    bytes.remove_prefix(part.size());
    reader.feed(part);
    Frame frame;
    while (reader.next(frame)) {
      all.push_back({frame, std::string(frame.payload)});
      all.back().frame.payload = {};
    }
  }
  return all;
}

std::string frame_of(const Frame& frame, bool has_checksum = false) {
  Buffer out;
  put_frame(out, frame, has_checksum);
  return std::string(out.view());
}

TEST(Frame, is_these_bytes) {
  EXPECT_EQ(frame_of({.kind = FrameKind::Request, .type = 0x0102, .id = 0x03040506, .payload = "hi"}),
            "\x00\x00\x00\x0a\x03\x00\x01\x02\x03\x04\x05\x06hi"sv);
  EXPECT_EQ(frame_of({.kind = FrameKind::Data, .from_opener = true, .id = 1, .time_left = 1500_us}),
            "\x00\x00\x00\x0c\x08\x09\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02"sv);
  EXPECT_EQ(frame_of({.kind = FrameKind::Ping, .trace = {1, 2}}),
            "\x00\x00\x00\x18\x0c\x02\x00\x00\x00\x00\x00\x00"
            "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02"sv);
}

TEST(Frame, is_read_as_it_was_written_in_pieces_of_any_size) {
  const std::string long_payload(3000, 'x');
  const std::vector<Frame> frames = {
      {.kind = FrameKind::Message, .type = 1, .payload = "first"},
      {.kind = FrameKind::Request, .type = 65535, .id = 0xffffffff, .time_left = 70_s, .trace = {7, 9}, .payload = ""},
      {.kind = FrameKind::Data, .from_opener = true, .id = 3, .payload = long_payload},
      {.kind = FrameKind::Pong},
      {.kind = FrameKind::Response, .id = 4, .time_left = Duration(), .payload = "\0"sv}};
  for (const bool has_checksum : {false, true}) {
    std::string bytes;
    for (const Frame& frame : frames) bytes += frame_of(frame, has_checksum);
    for (const std::size_t piece : {1ul, 2ul, 3ul, 5ul, 11ul, 12ul, 13ul, 17ul, 100ul, 4096ul}) {
      FrameReader reader(1 << 20);
      const std::vector<Read> all = read_in_pieces(reader, bytes, piece);
      ASSERT_EQ(reader.problem(), nullptr) << reader.problem();
      ASSERT_EQ(all.size(), frames.size()) << piece;
      for (std::size_t i = 0; i < frames.size(); ++i) {
        EXPECT_EQ(all[i].frame.kind, frames[i].kind);
        EXPECT_EQ(all[i].frame.from_opener, frames[i].from_opener);
        EXPECT_EQ(all[i].frame.type, frames[i].type);
        EXPECT_EQ(all[i].frame.id, frames[i].id);
        EXPECT_EQ(all[i].frame.time_left, frames[i].time_left);
        EXPECT_EQ(all[i].frame.trace, frames[i].trace);
        EXPECT_EQ(all[i].payload, frames[i].payload);
      }
      EXPECT_EQ(reader.kept_bytes(), 0u);
    }
  }
}

TEST(Frame, has_a_deadline_of_whole_milliseconds_rounded_up_and_bounded) {
  const auto told = [](Duration left) {
    FrameReader reader(100);
    const std::string bytes = frame_of({.kind = FrameKind::Request, .time_left = left});
    Frame frame;
    reader.feed(bytes);
    EXPECT_TRUE(reader.next(frame));
    return *frame.time_left;
  };
  EXPECT_EQ(told(1_ns), 1_ms);
  EXPECT_EQ(told(1_ms), 1_ms);
  EXPECT_EQ(told(-5_s), Duration());
  EXPECT_EQ(told(24_h * 1000), Duration::milliseconds(UINT32_MAX));
}

TEST(FrameReader, gives_the_payload_where_it_lies) {
  const std::string bytes = frame_of({.payload = "here"}) + frame_of({.payload = "there"});
  FrameReader reader(100);
  reader.feed(bytes);
  Frame frame;

  ASSERT_TRUE(reader.next(frame));
  EXPECT_EQ(frame.payload.data(), bytes.data() + Frame::head_bytes);
  EXPECT_EQ(reader.unread_bytes(), Frame::head_bytes + 5);
  // What was not read is held elsewhere.
  const std::string moved = "xx" + bytes.substr(Frame::head_bytes + 4);
  reader.moved(moved);
  ASSERT_TRUE(reader.next(frame));
  EXPECT_EQ(frame.payload.data(), moved.data() + 2 + Frame::head_bytes);
  EXPECT_FALSE(reader.next(frame));
}

TEST(FrameReader, keeps_no_more_than_has_come) {
  FrameReader reader(1 << 30);
  reader.feed("\x3f\xff\xff\xf0\x02\x00"sv);
  Frame frame;

  EXPECT_FALSE(reader.next(frame));
  EXPECT_EQ(reader.problem(), nullptr);
  EXPECT_EQ(reader.kept_bytes(), 6u);
}

struct Garbage {
  std::string_view bytes;
  Code code;
  const char* problem;
};

TEST(FrameReader, says_what_is_no_frame_and_stays_there) {
  const Garbage all[] = {
      {"\x00\x00\x00\x07\x02\x00\x00\x00\x00\x00\x00"sv, Code::Protocol, "a frame is shorter than its head"},
      {"\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00"sv, Code::Protocol, "a frame is shorter than its head"},
      {"\xff\xff\xff\xff\x02\x00"sv, Code::OutOfRange, "a frame is longer than frame_bytes_max"},
      {"GET / HTTP/1.1\r\n\r\n"sv, Code::OutOfRange, "a frame is longer than frame_bytes_max"},
      {"\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00"sv, Code::Protocol, "a frame is of an unknown kind"},
      {"\x00\x00\x00\x08\x11\x00\x00\x00\x00\x00\x00\x00"sv, Code::Protocol, "a frame is of an unknown kind"},
      {"\x00\x00\x00\x08\x02\x10\x00\x00\x00\x00\x00\x00"sv, Code::Protocol, "a frame has an unknown flag"},
      {"\x00\x00\x00\x0b\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"sv, Code::Protocol,
       "a frame ends before its deadline field is complete"},
      {"\x00\x00\x00\x0b\x02\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"sv, Code::Protocol,
       "a frame ends before its trace field is complete"},
      {"\x00\x00\x00\x0b\x02\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00"sv, Code::Protocol,
       "a frame ends before its checksum field is complete"},
      {"\x00\x00\x00\x0c\x02\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"sv, Code::DataLoss,
       "the checksum of a frame is wrong"}};
  for (const Garbage& garbage : all) {
    for (const std::size_t piece : {1ul, 3ul, 100ul}) {
      FrameReader reader(1000);
      EXPECT_TRUE(read_in_pieces(reader, garbage.bytes, piece).empty());
      ASSERT_STREQ(reader.problem(), garbage.problem);
      EXPECT_EQ(reader.code(), garbage.code);
      EXPECT_TRUE(read_in_pieces(reader, frame_of({}), 100).empty()) << "nothing can be read after it";
    }
  }
}

TEST(FrameReader, takes_a_frame_up_to_its_bound) {
  const std::string payload(100 - Frame::head_bytes, 'x');
  FrameReader exact(100);
  EXPECT_EQ(read_in_pieces(exact, frame_of({.payload = payload}), 7).size(), 1u);
  FrameReader less(99);
  EXPECT_TRUE(read_in_pieces(less, frame_of({.payload = payload}), 7).empty());
  EXPECT_EQ(less.code(), Code::OutOfRange);
}

TEST(FrameReader, finds_every_single_damaged_bit_by_the_checksum) {
  const std::string bytes = frame_of({.kind = FrameKind::Request, .type = 3, .id = 8, .payload = "payload"}, true);
  for (std::size_t bit = 32; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    FrameReader reader(1000);
    EXPECT_EQ(read_in_pieces(reader, bytes + damaged, 100).size(), 1u) << bit;
    EXPECT_NE(reader.problem(), nullptr) << bit;
  }
}

TEST(Hello, is_read_as_it_was_written_and_may_be_longer) {
  const Hello said = {.version_min = 1,
                      .version_max = 3,
                      .wants_checksums = true,
                      .requests_max = 256,
                      .streams_max = 7,
                      .frame_bytes_max = 1 << 20,
                      .stream_bytes = 65536,
                      .heartbeat_ms = 15'000};
  Buffer out;
  put_hello(out, said);
  for (const std::string& bytes : {std::string(out.view()), std::string(out.view()) + "later"}) {
    const Result<Hello> read = parse_hello(bytes);
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_EQ(read->version_max, 3);
    EXPECT_TRUE(read->wants_checksums);
    EXPECT_EQ(read->requests_max, 256);
    EXPECT_EQ(read->streams_max, 7);
    EXPECT_EQ(read->frame_bytes_max, 1u << 20);
    EXPECT_EQ(read->stream_bytes, 65536u);
    EXPECT_EQ(read->heartbeat_ms, 15'000u);
  }
  for (std::size_t cut = 0; cut < out.size(); ++cut) {
    EXPECT_EQ(parse_hello(out.view().substr(0, cut)).error().code(), Code::Protocol) << cut;
  }
  std::string other(out.view());
  other[0] = 'k';
  EXPECT_EQ(parse_hello(other).error().code(), Code::Protocol);
  other = out.view();
  other[4] = 4;
  EXPECT_EQ(parse_hello(other).error().message(), "the hello has an invalid range of versions");
}

TEST(Hello, has_a_version_in_common_or_not) {
  const auto common = [](int a, int b, int c, int d) {
    return common_version({.version_min = static_cast<std::uint8_t>(a), .version_max = static_cast<std::uint8_t>(b)},
                          {.version_min = static_cast<std::uint8_t>(c), .version_max = static_cast<std::uint8_t>(d)});
  };
  EXPECT_EQ(*common(1, 1, 1, 3), 1);
  EXPECT_EQ(*common(1, 4, 2, 3), 3);
  EXPECT_EQ(common(1, 1, 2, 3).error().code(), Code::Unsupported);
  EXPECT_EQ(common(1, 1, 2, 3).error().message(),
            "there is no common version of Keel messages: this side speaks 1 to 1, the peer 2 to 3");
  EXPECT_FALSE(common(2, 3, 1, 1));
}

Error there_and_back(const Error& error) {
  Buffer out;
  put_error(out, error);
  return parse_error(out.view());
}

TEST(WireError, keeps_code_and_message_of_the_applications_own) {
  for (int i = 0; i < code_count; ++i) {
    const Error back = there_and_back(Error(static_cast<Code>(i), "no such device"));
    EXPECT_EQ(back.code(), static_cast<Code>(i));
    EXPECT_EQ(back.message(), "no such device");
    EXPECT_TRUE(back.is_from_environment());
  }
}

TEST(WireError, says_nothing_of_what_is_inside) {
  const Error missing = there_and_back(Error::from_errno("open", ENOENT));
  EXPECT_EQ(missing.code(), Code::Internal);
  EXPECT_EQ(missing.message(), "the peer failed to handle the request");
  EXPECT_EQ(there_and_back(Error(Code::Unavailable, "10.0.0.7 is down").from_environment()).code(), Code::Unavailable);
  EXPECT_EQ(there_and_back(Error(Code::Unavailable, "10.0.0.7 is down").from_environment()).message(),
            "the peer failed to handle the request");
  Error bug(Code::Internal, "");
  try {
    throw std::runtime_error("a secret");
  } catch (...) {
    bug = Error::from_exception();
  }
  EXPECT_EQ(there_and_back(bug).message(), "the peer failed to handle the request");
}

// Numbers stay what they are, whatever becomes of the enumeration.
TEST(WireError, has_these_numbers) {
  const std::pair<Code, int> all[] = {{Code::InvalidArgument, 0}, {Code::NotFound, 4},  {Code::ResourceExhausted, 8},
                                      {Code::Unavailable, 11},    {Code::Protocol, 12}, {Code::Internal, 16}};
  for (const auto& [code, number] : all) {
    Buffer out;
    put_error(out, Error(code, "x"));
    EXPECT_EQ(out.view().front(), number);
  }
  EXPECT_EQ(parse_error("\x11too new").code(), Code::Internal);
  EXPECT_EQ(parse_error("").code(), Code::Internal);
}

TEST(WireError, is_cut_at_a_character) {
  std::string text(1023, 'a');
  text += "é and more";
  EXPECT_EQ(there_and_back(Error::text(Code::Conflict, text)).message(), text.substr(0, 1023));
}

TEST(FrameFuzzer, holds_for_what_is_tested_here) {
  const std::string inputs[] = {"", "\x20", frame_of({.payload = "abc"}), "\x03" + frame_of({.payload = "abc"}, true),
                                "\x01" + frame_of({.kind = FrameKind::Hello}) + "\xff\xff"};
  for (const std::string& input : inputs) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
}

}  // namespace
}  // namespace keel::messages
