#include "keel/contract/internal/header_list.h"

#include <algorithm>
#include <span>

#include "keel/http/message/fields.h"

namespace keel::contract::internal {
namespace {

// The position after the quoted-string at the beginning of `text`; 0 if its closing quote is missing.
std::size_t end_of_quoted(std::string_view text) noexcept {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return 0;
}

struct End {
  std::size_t at;  // The position of the comma after the element, or the size of the text.
  bool is_clear;   // False if a '<' or a quote is not closed, so that appended text could move the end.
};
// The end of the element at the beginning of `text`; the element is not a quoted-string.
End end_of(std::string_view text) noexcept {
  End end{0, true};
  if (text.starts_with('<')) {
    const std::size_t close = text.find('>');
    end = {close == std::string_view::npos ? 1 : close + 1, close != std::string_view::npos};
  }
  while (end.at < text.size() && text[end.at] != ',') {
    if (text[end.at] == '=' && text.substr(end.at + 1).starts_with('"')) {
      const std::size_t size = end_of_quoted(text.substr(end.at + 1));
      end.is_clear = end.is_clear && size != 0;
      end.at += size;
    }
    ++end.at;
  }
  return end;
}

// Whether the text, if it is written without quotes, is read as exactly one element, whatever text follows it.
bool is_plain(std::string_view text) noexcept {
  if (text.empty() || text.front() == '"' || http::trim_blanks(text).size() != text.size()) return false;
  const End end = end_of(text);
  return end.is_clear && end.at == text.size();
}

void append_quoted(std::string& to, std::string_view text) {
  to += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') to += '\\';
    to += c;
  }
  to += '"';
}

}  // namespace

std::optional<HeaderElement> HeaderList::next() noexcept {
  while (const auto element = next_or_empty()) {
    if (!element->text.empty()) return element;
  }
  return std::nullopt;
}

std::optional<HeaderElement> HeaderList::next_or_empty() noexcept {
  if (is_at_end_) return std::nullopt;
  rest_ = http::trim_blanks(rest_);
  HeaderElement element;
  std::size_t end = 0;
  if (rest_.starts_with('"')) {
    const std::size_t size = end_of_quoted(rest_);
    const std::string_view after = size == 0 ? "-" : http::trim_blanks(rest_.substr(size));
    element.is_quoted = after.empty() || after.starts_with(',');
    end = rest_.size() - after.size();
  }
  if (!element.is_quoted) end = end_of(rest_).at;
  element.text = http::trim_blanks(rest_.substr(0, end));
  is_at_end_ = end == rest_.size();
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  return element;
}

std::string_view HeaderElement::value(Arena& arena) const { return is_quoted ? unquoted(text, arena) : text; }

std::string_view unquoted(std::string_view text, Arena& arena) {
  if (!text.starts_with('"') || end_of_quoted(text) != text.size()) return text;
  text = text.substr(1, text.size() - 2);
  if (text.find('\\') == std::string_view::npos) return text;
  const std::span<char> kept = arena.array<char>(text.size());
  std::size_t size = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    kept[size++] = text[i];
  }
  return {kept.data(), size};
}

void append_element(std::string& list, std::string_view text) {
  if (is_plain(text)) {
    list += text;
  } else {
    append_quoted(list, text);
  }
}

bool append_pair(std::string& list, std::string_view name, std::string_view value) {
  if (name.find_first_of("=,") != std::string_view::npos || http::trim_blanks(name).size() != name.size() ||
      name.starts_with('"') || name.starts_with('<')) {
    return false;
  }
  std::string pair = std::string(name) + '=';
  if (value.starts_with('"') || http::trim_blanks(value).size() != value.size() ||
      !is_plain(pair + std::string(value))) {
    append_quoted(pair, value);
  } else {
    pair += value;
  }
  list += pair;
  return true;
}

}  // namespace keel::contract::internal
