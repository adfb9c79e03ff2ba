// keel/http/message/trailers.h — fields behind a body that is sent in chunks (RFC 9110 §6.5): its checksum, how its
// making ended.
//
//   Trailers trailers;
//   trailers.append(step.trailers);              // what a decoder has checked, cut anywhere
//   trailers.end();                              // the body is over
//   trailers.find("Content-Digest");
//
// They are no header: who reads a request or an answer asks for them by name, and what acts on a message before its
// body has come never sees them. Fields that would have to be known before then are dropped, as RFC 9110 §6.5.1 has it:
// those about framing, routing, authentication, caching, conditions, the content's form, and what proxies tell. A
// server sends them whether or not its client says TE: trailers, for they are no more than a bonus: whoever passes the
// message on may drop them.
//
// Threads: a value.  Cost: nothing without trailers; a copy of them in the worker's pool.

#pragma once

#include <optional>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"

namespace keel::http {

// Whether a field may stand behind a body; in any case.
bool may_be_trailer(std::string_view name) noexcept;

class Trailers {
 public:
  // The next part of a section that a ChunkDecoder has checked.
  void append(std::string_view part) { lines_.append(part); }
  // That was all: what may not be a trailer is dropped.
  void end() noexcept {
    if (!lines_.empty()) [[unlikely]]
      drop_forbidden();
  }

  // For sending. InvalidArgument: a name that is not a token or may not be a trailer, a value with a control character.
  // OutOfRange: more than 32, or than 8 KiB, which nobody has to take.
  Result<> add(std::string_view name, std::string_view value);

  // "Name: value\r\n" each.
  std::string_view lines() const noexcept { return lines_.view(); }
  // The value of the first field of that name (any case), or nullopt.
  std::optional<std::string_view> find(std::string_view name) const noexcept { return find(lines(), name); }
  static std::optional<std::string_view> find(std::string_view lines, std::string_view name) noexcept;

 private:
  void drop_forbidden() noexcept;
  Buffer lines_;
  unsigned added_ = 0;
};

}  // namespace keel::http
