#include "keel/http/message/negotiate.h"

#include "keel/base/ascii.h"
#include "keel/http/message/fields.h"

namespace keel::http {
namespace {

// Removes the part before the first unquoted `separator` from `rest` and stores that part in `part`; returns false if
// `rest` has no further part.
bool next_part(std::string_view& rest, char separator, std::string_view& part) noexcept {
  if (rest.data() == nullptr) return false;
  bool quoted = false;
  std::size_t at = 0;
  for (; at < rest.size(); ++at) {
    const char c = rest[at];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\' && at + 1 < rest.size()) ++at;
    if (!quoted && c == separator) break;
  }
  at = at < rest.size() ? at : rest.size();
  part = trim_blanks(rest.substr(0, at));
  rest = at == rest.size() ? std::string_view() : rest.substr(at + 1);
  return true;
}

// Parses the digits after the decimal point, at most three, as thousandths.
std::optional<int> fraction(std::string_view digits) noexcept {
  if (digits.size() > 3) return std::nullopt;
  int value = 0;
  int unit = 100;
  for (const char digit : digits) {
    if (!ascii::is_digit(digit)) return std::nullopt;
    value += (digit - '0') * unit;
    unit /= 10;
  }
  return value;
}

// Parses a qvalue as thousandths; nullopt when `text` is not a qvalue. ".2" is accepted as well, because Java has sent
// such values for years.
std::optional<int> quality(std::string_view text) noexcept {
  if (text.size() > 1 && text[0] == '.') return fraction(text.substr(1));
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  const std::optional<int> behind = text.size() > 2 ? fraction(text.substr(2)) : 0;
  if (!behind || text[0] == '0') return behind;
  return *behind == 0 ? std::optional(1000) : std::nullopt;
}

struct Element {
  std::string_view name;
  int quality = 1000;
};

// Finds the next well-formed element in a list of names with weights.
template <class IsName>
bool next_weighted(std::string_view& rest, Element& element, IsName is_name) noexcept {
  for (std::string_view text; next_part(rest, ',', text);) {
    std::string_view parameters = text;
    std::string_view parameter;
    if (!next_part(parameters, ';', element.name) || !is_name(element.name)) continue;
    std::optional<int> weight = 1000;
    while (next_part(parameters, ';', parameter)) {
      if (parameter.size() >= 2 && ascii::to_lower(parameter[0]) == 'q' && parameter[1] == '=') {
        weight = quality(parameter.substr(2));
      }
    }
    if (!weight) continue;
    element.quality = *weight;
    return true;
  }
  return false;
}

// How specific the match is: 2 for the type itself, 1 for "type/*", 0 for "*/*", -1 for no match.
int match_range(std::string_view range, std::string_view type) noexcept {
  if (equals_ignore_case(range, type)) return 2;
  if (range == "*/*" || range == "*") return 0;
  if (!range.ends_with("/*") || type.size() < range.size() - 1) return -1;
  return equals_ignore_case(range.substr(0, range.size() - 1), type.substr(0, range.size() - 1)) ? 1 : -1;
}

}  // namespace

bool is_media_range(std::string_view text) noexcept {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && is_token(text.substr(0, slash)) && is_token(text.substr(slash + 1));
}

bool is_of_media_range(std::string_view content_type, std::string_view range) noexcept {
  return match_range(range, trim_blanks(content_type.substr(0, content_type.find(';')))) >= 0;
}

std::optional<std::size_t> choose_media_type(std::string_view accept, std::span<const std::string> offered) noexcept {
  bool any = false;
  int best = 0;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < offered.size(); ++i) {
    int specific = -1;
    int weight = 0;
    Element element;
    // Java sends "*" alone where it means "*/*".
    const auto is_name = [](std::string_view text) { return text == "*" || is_media_range(text); };
    for (std::string_view rest = accept; next_weighted(rest, element, is_name);) {
      any = true;
      const int how = match_range(element.name, offered[i]);
      if (how > specific || (how == specific && how >= 0 && element.quality > weight)) {
        specific = how;
        weight = element.quality;
      }
    }
    if (weight > best) {
      best = weight;
      chosen = i;
    }
  }
  if (!any && !offered.empty()) return 0;
  return chosen;
}

std::optional<std::size_t> choose_coding(std::string_view accept_encoding,
                                         std::span<const std::string_view> offered) noexcept {
  // The weight of a coding: its own weight if it is listed, or else the weight of "*".
  const auto weight_of = [&](std::string_view coding, int otherwise) {
    int any = otherwise;
    Element element;
    for (std::string_view rest = accept_encoding; next_weighted(rest, element, is_token);) {
      if (equals_ignore_case(element.name, coding)) return element.quality;
      if (coding == "gzip" && equals_ignore_case(element.name, "x-gzip")) return element.quality;
      if (element.name == "*") any = element.quality;
    }
    return any;
  };
  int best = 0;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < offered.size(); ++i) {
    const int weight = weight_of(offered[i], 0);
    if (weight > best) {
      best = weight;
      chosen = i;
    }
  }
  // The identity coding wins only if the client gives it a higher weight than the chosen coding.
  if (chosen && weight_of("identity", 0) > best) return std::nullopt;
  return chosen;
}

}  // namespace keel::http
