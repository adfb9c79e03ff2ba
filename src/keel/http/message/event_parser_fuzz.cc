// However a stream is cut into chunks, its events are the same. event_parser_test.cc runs the same function over its
// table.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/check.h"
#include "keel/http/message/event_parser.h"

namespace {

using namespace keel;

// Everything that a client can see of a stream: its events, and how it stands at the end.
std::vector<std::string> read(std::string_view stream, std::size_t chunk_bytes) {
  http::EventParser parser(64);
  std::vector<std::string> seen;
  while (!stream.empty()) {
    std::string chunk(stream.substr(0, chunk_bytes));  // Of its own, so that no byte beyond it can be read unnoticed.
    stream.remove_prefix(chunk.size());
    std::string_view rest = chunk;
    while (true) {
      const std::size_t before = rest.size();
      const Result<std::optional<http::ServerEvent>> event = parser.next(rest);
      if (!event) {
        seen.emplace_back("too long");
        return seen;
      }
      if (!*event) {
        KEEL_CHECK(rest.empty(), "without an event all bytes are taken");
        break;
      }
      KEEL_CHECK(rest.size() < before, "an event has taken bytes");
      seen.push_back(std::string((*event)->type) + '\1' + std::string((*event)->id) + '\1' +
                     std::string((*event)->data));
    }
  }
  const Duration retry = parser.retry().value_or(Duration());
  KEEL_CHECK(retry >= Duration() && retry <= 24_h, "a server does not choose a time beyond a day");
  seen.push_back(std::string(parser.last_id()) + '\1' + std::to_string(retry.count_ms()));
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view stream(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> whole = read(stream, size == 0 ? 1 : size);
  KEEL_CHECK(read(stream, 1) == whole, "byte by byte the events are the same");
  KEEL_CHECK(read(stream, 7) == whole, "seven bytes at a time the events are the same");
  return 0;
}
