// Invariants of the multipart reader over arbitrary bytes: how they are cut changes nothing, and what is written as a
// form is read back. multipart_test.cc runs the same function over its vectors.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/check.h"
#include "keel/http/server/multipart.h"

namespace keel::http {
namespace {

struct Part {
  std::string name;
  std::optional<std::string> filename;
  std::string content_type;
  std::string body;
  bool ended = false;
  bool operator==(const Part&) const = default;
};

struct Outcome {
  std::vector<Part> parts;
  Status status = Status::Ok;
  std::string reason;
  bool whole = false;
  bool operator==(const Outcome&) const = default;
};

Outcome read(std::string_view boundary, std::string_view bytes, std::size_t piece, MultipartLimits limits) {
  Outcome outcome;
  MultipartReader reader(boundary, limits);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::string_view rest = bytes.substr(at, piece);
    // Large pieces lie in memory of exactly their size, so that a sanitizer sees a read past the end.
    std::vector<char> exact;
    if (piece > 3) {
      exact.assign(rest.begin(), rest.end());
      rest = {exact.data(), exact.size()};
    }
    for (bool more = true; more;) {
      const MultipartStep step = reader.feed(rest);
      KEEL_CHECK(step.consumed <= rest.size(), "no more is used than was given");
      rest.remove_prefix(step.consumed);
      switch (step.state) {
        case MultipartState::Part:
          KEEL_CHECK(outcome.parts.empty() || outcome.parts.back().ended, "one part after the other");
          outcome.parts.push_back(
              {std::string(reader.part().name), std::nullopt, std::string(reader.part().content_type), {}, false});
          if (reader.part().filename) outcome.parts.back().filename = *reader.part().filename;
          break;
        case MultipartState::Data:
          KEEL_CHECK(!outcome.parts.empty() && !outcome.parts.back().ended && !step.data.empty(), "data is of a part");
          outcome.parts.back().body += step.data;
          break;
        case MultipartState::PartEnd:
          KEEL_CHECK(!outcome.parts.empty() && !outcome.parts.back().ended, "a part ends once");
          outcome.parts.back().ended = true;
          break;
        case MultipartState::Refused:
          KEEL_CHECK(number(step.status) >= 400 && *step.reason != 0, "a refusal says why");
          KEEL_CHECK(!reader.finish().has_value(), "what was refused is not whole");
          outcome.status = step.status;
          outcome.reason = step.reason;
          // How much of a part that was never finished had been told depends on the cut.
          if (!outcome.parts.empty() && !outcome.parts.back().ended) outcome.parts.back().body.clear();
          return outcome;
        case MultipartState::Need:
          KEEL_CHECK(rest.empty(), "it waits only when everything is used");
          more = false;
          break;
      }
    }
  }
  outcome.whole = reader.finish().has_value();
  if (!outcome.parts.empty() && !outcome.parts.back().ended) outcome.parts.back().body.clear();
  KEEL_CHECK(outcome.parts.size() <= limits.parts_max, "no more parts than allowed");
  return outcome;
}

void check(std::string_view boundary, std::string_view bytes, MultipartLimits limits) {
  const Outcome whole = read(boundary, bytes, bytes.size() + 1, limits);
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, bytes.size() / 2 + 1}) {
    KEEL_CHECK(read(boundary, bytes, piece, limits) == whole, "the outcome does not depend on how the bytes are cut");
  }
}

}  // namespace
}  // namespace keel::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::http;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(multipart_boundary(bytes));
  check("b", bytes, MultipartLimits());
  check("b", bytes, {.parts_max = 2, .part_head_bytes_max = 64});
  // So that a fuzzer need not find the beginning.
  check("b", "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n" + std::string(bytes), MultipartLimits());
  check("b", "--b\r\nContent-Disposition: form-data" + std::string(bytes), MultipartLimits());

  // A form of three parts is read back, unless a boundary is in it.
  const std::string boundary = "0123456789abcdef";
  if (bytes.find(boundary) != std::string_view::npos) return 0;
  std::string form;
  const std::size_t third = size / 3;
  for (int i = 0; i < 3; ++i) {
    form += "--" + boundary + "\r\nContent-Disposition: form-data; name=p\r\n\r\n";
    form += bytes.substr(third * static_cast<std::size_t>(i), i == 2 ? std::string_view::npos : third);
    form += "\r\n";
  }
  form += "--" + boundary + "--\r\n";
  const Outcome back = read(boundary, form, 5, MultipartLimits());
  KEEL_CHECK(back.whole && back.parts.size() == 3, "a form that was written is whole");
  std::string joined;
  for (const Part& part : back.parts) joined += part.body;
  KEEL_CHECK(joined == bytes, "what is written is read back");
  return 0;
}
