// Writes multipart/form-data (RFC 7578), with parts that are in memory and parts that are written while they are sent.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keel/http/client/client_request.h"

namespace keel::contract::internal {

struct SentPart {
  std::string_view name;
  std::string_view text;                          // The content of the part, unless `writer` is set.
  std::optional<std::string_view> filename = {};  // Of a file.
  std::string_view content_type = {};             // "": the part has no Content-Type.
  http::ClientRequest::Writer writer = {};
  std::optional<std::uint64_t> length = std::nullopt;  // The number of bytes that the writer writes.
};

// True if this name of a part or of its file can be written: a name must not contain a line end or U+0000.
bool is_part_name(std::string_view name) noexcept;

class Multipart {
 public:
  // A boundary that no part contains. The boundary is random if a part has a writer, because otherwise somebody could
  // put the boundary into a file; it is also random if a part contains the usual boundary.
  explicit Multipart(std::vector<SentPart> parts);

  const std::string& boundary() const noexcept { return boundary_; }
  bool is_streamed() const noexcept { return pieces_.size() > 1; }
  // The whole body; only valid if the body is not streamed.
  std::string_view text() const noexcept { return pieces_.front().text; }
  // The length of the body, if it is known.
  std::optional<std::uint64_t> length() const noexcept { return length_; }
  http::ClientRequest::Writer writer() &&;

 private:
  struct Piece {
    std::string text;                    // Sent first.
    http::ClientRequest::Writer writer;  // May be empty.
  };
  static Task<> write(const std::vector<Piece>& pieces, http::ClientBodyWriter& body);

  std::string boundary_;
  std::vector<Piece> pieces_;
  std::optional<std::uint64_t> length_ = 0;
};

}  // namespace keel::contract::internal
