// Frames from whatever bytes: the same however they are cut, whole, and written again as they were.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/check.h"
#include "keel/net/messages/frame.h"

namespace {

using namespace keel::messages;

struct Seen {
  std::vector<std::string> frames;  // Written again.
  std::string problem;
};

Seen read(std::string_view bytes, std::size_t piece, std::size_t bytes_max) {
  Seen seen;
  FrameReader reader(bytes_max);
  while (!bytes.empty()) {
    const std::string part(bytes.substr(0, piece));
    bytes.remove_prefix(part.size());
    reader.feed(part);
    Frame frame;
    while (reader.next(frame)) {
      KEEL_CHECK(frame.payload.size() + Frame::head_bytes <= bytes_max, "a frame is bounded");
      keel::Buffer out;
      put_frame(out, frame);
      seen.frames.emplace_back(out.view());
      if (frame.kind == FrameKind::Hello) static_cast<void>(parse_hello(frame.payload));
      if (frame.kind == FrameKind::Failure) static_cast<void>(parse_error(frame.payload));
    }
    KEEL_CHECK(reader.kept_bytes() <= bytes_max, "what is kept is bounded");
    if (reader.problem() != nullptr) {
      seen.problem = reader.problem();
      break;
    }
    KEEL_CHECK(reader.unread_bytes() == 0, "everything is read or kept");
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] % 64 + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Seen whole = read(bytes, bytes.size() + 1, 4096);
  const Seen pieces = read(bytes, piece, 4096);
  KEEL_CHECK(whole.frames == pieces.frames && whole.problem == pieces.problem, "it is the same however it is cut");

  std::string again;
  for (const std::string& frame : whole.frames) again += frame;
  const Seen second = read(again, piece, 8192);
  KEEL_CHECK(second.problem.empty() && second.frames == whole.frames, "what is written is what was read");
  static_cast<void>(parse_hello(bytes));
  static_cast<void>(parse_error(bytes));
  return 0;
}
