// keel/http/message/trailers.h — fields after a chunked body (RFC 9110 §6.5), such as a checksum of the body, or
// whether the body is complete.
//
//   Trailers trailers;
//   trailers.append(step.trailers);              // what a decoder has checked, cut anywhere
//   trailers.end();                              // the body is over
//   trailers.find("Content-Digest");
//
// Trailers are kept apart from the fields of the head: code that needs a trailer asks for it by name, and code that
// acts on a message before its body has arrived never sees trailers. Fields that a recipient must know before the body
// are dropped from the trailers, as RFC 9110 §6.5.1 requires: fields about framing, routing, authentication, caching,
// conditions and the form of the content, and fields that proxies set. A Keel server sends trailers even if the client
// did not send "TE: trailers". A recipient must not rely on trailers, because any intermediary may drop them.
//
// Threads: a value.
// Cost:    nothing for a message without trailers; otherwise a copy of the trailers in the worker's pool.

#pragma once

#include <optional>
#include <source_location>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"

namespace keel::http {

// Whether a field with this name (letter case is ignored) may follow a body.
bool may_be_trailer(std::string_view name) noexcept;

class Trailers {
 public:
  // Adds the next part of a trailer section; a ChunkDecoder must have checked it.
  void append(std::string_view part) { lines_.append(part); }
  // Ends the trailers: drops the fields that are not allowed as trailers.
  void end() noexcept {
    if (!lines_.empty()) [[unlikely]]
      drop_forbidden();
  }

  // Adds a trailer to send. Each of the following is a bug (base/bug.h), and nothing is added: a name that is not a
  // token or may not be a trailer, a value with a control character, more than 32 trailers, or more than 8 KiB of them.
  // The limits on number and size exist because recipients need not accept more trailers.
  Result<> add(std::string_view name, std::string_view value,
               std::source_location place = std::source_location::current());

  // Returns all trailers, each as "Name: value\r\n".
  std::string_view lines() const noexcept { return lines_.view(); }
  // The value of the first trailer with that name (letter case is ignored), or nullopt.
  std::optional<std::string_view> find(std::string_view name) const noexcept { return find(lines(), name); }
  static std::optional<std::string_view> find(std::string_view lines, std::string_view name) noexcept;

 private:
  void drop_forbidden() noexcept;
  Buffer lines_;
  unsigned added_ = 0;
};

}  // namespace keel::http
