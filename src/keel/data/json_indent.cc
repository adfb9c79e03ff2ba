#include "keel/data/json_indent.h"

#include <algorithm>
#include <cstddef>

namespace keel::json {
namespace {

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Returns the end of the string that begins at `at`; the end of the text if the string is not closed.
std::size_t end_of_string(std::string_view text, std::size_t at) noexcept {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

void begin_line(Buffer& out, std::size_t depth) {
  out.push_back('\n');
  for (; depth > 0; --depth) out.append("  ");
}

}  // namespace

void indent(Buffer& out, std::string_view text) {
  std::size_t depth = 0;
  bool is_first = false;  // True directly after an opening bracket: an object or array that ends now is empty.
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t token = at++;
    if (is_blank(c)) continue;
    const bool is_end = c == '}' || c == ']';
    if (is_end && depth > 0) --depth;
    if (is_first != is_end) begin_line(out, depth);
    is_first = c == '{' || c == '[';
    if (is_first) ++depth;
    if (c == '"') at = end_of_string(text, token);
    out.append(text.substr(token, at - token));
    if (c == ',') begin_line(out, depth);
    if (c == ':') out.push_back(' ');
  }
}

}  // namespace keel::json
