#include "keel/contract/internal/multipart.h"

#include <algorithm>
#include <utility>

#include "keel/base/host.h"

namespace keel::contract::internal {
namespace {

void append_name(std::string& to, std::string_view text) {
  for (const char c : text) {
    if (c == '"' || c == '\\') to += '\\';
    to += c;
  }
}

void append_hex(std::string& to, std::uint64_t number) {
  for (int shift = 60; shift >= 0; shift -= 4) to += "0123456789abcdef"[(number >> shift) & 15];
}

// RFC 2046 §5.1.1: the boundary must be a line that occurs in no part.
std::string boundary_of(std::span<const SentPart> parts) {
  const auto make_random = [] {
    std::string made = "----keel-form-";
    append_hex(made, Host::current().random());
    append_hex(made, Host::current().random());
    return made;
  };
  if (std::ranges::any_of(parts, [](const SentPart& part) { return static_cast<bool>(part.writer); }))
    return make_random();
  // The text of a part may contain the first boundary that is tried. Later boundaries are random. If these were
  // predictable, a text could contain all boundaries that are tried, and each attempt would search the parts again.
  std::string tried = "----keel-form-0";
  const auto has_it = [&](const SentPart& part) { return part.text.find(tried) != std::string_view::npos; };
  while (std::ranges::any_of(parts, has_it)) tried = make_random();
  return tried;
}

}  // namespace

bool is_part_name(std::string_view name) noexcept {
  return name.find_first_of(std::string_view("\0\r\n", 3)) == std::string_view::npos;
}

Multipart::Multipart(std::vector<SentPart> parts) : boundary_(boundary_of(parts)), pieces_(1) {
  for (SentPart& part : parts) {
    std::string& text = pieces_.back().text;
    text += "--" + boundary_ + "\r\nContent-Disposition: form-data; name=\"";
    append_name(text, part.name);
    text += '"';
    if (part.filename) {
      text += "; filename=\"";
      append_name(text, *part.filename);
      text += '"';
    }
    if (!part.content_type.empty()) text.append("\r\nContent-Type: ").append(part.content_type);
    text += "\r\n\r\n";
    if (part.writer) {
      if (length_ && part.length) {
        *length_ += *part.length;
      } else {
        length_.reset();
      }
      pieces_.back().writer = std::move(part.writer);
      pieces_.emplace_back();
    } else {
      text += part.text;
    }
    pieces_.back().text += "\r\n";
  }
  pieces_.back().text += "--" + boundary_ + "--\r\n";
  for (const Piece& piece : pieces_) {
    if (length_) *length_ += piece.text.size();
  }
}

Task<> Multipart::write(const std::vector<Piece>& pieces, http::ClientBodyWriter& body) {
  for (const Piece& piece : pieces) {
    co_await body.write(piece.text);
    if (piece.writer) co_await piece.writer(body);
  }
}

http::ClientRequest::Writer Multipart::writer() && {
  // The call owns the request, which owns the returned function, so the pieces live until the call has ended.
  return [pieces = std::move(pieces_)](http::ClientBodyWriter& body) { return write(pieces, body); };
}

}  // namespace keel::contract::internal
