#include "keel/db/postgres/internal/array_text.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

#include "keel/base/ascii.h"
#include "keel/db/postgres/internal/wire.h"

namespace keel::db::postgres {
namespace {

constexpr int dimensions_max = 6;  // MAXDIM
constexpr std::string_view array_spaces = " \t\n\r\v\f";
constexpr std::string_view quoted_characters = "\"\\{}, \t\n\r\v\f";

bool is_null_word(std::string_view text) {
  constexpr std::string_view word = "null";
  if (text.size() != word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (ascii::to_lower(text[i]) != word[i]) return false;
  }
  return true;
}

void append_number(Buffer& to, std::int64_t value) {
  char text[24];
  to.append({text, static_cast<std::size_t>(std::to_chars(text, text + sizeof text, value).ptr - text)});
}

// Puts the bytes that were appended after `start` in quotes, if they need quotes as an element of an array.
void quote_from(std::size_t start, Buffer& to) {
  const std::string_view text = to.view().substr(start);
  if (!text.empty() && !is_null_word(text) && text.find_first_of(quoted_characters) == std::string_view::npos) return;
  std::size_t escapes = 0;
  for (const char c : text) escapes += c == '"' || c == '\\';
  const std::size_t size = text.size();
  to.reserve(escapes + 2);
  to.commit(escapes + 2);
  // Moves the bytes in place, from the end to the beginning.
  char* const first = to.data() + start;
  char* write = to.data() + to.size();
  *--write = '"';
  for (std::size_t i = size; i-- > 0;) {
    const char c = first[i];
    *--write = c;
    if (c == '"' || c == '\\') *--write = '\\';
  }
  *--write = '"';
}

struct Dimension {
  std::int32_t size = 0;
  std::int32_t lower = 1;
};

// Converts the text of an array to its binary form, level by level.
class ArrayText {
 public:
  ArrayText(Oid element, std::string_view text, Buffer& to) : element_(element), rest_(text), to_(to) {}

