// The chunked decoder gives the same body and the same verdict however its bytes are cut, and what we encode comes
// back. chunk_test.cc runs the same function over its vectors.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "keel/base/check.h"
#include "keel/http/message/chunk.h"
#include "keel/http/message/response_reader.h"
#include "keel/http/message/trailers.h"

namespace keel::http {
namespace {

struct Outcome {
  ChunkState state = ChunkState::Need;
  Status status = Status::Ok;
  std::string reason;
  std::string body;
  std::string trailers;
  std::size_t consumed = 0;
  std::uint64_t announced = 0;

  bool operator==(const Outcome&) const = default;
};

// Feeds pieces of `piece` bytes, each in memory of exactly that size.
Outcome decode(std::string_view bytes, std::size_t piece) {
  ChunkDecoder decoder;
  Outcome outcome;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    const std::unique_ptr<char[]> copy(new char[part.size()]);
    std::memcpy(copy.get(), part.data(), part.size());
    std::string_view rest(copy.get(), part.size());
    for (;;) {
      const ChunkStep step = decoder.feed(rest);
      KEEL_CHECK(step.consumed <= rest.size(), "no more is consumed than was given");
      KEEL_CHECK(step.data.size() <= step.consumed, "data is part of what was consumed");
      KEEL_CHECK(step.trailers.empty() || (step.trailers.data() >= rest.data() &&
                                           step.trailers.data() + step.trailers.size() <= rest.data() + step.consumed),
                 "trailers are part of what was consumed");
      outcome.trailers += step.trailers;
      if (step.state == ChunkState::Refused) outcome.trailers.clear();
      outcome.consumed += step.consumed;
      outcome.announced = decoder.announced();
      outcome.state = step.state;
      outcome.status = step.status;
      outcome.reason = step.reason;
      if (step.state == ChunkState::Data) {
        KEEL_CHECK(!step.data.empty(), "a piece of data is not empty");
        outcome.body += step.data;
        KEEL_CHECK(decoder.delivered() == outcome.body.size(), "what was delivered is counted");
        rest.remove_prefix(step.consumed);
        continue;
      }
      if (step.state != ChunkState::Need) return outcome;
      KEEL_CHECK(step.consumed == rest.size(), "it waits only when everything is used");
      break;
    }
  }
  if (outcome.state == ChunkState::Data) outcome.state = ChunkState::Need;
  return outcome;
}

}  // namespace
}  // namespace keel::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::http;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);

  const Outcome whole = decode(bytes, size);
  KEEL_CHECK(whole.body.size() <= whole.announced, "no more data than announced");
  if (whole.state == ChunkState::Done) {
    KEEL_CHECK(whole.trailers.empty() || whole.trailers.ends_with("\r\n"), "trailers are whole lines");
    KEEL_CHECK(bytes.substr(0, whole.consumed).ends_with("\r\n" + whole.trailers + "\r\n"),
               "trailers stand in front of the empty line");
    Trailers trailers;
    trailers.append(whole.trailers);
    trailers.end();
    Field field;
    std::size_t fields = 0;
    for (std::string_view rest = trailers.lines(); next_field(rest, field); ++fields) {
      KEEL_CHECK(may_be_trailer(field.name), "what may not be a trailer is dropped");
    }
    KEEL_CHECK(fields == static_cast<std::size_t>(std::ranges::count(trailers.lines(), '\n')), "each line is a field");
  }
  for (std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, size / 2 + 1}) {
    KEEL_CHECK(decode(bytes, piece) == whole, "the outcome does not depend on how the bytes are cut");
  }

  std::string encoded;
  const std::size_t step = 1 + size / 3;
  for (std::size_t at = 0; at < size; at += step) {
    const std::string_view part = bytes.substr(at, step);
    char head[chunk_head_bytes_max];
    encoded.append(head, format_chunk_head(part.size(), head));
    encoded.append(part).append(chunk_end);
  }
  encoded.append(last_chunk);
  const Outcome back = decode(encoded, 5);
  KEEL_CHECK(back.state == ChunkState::Done && back.body == bytes && back.consumed == encoded.size(),
             "what is encoded is decoded");
  return 0;
}
