#include "keel/http/message/chunk.h"

#include <algorithm>

#include "keel/base/ascii.h"
#include "keel/base/check.h"
#include "keel/http/message/fields.h"

namespace keel::http {
namespace {

using ascii::is_blank;

constexpr bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

}  // namespace

ChunkStep ChunkDecoder::refuse(Status status, const char* reason, std::size_t consumed) noexcept {
  at_ = At::Refused;
  return {ChunkState::Refused, status, consumed, {}, reason};
}

ChunkStep ChunkDecoder::feed(std::string_view received) noexcept {
  KEEL_CHECK(at_ != At::Refused, "feed() must not be called after the body was rejected");
  const bool was_behind_data = is_behind_data();
  const std::uint32_t trailer_bytes = line_bytes_;
  std::size_t i = 0;
  while (i < received.size()) {
    if (at_ == At::Data) {
      const std::size_t size = std::min<std::uint64_t>(left_, received.size() - i);
      left_ -= size;
      if (left_ == 0) at_ = At::DataCr;
      return {ChunkState::Data, Status::Ok, i + size, received.substr(i, size), ""};
    }
    if (at_ == At::Done) break;
    if (const char* reason = step(received[i])) [[unlikely]]
      return refuse(status_, reason, i);
    ++i;
  }
  ChunkStep step{at_ == At::Done ? ChunkState::Done : ChunkState::Need, Status::Ok, i, {}, ""};
  if (!is_behind_data()) return step;
  // The bytes of the trailers are counted in line_bytes_; they come directly before the CR and LF of the empty line.
  const std::size_t size = line_bytes_ - (was_behind_data ? trailer_bytes : 0);
  const std::size_t behind = at_ == At::Done ? 2 : at_ == At::LastLf ? 1 : 0;
  if (size != 0) step.trailers = received.substr(i - behind - size, size);
  return step;
}

const char* ChunkDecoder::step(char c) noexcept {
  switch (at_) {
    case At::Size: {
      if (const int digit = ascii::hex_value(c); digit >= 0) {
        if (digits_ == 16) return "chunk size has more than 16 digits";
        ++digits_;
        size_ = size_ << 4 | static_cast<unsigned>(digit);
        return nullptr;
      }
      if (digits_ == 0) return "chunk size is missing";
      if (c == '\r') at_ = At::SizeLf;
      else if (c == ';') at_ = At::ExtensionStart;
      else return "chunk size is not hexadecimal";
      return nullptr;
    }
    case At::SizeLf: {
      if (c != '\n') return "CR without LF";
      if (size_ == 0) {
        line_bytes_ = 0;
        at_ = At::LineStart;
        return nullptr;
      }
      if (size_ > UINT64_MAX - announced_) return "chunk sizes overflow";
      announced_ += size_;
      // Many tiny chunks with long extensions cost the reader far more work than their data is worth (CVE-2023-39326).
      // The digits, the extension and two line ends count as framing; each chunk may have 16 bytes of framing plus
      // twice the size of its data.
      const std::uint64_t framing = digits_ + line_bytes_ + 4u;
      const std::uint64_t fair = size_ > excess_bytes_max ? 2 * excess_bytes_max + 16 : 16 + 2 * size_;
      excess_ += framing;
      excess_ -= std::min(excess_, fair);
      if (excess_ > excess_bytes_max) {
        status_ = Status::ContentTooLarge;
        return "chunk framing is out of proportion to its data";
      }
      left_ = size_;
      size_ = 0;
      digits_ = 0;
      line_bytes_ = 0;
      at_ = At::Data;
      return nullptr;
    }
    case At::ExtensionStart:
    case At::ExtensionName:
    case At::ExtensionNameEnd:
    case At::ExtensionValueStart:
    case At::ExtensionValue:
    case At::Quoted:
    case At::QuotedPair:
    case At::ExtensionEnd:
    case At::ExtensionGap:
      // Syntax: *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ), but without a blank between the size
      // and ';'.
      if (c == '\r' && (at_ == At::ExtensionName || at_ == At::ExtensionValue || at_ == At::ExtensionEnd)) {
        at_ = At::SizeLf;
        return nullptr;
      }
      if (is_control(c)) return "control byte in a chunk extension";
      if (++line_bytes_ > extension_bytes_max) {
        status_ = Status::ContentTooLarge;
        return "chunk extension is too long";
      }
      switch (at_) {
        case At::ExtensionStart:
          if (is_blank(c)) return nullptr;
          if (!is_token_byte(c)) return "chunk extension has no name";
          at_ = At::ExtensionName;
          return nullptr;
        case At::ExtensionName:
        case At::ExtensionNameEnd:
          if (c == '=') at_ = At::ExtensionValueStart;
          else if (c == ';') at_ = At::ExtensionStart;
          else if (is_blank(c)) at_ = At::ExtensionNameEnd;
          else if (at_ == At::ExtensionNameEnd || !is_token_byte(c)) return "chunk extension is malformed";
          return nullptr;
        case At::ExtensionValueStart:
          if (is_blank(c)) return nullptr;
          if (c == '"') at_ = At::Quoted;
          else if (is_token_byte(c)) at_ = At::ExtensionValue;
          else return "chunk extension has no value";
          return nullptr;
        case At::ExtensionValue:
        case At::ExtensionEnd:
        case At::ExtensionGap:
          if (c == ';') at_ = At::ExtensionStart;
          else if (is_blank(c)) at_ = At::ExtensionGap;
          else if (at_ != At::ExtensionValue || !is_token_byte(c)) return "chunk extension is malformed";
          return nullptr;
        case At::Quoted:
          if (c == '"') at_ = At::ExtensionEnd;
          if (c == '\\') at_ = At::QuotedPair;
          return nullptr;
        default:
          at_ = At::Quoted;
          return nullptr;
      }
    case At::DataCr:
      if (c != '\r') return "chunk is longer than its size";
      at_ = At::DataLf;
      return nullptr;
    case At::DataLf:
      if (c != '\n') return "CR without LF";
      at_ = At::Size;
      return nullptr;
    case At::LineStart:
      if (c == '\r') {
        at_ = At::LastLf;
        return nullptr;
      }
      if (++trailers_ > trailers_max) {
        status_ = Status::RequestHeaderFieldsTooLarge;
        return "too many trailers";
      }
      if (!is_token_byte(c)) return "trailer has no name";
      at_ = At::TrailerName;
      break;
    case At::TrailerName:
      if (c == ':') at_ = At::TrailerValue;
      else if (!is_token_byte(c)) return "byte that is not allowed in a trailer name";
      break;
    case At::TrailerValue:
      if (c == '\r') at_ = At::TrailerLf;
      else if (is_control(c)) return "control byte in a trailer";
      break;
    case At::TrailerLf:
      if (c != '\n') return "CR without LF";
      at_ = At::LineStart;
      break;
    case At::LastLf:
      if (c != '\n') return "CR without LF";
      at_ = At::Done;
      return nullptr;
    case At::Data:
    case At::Done:
    case At::Refused:
      return nullptr;  // feed() does not call step() in the states Data, Done and Refused.
  }
  if (++line_bytes_ > trailer_bytes_max) {
    status_ = Status::RequestHeaderFieldsTooLarge;
    return "trailers too large";
  }
  return nullptr;
}

char* format_chunk_head(std::uint64_t size, char* out) noexcept {
  KEEL_CHECK(size != 0, "a chunk must have at least one byte, because an empty chunk ends the body");
  unsigned digits = 16 - static_cast<unsigned>(__builtin_clzll(size)) / 4;
  for (unsigned i = digits; i-- > 0; size >>= 4) out[i] = ascii::hex_lower[size & 15];
  out += digits;
  *out++ = '\r';
  *out++ = '\n';
  return out;
}

}  // namespace keel::http
