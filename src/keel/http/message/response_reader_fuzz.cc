// The reader of responses gives the same answers and the same verdict however their bytes are cut, and a remembered
// head means what it meant when it was parsed. response_reader_test.cc runs the same function over its vectors.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "keel/base/check.h"
#include "keel/http/message/response_reader.h"

namespace keel::http {
namespace {

struct Outcome {
  ResponseState state = ResponseState::Need;
  std::string reason;
  std::string text;  // Status, body and whether the connection continues, of every response.
  std::size_t consumed = 0;
  bool operator==(const Outcome&) const = default;
};

// Reads answers to GET until the bytes are used up, in pieces of `piece` bytes, each in memory of exactly that size.
Outcome read(std::string_view bytes, std::size_t piece, bool remembers) {
  ResponseReader reader;
  HeadCache shared;
  Outcome outcome;
  reader.begin(false);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    const std::unique_ptr<char[]> copy(new char[part.size()]);
    std::memcpy(copy.get(), part.data(), part.size());
    std::string_view rest(copy.get(), part.size());
    while (!rest.empty()) {
      HeadCache none;
      const ResponseStep step = reader.feed(rest, remembers ? shared : none);
      KEEL_CHECK(step.consumed <= rest.size(), "no more is consumed than was given");
      KEEL_CHECK(step.data.size() <= step.consumed, "data is part of what was consumed");
      outcome.consumed += step.consumed;
      outcome.state = step.state;
      outcome.reason = step.reason;
      outcome.text += step.head;
      outcome.text += step.data;
      outcome.text += step.trailers;
      rest.remove_prefix(step.consumed);
      if (step.state == ResponseState::Refused) {
        // How much of a response that is rejected was taken is nobody's business.
        outcome.consumed = 0;
        outcome.text.clear();
        return outcome;
      }
      if (step.state == ResponseState::Need) {
        KEEL_CHECK(rest.empty(), "it waits only when everything is used");
      }
      if (step.state == ResponseState::Done) {
        outcome.text += "|" + std::to_string(reader.head().status) + (reader.head().keep_alive ? "+" : "-") + "|";
        reader.begin(false);
      }
    }
  }
  // Whether the bytes so far were a piece of the body or of what surrounds it depends on the cut.
  if (outcome.state == ResponseState::Data) outcome.state = ResponseState::Need;
  const ResponseStep end = reader.finish();
  outcome.text += end.state == ResponseState::Done ? "." : "!";
  return outcome;
}

}  // namespace
}  // namespace keel::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::http;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);

  const Outcome whole = read(bytes, size, false);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, size / 2 + 1, size}) {
    KEEL_CHECK(read(bytes, piece, false) == whole, "the outcome does not depend on how the bytes are cut");
    KEEL_CHECK(read(bytes, piece, true) == whole, "a remembered head means what it meant");
  }
  return 0;
}
