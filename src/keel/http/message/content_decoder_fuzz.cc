// Whatever comes, a content is decoded to the same bytes or is rejected, however it is cut and however small the room;
// no call writes more than its room; and what our own coder has written is decoded to what it was.
// content_decoder_test.cc runs the same function over its contents.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/check.h"
#include "keel/http/message/content_decoder.h"
#include "keel/http/middleware/content_coder.h"

namespace keel::http {
namespace {

constexpr std::size_t content_bytes_max = 256 * 1024;

// Nullopt: rejected. At most `content_bytes_max`, and the rest is left.
std::optional<std::string> decoded_in(ContentDecoder& decoder, std::string_view coding, std::string_view coded,
                                      std::size_t piece, std::size_t room_bytes) {
  KEEL_CHECK(decoder.begin(coding), "there is memory");
  std::string content;
  std::string room(room_bytes + 1, '!');
  while (!coded.empty()) {
    std::string_view next = coded.substr(0, piece);
    coded.remove_prefix(next.size());
    while (true) {
      const Result<std::size_t> bytes = decoder.decode(next, {room.data(), room_bytes});
      if (!bytes) return std::nullopt;
      KEEL_CHECK(*bytes <= room_bytes && room[room_bytes] == '!', "nothing is written behind the room");
      KEEL_CHECK(*bytes != 0 || next.empty(), "what is not decoded yet is taken");
      if (*bytes == 0) break;
      content.append(room, 0, *bytes);
      if (content.size() > content_bytes_max) return content.substr(0, content_bytes_max);
    }
  }
  if (!decoder.end()) return std::nullopt;
  return content;
}

}  // namespace
}  // namespace keel::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::http;
  if (size == 0) return 0;
  const auto codings = ContentDecoder::codings();
  const std::string_view coding = codings[data[0] % codings.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  ContentDecoder decoder;
  const std::optional<std::string> whole = decoded_in(decoder, coding, text, size, 16 * 1024);
  decoder.release();
  const std::optional<std::string> in_pieces = decoded_in(decoder, coding, text, 1 + data[0] % 7u, 61);
  KEEL_CHECK(whole == in_pieces, "the outcome does not depend on how the bytes are cut");

  ContentCoder coder;
  keel::Buffer coded;
  if (!coder.begin(coding) || !coder.write(text, coded) || !coder.end(coded)) return 0;
  const std::optional<std::string> again = decoded_in(decoder, coding, coded.view(), 1 + data[0] % 100u, 1000);
  KEEL_CHECK(again && *again == text.substr(0, content_bytes_max), "what was encoded is decoded");
  return 0;
}
