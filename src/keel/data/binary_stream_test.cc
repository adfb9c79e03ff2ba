#include "keel/data/binary_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "keel/data/cbor.h"
#include "keel/data/message_pack.h"

namespace keel::binary_stream_test {
namespace {

using namespace std::string_view_literals;

// What the events of the pieces are, texts put together; or the error.
template <class Stream>
std::string events(const std::vector<std::string_view>& pieces, bool is_sequence = false) {
  using Type = typename Stream::Type;
  Stream in(is_sequence);
  std::string out;
  std::string text;
  for (const std::string_view piece : pieces) {
    const std::string copied(piece);  // Gone when the next piece comes.
    in.feed(copied);
    while (const typename Stream::Event* const event = in.next()) {
      const auto number = std::to_string(event->number);
      switch (event->type) {
        case Type::BeginObject:
          out += event->number == Stream::unknown_count ? "{_ " : "{" + number + " ";
          break;
        case Type::EndObject:
          out += "} ";
          break;
        case Type::BeginArray:
          out += event->number == Stream::unknown_count ? "[_ " : "[" + number + " ";
          break;
        case Type::EndArray:
          out += "] ";
          break;
        case Type::Key:
          out += std::string(event->text) + ": ";
          break;
        case Type::String:
        case Type::Bytes:
          text += event->text;
          if (!event->is_last) break;
          out += (event->type == Type::String ? "'" : "h'") + text + "' ";
          text.clear();
          break;
        case Type::Unsigned:
          out += number + " ";
          break;
        case Type::Negative:
          out += "-1-" + number + " ";
          break;
        case Type::Real:
          out += std::to_string(event->real).substr(0, 4) + " ";
          break;
        case Type::Boolean:
          out += event->number != 0 ? "true " : "false ";
          break;
        case Type::Null:
          out += "null ";
          break;
        case Type::Tag:
          out += "tag" + number + " ";
          break;
        case Type::Extension:
          out += "ext" + std::to_string(static_cast<std::int64_t>(event->number)) + " ";
          break;
        case Type::Simple:
          out += "simple" + number + " ";
          break;
      }
    }
    if (in.failed()) return std::string(in.error().message());
  }
  const Result<> end = in.finish();
  return end ? out : std::string(end.error().message());
}

template <class Stream>
void expect(std::string_view bytes, const std::string& expected, bool is_sequence = false) {
  EXPECT_EQ(events<Stream>({bytes}, is_sequence), expected);
  std::vector<std::string_view> single;
  for (std::size_t i = 0; i < bytes.size(); ++i) single.push_back(bytes.substr(i, 1));
  EXPECT_EQ(events<Stream>(single, is_sequence), expected) << "byte by byte";
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    EXPECT_EQ(events<Stream>({bytes.substr(0, i), {}, bytes.substr(i)}, is_sequence), expected) << "cut at " << i;
  }
}

TEST(BinaryStream, gives_events_wherever_the_bytes_are_cut) {
  expect<cbor::Stream>("\xA3\x61\x61\x01\x62\xC3\xA9\x82\x20\xF9\x3C\x00\x61\x62\x63\xE2\x82\xAC"sv,
                       "{3 a: 1 é: [2 -1-0 1.00 ] b: '€' } ");
  expect<cbor::Stream>("\xBF\x61\x61\x9F\xF5\xF6\xFF\x7F\x61\x62\x61\x63\xFF\x5F\x42\x78\x79\x40\x41\x7A\xFF\xFF"sv,
                       "{_ a: [_ true null ] bc: h'xyz' } ");
  expect<cbor::Stream>("\xC1\x1A\x51\x4B\x67\xB0"sv, "tag1 1363896240 ");
  expect<cbor::Stream>("\x84\x60\x40\x80\xE0"sv, "[4 '' h'' [0 ] simple0 ] ");
  expect<cbor::Stream>("\x01\x61\x61\xA0"sv, "1 'a' {0 } ", true);
  expect<message_pack::Stream>("\x82\xA1\x61\x93\xD1\xFF\x00\xC4\x02xy\xD6\xFF\x01\x02\x03\x04\xA1\x62\xC0"sv,
                               "{2 a: [3 -1-255 h'xy' ext-1 h'\1\2\3\4' ] b: null } ");
}

TEST(BinaryStream, tells_what_is_wrong_and_where) {
  expect<cbor::Stream>("\x82\x01\xFF"sv, "a stop code (break) where a value is expected at byte 3");
  expect<cbor::Stream>("\xBF\x61\x61\xFF"sv, "a stop code (break) where a value is expected at byte 4");
  expect<cbor::Stream>("\x9F\xC1\xFF"sv, "a stop code (break) where a value is expected at byte 3");
  expect<cbor::Stream>("\xA1\x01\x02"sv, "a key that is not a text at byte 2");
  expect<cbor::Stream>("\x7F\x41\x01"sv, "a piece of a string has a different type from the string at byte 2");
  expect<cbor::Stream>("\x01\x02"sv, "unexpected bytes after the value at byte 1");
  expect<cbor::Stream>("\x82\x01"sv, "unexpected end of the bytes at byte 2");
  expect<cbor::Stream>("\xC1"sv, "unexpected end of the bytes at byte 1");
  expect<cbor::Stream>("\x19\x01"sv, "unexpected end of the bytes at byte 2");
  expect<cbor::Stream>("\x9B\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE"sv, "unexpected end of the bytes at byte 9");
  expect<cbor::Stream>("\xBB\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE"sv,
                       "a count is larger than the bytes that follow at byte 9");
  EXPECT_EQ(events<cbor::Stream>({"\x1C"sv}), "a byte that cannot begin a value at byte 0");
  EXPECT_EQ(events<cbor::Stream>({"\xF8"sv, "\xAA"sv}), events<cbor::Stream>({"\xF8\xAA"sv}));
  EXPECT_EQ(events<cbor::Stream>({""}), "the input is empty at byte 0");
  EXPECT_EQ(events<cbor::Stream>({std::string(65, '\x81')}), "nested too deeply at byte 65");
  EXPECT_EQ(events<cbor::Stream>({"\xA1\x79\x01\x00"sv, std::string(256, 'k')}).substr(0, 22),
            "a key that is too long");
  for (const std::string_view text :
       {"\x61\xC3"sv, "\x62\xC3\x41"sv, "\x63\xED\xA0\x80"sv, "\x7F\x61\xC3\x61\xA9\xFF"sv}) {
    EXPECT_EQ(events<cbor::Stream>({text}).substr(0, 24), "a text that is not UTF-8");
    EXPECT_EQ(events<cbor::Stream>({text.substr(0, 2), text.substr(2)}).substr(0, 24), "a text that is not UTF-8");
  }
}

struct Row {
  std::int64_t id;
  std::string name;
};

TEST(BinaryStream, reads_what_is_larger_than_its_memory) {
  constexpr int rows = 20'000;
  std::vector<Row> all;
  for (int i = 0; i < rows; ++i) all.push_back({i, "a name with é in it " + std::to_string(i)});
  const std::string bytes = cbor::write(all);
  cbor::Stream in;
  std::int64_t sum = 0;
  std::size_t names = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 1000) {
    in.feed(std::string_view(bytes).substr(i, 1000));
    while (const cbor::Stream::Event* const event = in.next()) {
      if (event->type == cbor::Stream::Type::Unsigned) sum += static_cast<std::int64_t>(event->number);
      if (event->type == cbor::Stream::Type::String && event->is_last) ++names;
    }
    ASSERT_FALSE(in.failed());
  }
  EXPECT_TRUE(in.finish().is_ok());
  EXPECT_EQ(sum, std::int64_t{rows} * (rows - 1) / 2);
  EXPECT_EQ(names, std::size_t{rows});
  EXPECT_EQ(in.offset(), bytes.size());
}

}  // namespace
}  // namespace keel::binary_stream_test
