#include "keel/data/uri.h"

#include <cstring>

#include "keel/base/ascii.h"

namespace keel::uri {
namespace {

constexpr const char* bad_escape =
    "'%' is not followed by two hexadecimal digits, or is followed by 00, which stands "
    "for NUL";

bool is_unreserved(char c) noexcept {
  return ascii::is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

bool has_encoding(std::string_view text, Plus plus) noexcept {
  return text.find('%') != std::string_view::npos || (plus == Plus::Space && text.find('+') != std::string_view::npos);
}

// Decodes `from` into `to`, which may be the same memory; returns the end of the decoded text; null if `from` is
// invalid.
char* decode(std::string_view from, char* to, Plus plus, Nul nul = Nul::Refused) noexcept {
  for (std::size_t i = 0; i < from.size(); ++i) {
    char c = from[i];
    if (c == '%') {
      if (from.size() - i < 3) return nullptr;
      const int high = ascii::hex_value(from[i + 1]);
      const int low = ascii::hex_value(from[i + 2]);
      if (high < 0 || low < 0 || (high == 0 && low == 0 && nul == Nul::Refused)) return nullptr;
      c = static_cast<char>(high << 4 | low);
      i += 2;
    } else if (c == '+' && plus == Plus::Space) {
      c = ' ';
    }
    *to++ = c;
  }
  return to;
}

}  // namespace

Result<std::string_view> percent_decode(std::string_view text, Arena& arena, Plus plus, Nul nul) {
  if (!has_encoding(text, plus)) return text;
  auto* to = static_cast<char*>(arena.allocate(text.size(), 1));
  const char* end = decode(text, to, plus, nul);
  if (end == nullptr) return fail(Code::InvalidArgument, bad_escape);
  const auto size = static_cast<std::size_t>(end - to);
  arena.extend(to, text.size(), size);  // Returns the unused part of the memory to the arena.
  return std::string_view(to, size);
}

Result<std::size_t> percent_decode_in_place(char* text, std::size_t size, Plus plus) {
  const char* end = decode({text, size}, text, plus);
  if (end == nullptr && size != 0) return fail(Code::InvalidArgument, bad_escape);
  return static_cast<std::size_t>(end - text);
}

void percent_encode(Buffer& out, std::string_view text) {
  char* const begin = out.reserve(text.size() * 3);
  char* to = begin;
  for (const char c : text) {
    if (is_unreserved(c)) {
      *to++ = c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      *to++ = '%';
      *to++ = ascii::hex_upper[byte >> 4];
      *to++ = ascii::hex_upper[byte & 15];
    }
  }
  out.commit(static_cast<std::size_t>(to - begin));
}

std::optional<QueryPairs::Pair> QueryPairs::next() {
  while (problem_ == nullptr && !rest_.empty()) {
    const std::size_t stop = rest_.find('&');
    const std::string_view part = rest_.substr(0, stop);
    rest_.remove_prefix(stop == std::string_view::npos ? rest_.size() : stop + 1);
    if (part.empty()) continue;
    if (left_-- <= 0) {
      problem_ = "query has too many pairs";
      break;
    }
    const std::size_t equals = part.find('=');
    auto key = percent_decode(part.substr(0, equals), arena_, Plus::Space, nul_);
    auto value = percent_decode(equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1), arena_,
                                Plus::Space, nul_);
    if (!key || !value) {
      problem_ = bad_escape;
      break;
    }
    return Pair{*key, *value};
  }
  return std::nullopt;
}

Result<> QueryPairs::finish() const {
  if (problem_ != nullptr) return fail(Code::InvalidArgument, problem_);
  return {};
}

}  // namespace keel::uri
