#include "gen/cpp.h"

#include <algorithm>
#include <utility>

namespace keel::gen {
namespace {

// Returns the number of bytes of a bidirectional control character at the beginning of `text`, or 0. U+061C, U+200E,
// U+200F, U+202A to U+202E and U+2066 to U+2069 change the order in which an editor shows the characters of a line
// (CVE-2021-42574).
std::size_t bidirectional_control(std::string_view text) {
  if (text.starts_with("\xD8\x9C")) return 2;
  if (text.size() < 3 || !text.starts_with("\xE2")) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const auto third = static_cast<unsigned char>(text[2]);
  const bool is_one = (second == 0x80 && (third == 0x8E || third == 0x8F || (third >= 0xAA && third <= 0xAE))) ||
                      (second == 0x81 && third >= 0xA6 && third <= 0xA9);
  return is_one ? 3 : 0;
}

std::string octal(unsigned char byte) {
  const std::string_view digits = "01234567";
  return {'\\', digits[byte >> 6], digits[byte >> 3 & 7], digits[byte & 7]};
}

// The text of a literal without the quotes, divided into pieces such as escapes, which must not be split.
std::vector<std::string> escaped(std::string_view text) {
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      pieces.push_back({'\\', c});
    } else if (c == '?' && i != 0 && text[i - 1] == '?') {
      pieces.emplace_back("\\?");  // Prevents a trigraph.
    } else if (c == '\n') {
      pieces.emplace_back("\\n");
    } else if (byte < 0x20 || byte == 0x7f) {
      pieces.push_back(octal(byte));
    } else if (const std::size_t size = bidirectional_control(text.substr(i)); size != 0) {
      std::string piece;
      for (const char one : text.substr(i, size)) piece += octal(static_cast<unsigned char>(one));
      pieces.push_back(std::move(piece));
      i += size - 1;
    } else if ((byte & 0xC0) == 0x80 && !pieces.empty()) {
      pieces.back() += c;
    } else {
      pieces.push_back({c});
    }
  }
  return pieces;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char byte) { return (byte & 0xC0) != 0x80; }));
}

}  // namespace

std::string literal(std::string_view text) {
  std::string made = "\"";
  for (const std::string& piece : escaped(text)) made += piece;
  return made + '"';
}

std::string literal_line(std::string_view before, std::string_view text, std::string_view after) {
  const std::string whole = std::string(before) + literal(text) + std::string(after);
  if (columns(whole) <= width) return whole + '\n';
  std::string lines(before);
  const std::size_t indent = columns(before);
  std::string line = "\"";
  std::size_t column = indent + 1;
  const std::vector<std::string> pieces = escaped(text);
  std::size_t begin = 0;  // The index of the first piece in the current line.
  std::size_t last_blank = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    column += columns(pieces[i]);
    const bool is_last = i + 1 == pieces.size();
    if (column + 1 + (is_last ? columns(after) : 0) <= width || last_blank <= begin) {
      if (pieces[i] == " ") last_blank = i;
      continue;
    }
    lines += '"';
    for (std::size_t k = begin; k <= last_blank; ++k) lines += pieces[k];
    lines += "\"\n" + std::string(indent, ' ');
    begin = last_blank + 1;
    last_blank = begin;
    column = indent + 1;
    for (std::size_t k = begin; k <= i; ++k) column += columns(pieces[k]);
    if (pieces[i] == " ") last_blank = i;
  }
  for (std::size_t k = begin; k < pieces.size(); ++k) line += pieces[k];
  return lines + line + '"' + std::string(after) + '\n';
}

std::string comment(std::string_view indent, std::string_view description) {
  std::vector<std::string> words;
  bool is_line_empty = true;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (std::size_t i = 0; i < description.size(); ++i) {
    const char c = description[i];
    if (const std::size_t size = bidirectional_control(description.substr(i)); size != 0) {
      i += size - 1;
    } else if (c == '\n') {
      end_word();
      if (is_line_empty && !words.empty()) break;
      is_line_empty = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || static_cast<unsigned char>(c) < 0x20) {
      end_word();
    } else {
      word += c;
      is_line_empty = false;
    }
  }
  end_word();
  constexpr std::size_t characters_max = 300;
  std::string text;
  std::string line = std::string(indent) + "//";
  std::size_t size = 0;
  for (const std::string& one : words) {
    size += columns(one) + 1;
    const bool is_cut = size > characters_max;
    const std::string next = is_cut ? "…" : one;
    if (columns(line) + 1 + columns(next) > width && columns(line) > indent.size() + 2) {
      // A backslash at the end of the line, even before blanks, would make the next line part of the comment.
      while (line.ends_with('\\') || line.ends_with(' ')) line.pop_back();
      text += line + '\n';
      line = std::string(indent) + "//";
    }
    line += ' ' + next;
    if (is_cut) break;
  }
  if (words.empty()) return {};
  while (line.ends_with('\\') || line.ends_with(' ')) line.pop_back();
  return text + line + '\n';
}

std::string call(std::string_view before, std::string_view open, std::span<const std::string> arguments,
                 std::string_view after) {
  std::string line = std::string(before) + std::string(open);
  const std::string indent(columns(line), ' ');
  std::string lines;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_last = i + 1 == arguments.size();
    const std::string one = arguments[i] + std::string(is_last ? after : ",");
    if (i != 0 && columns(line) + 1 + columns(one) > width) {
      lines += line + '\n';
      line = indent + one;
    } else {
      line += (i == 0 ? "" : " ") + one;
    }
  }
  if (arguments.empty()) line += after;
  return lines + line + '\n';
}
std::string call(std::string_view before, std::string_view open, std::initializer_list<std::string> arguments,
                 std::string_view after) {
  return call(before, open, std::span(arguments.begin(), arguments.size()), after);
}

std::string list(std::string_view indent, std::string_view before, std::span<const std::string> elements,
                 std::string_view after, bool is_always_long) {
  std::string line = std::string(indent) + std::string(before) + '{';
  for (std::size_t i = 0; i < elements.size(); ++i) line += (i == 0 ? "" : ", ") + elements[i];
  line += '}' + std::string(after);
  if (columns(line) <= width && !is_always_long) return line + '\n';
  std::string lines = std::string(indent) + std::string(before) + "{\n";
  for (const std::string& one : elements) lines += std::string(indent) + "    " + one + ",\n";
  return lines + std::string(indent) + '}' + std::string(after) + '\n';
}

std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash ^= hash >> 32;
  std::string digits;
  for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[hash >> shift & 15];
  return digits;
}

}  // namespace keel::gen