  bool read() {
    if (!read_bounds()) return false;
    // Determines the number of dimensions from the opening braces; ragged arrays are detected later.
    std::size_t at = 0;
    while (at < rest_.size() && rest_[at] == '{') ++at;
    if (at == 0 || at > dimensions_max || (bounds_ != 0 && static_cast<int>(at) != bounds_)) return false;
    depth_ = static_cast<int>(at);
    if (rest_ == "{}") {
      if (bounds_ != 0) return false;
      depth_ = 0;
      put_head(to_.size());
      return true;
    }
    const std::size_t head = to_.size();
    put_head(head);
    if (!read_level(0) || !rest_.empty()) return false;
    for (int i = 0; i < bounds_; ++i) {
      if (dimensions_[i].size != wanted_[i]) return false;
    }
    patch_head(head);
    return true;
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_number(std::int32_t& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  // "[0:2][1:1]="
  bool read_bounds() {
    while (take('[')) {
      std::int32_t lower = 0;
      std::int32_t upper = 0;
      if (bounds_ == dimensions_max || !take_number(lower) || !take(':') || !take_number(upper) || !take(']')) {
        return false;
      }
      const std::int64_t size = std::int64_t{upper} - lower + 1;
      if (size < 1 || size > std::numeric_limits<std::int32_t>::max()) return false;
      dimensions_[bounds_].lower = lower;
      wanted_[bounds_++] = static_cast<std::int32_t>(size);
    }
    return bounds_ == 0 || take('=');
  }

  void put_head(std::size_t head) {
    const std::size_t size = 12 + 8 * static_cast<std::size_t>(depth_);
    to_.reserve(size);
    to_.commit(size);
    patch_head(head);
  }
  void patch_head(std::size_t head) {
    char* at = wire::store(to_.data() + head, std::int32_t{depth_});
    at = wire::store(at, std::int32_t{has_null_ ? 1 : 0});
    at = wire::store(at, element_);
    for (int i = 0; i < depth_; ++i) {
      at = wire::store(at, dimensions_[i].size);
      at = wire::store(at, dimensions_[i].lower);
    }
  }

  // The server's arrays have at most six dimensions, so the recursion is bounded.
  bool read_level(int level) {
    if (!take('{')) return false;
    std::int32_t count = 0;
    do {
      if (level + 1 < depth_ ? !read_level(level + 1) : !read_element()) return false;
      ++count;
    } while (take(','));
    if (!take('}')) return false;
    Dimension& dimension = dimensions_[level];
    if (dimension.size == 0) dimension.size = count;
    return dimension.size == count;
  }

  bool read_element() {
    bool is_null = false;
    std::string_view text;
    if (take('"')) {
      unescaped_.clear();
      while (true) {
        if (rest_.empty()) return false;
        char c = rest_[0];
        rest_.remove_prefix(1);
        if (c == '"') break;
        if (c == '\\') {
          if (rest_.empty()) return false;
          c = rest_[0];
          rest_.remove_prefix(1);
        }
        unescaped_.push_back(c);
      }
      text = unescaped_.view();
    } else {
      const std::size_t end = rest_.find_first_of("\"\\{},");
      if (end == std::string_view::npos || (rest_[end] != ',' && rest_[end] != '}')) return false;
      text = rest_.substr(0, end);
      rest_.remove_prefix(end);
      if (text.empty() || array_spaces.find(text.front()) != std::string_view::npos ||
          array_spaces.find(text.back()) != std::string_view::npos) {
        return false;
      }
      is_null = is_null_word(text);
    }
    const std::size_t size_at = to_.size();
    wire::append(to_, std::int32_t{-1});
    if (is_null) {
      has_null_ = true;
      return true;
    }
    if (!append_element(text)) return false;
    const std::size_t size = to_.size() - size_at - 4;
    if (size > 0x3fff'ffff) return false;
    wire::store(to_.data() + size_at, static_cast<std::int32_t>(size));
    return true;
  }

  bool append_element(std::string_view text) {
    if (element_ != oid::bytea) return append_element_bytes(element_, text, to_);
    if (!text.starts_with("\\x") || text.size() % 2 != 0) return false;
    for (std::size_t i = 2; i < text.size(); i += 2) {
      unsigned byte = 0;
      const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
      if (error != std::errc() || end != text.data() + i + 2) return false;
      to_.push_back(static_cast<char>(byte));
    }
    return true;
  }

  const Oid element_;
  std::string_view rest_;
  Buffer& to_;
  int depth_ = 0;
  int bounds_ = 0;
  bool has_null_ = false;
  std::array<Dimension, dimensions_max> dimensions_;
  std::array<std::int32_t, dimensions_max> wanted_{};
  Buffer unescaped_;
};

void append_hex(std::string_view bytes, Buffer& to) {
  constexpr std::string_view digits = "0123456789abcdef";
  to.append("\\x");
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    to.push_back(digits[byte >> 4]);
    to.push_back(digits[byte & 15]);
  }
}

}  // namespace

bool append_array_text(Oid element, std::string_view bytes, std::size_t bytes_max, Buffer& to) {
  wire::Cursor cursor(bytes);
  const auto depth = cursor.take<std::int32_t>();
  const auto has_null = cursor.take<std::int32_t>();
  const auto type = cursor.take<Oid>();
  if (cursor.is_broken() || depth < 0 || depth > dimensions_max || has_null < 0 || has_null > 1 || type != element) {
    return false;
  }
  if (depth == 0) {
    to.append("{}");
    return cursor.is_whole();
  }
  std::array<Dimension, dimensions_max> dimensions;
  std::size_t elements = 1;
  bool has_bounds = false;
  for (int i = 0; i < depth; ++i) {
    Dimension& dimension = dimensions[static_cast<std::size_t>(i)];
    dimension.size = cursor.take<std::int32_t>();
    dimension.lower = cursor.take<std::int32_t>();
    // Each element takes at least the four bytes of its length field, so the size of the bytes bounds the number of
    // elements.
    if (cursor.is_broken() || dimension.size < 1 ||
        __builtin_mul_overflow(elements, static_cast<std::size_t>(dimension.size), &elements) ||
        elements > bytes.size() / 4) {
      return false;
    }
    has_bounds = has_bounds || dimension.lower != 1;
  }
  const std::size_t text_start = to.size();
  if (has_bounds) {
    for (int i = 0; i < depth; ++i) {
      const Dimension& dimension = dimensions[static_cast<std::size_t>(i)];
      to.push_back('[');
      append_number(to, dimension.lower);
      to.push_back(':');
      append_number(to, std::int64_t{dimension.lower} + dimension.size - 1);
      to.push_back(']');
    }
    to.push_back('=');
  }
  std::array<std::int32_t, dimensions_max> done{};
  int open = 0;  // The number of open levels.
  while (true) {
    for (; open < depth; ++open) to.push_back('{');
    const auto size = cursor.take<std::int32_t>();
    if (size == -1) {
      to.append("NULL");
    } else {
      if (size < 0) return false;
      const std::string_view value = cursor.take_bytes(static_cast<std::size_t>(size));
      const std::size_t start = to.size();
      if (cursor.is_broken()) return false;
      if (element == oid::bytea) {
        append_hex(value, to);
      } else if (!append_element_text(element, value, to)) {
        return false;
      }
      quote_from(start, to);
    }
    if (cursor.is_broken() || to.size() - text_start > bytes_max) return false;
    while (open > 0) {
      std::int32_t& count = done[static_cast<std::size_t>(open - 1)];
      if (++count < dimensions[static_cast<std::size_t>(open - 1)].size) break;
      count = 0;
      to.push_back('}');
      --open;
    }
    if (open == 0) return cursor.is_whole();
    to.push_back(',');
  }
}

bool append_array_bytes(Oid element, std::string_view text, Buffer& to) { return ArrayText(element, text, to).read(); }

}  // namespace keel::db::postgres
