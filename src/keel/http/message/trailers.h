// keel/http/message/trailers.h — fields after a chunked body (RFC 9110 §6.5), such as its checksum, or whether it is
// complete.
//
//   Trailers trailers;
//   trailers.append(step.trailers);              // what a decoder has checked, cut anywhere
//   trailers.end();                              // the body is over
//   trailers.find("Content-Digest");
//
// They are not part of the header: code that reads a request or a response asks for them by name, and code that acts on
// a message before its body has arrived never sees them. Fields that a recipient must know before the body are dropped,
// as RFC 9110 §6.5.1 requires: those about framing, routing, authentication, caching, conditions and the content's
// form, and those that proxies set. A server sends trailers whether or not its client sent "TE: trailers". They are
// optional: any intermediary may drop them.
//
// Threads: a value.
// Cost:    nothing without trailers; a copy of them in the worker's pool.

#pragma once

#include <optional>
#include <source_location>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"

namespace keel::http {

// Whether a field of this name, in any case, may follow a body.
bool may_be_trailer(std::string_view name) noexcept;

class Trailers {
 public:
  // The next part of a section that a ChunkDecoder has checked.
  void append(std::string_view part) { lines_.append(part); }
  // Ends the trailers: fields that may not be trailers are dropped.
  void end() noexcept {
    if (!lines_.empty()) [[unlikely]]
      drop_forbidden();
  }

  // Adds a trailer to send. A bug (base/bug.h), and nothing added: a name that is not a token or may not be a trailer,
  // a value with a control character, more than 32 trailers or more than 8 KiB, which recipients need not accept.
  Result<> add(std::string_view name, std::string_view value,
               std::source_location place = std::source_location::current());

  // Returns all trailers, each as "Name: value\r\n".
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
