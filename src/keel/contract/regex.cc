#include "keel/contract/regex.h"

#include <array>
#include <cstdint>
#include <utility>

#include "keel/base/ascii.h"

namespace keel::contract {
namespace {

constexpr std::string_view spaces =
    "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
constexpr std::string_view no_spaces =
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{"
    "202e}"
    "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
constexpr std::string_view syntax_characters = "^$\\.*+?()[]{}|/";

// Unicode's general categories, by their long names (PropertyValueAliases).
constexpr std::array<std::pair<std::string_view, std::string_view>, 36> categories = {{
    {"Close_Punctuation", "Pe"},
    {"Connector_Punctuation", "Pc"},
    {"Control", "Cc"},
    {"Currency_Symbol", "Sc"},
    {"Dash_Punctuation", "Pd"},
    {"Decimal_Number", "Nd"},
    {"Enclosing_Mark", "Me"},
    {"Final_Punctuation", "Pf"},
    {"Format", "Cf"},
    {"Initial_Punctuation", "Pi"},
    {"Letter", "L"},
    {"Letter_Number", "Nl"},
    {"Line_Separator", "Zl"},
    {"Lowercase_Letter", "Ll"},
    {"Mark", "M"},
    {"Math_Symbol", "Sm"},
    {"Modifier_Letter", "Lm"},
    {"Modifier_Symbol", "Sk"},
    {"Nonspacing_Mark", "Mn"},
    {"Number", "N"},
    {"Open_Punctuation", "Ps"},
    {"Other", "C"},
    {"Other_Letter", "Lo"},
    {"Other_Number", "No"},
    {"Other_Punctuation", "Po"},
    {"Other_Symbol", "So"},
    {"Paragraph_Separator", "Zp"},
    {"Private_Use", "Co"},
    {"Punctuation", "P"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Spacing_Mark", "Mc"},
    {"Symbol", "S"},
    {"Titlecase_Letter", "Lt"},
    {"Uppercase_Letter", "Lu"},
    {"digit", "Nd"},
}};

// Reads a pattern and appends its form for RE2 to `out`; without `out`, it only checks the pattern.
class Parser {
 public:
  Parser(std::string_view text, std::string* out) noexcept : text_(text), out_(out) {}

  bool is_ecma() const noexcept { return is_ecma_; }
  bool has_look_around() const noexcept { return has_look_around_; }

  void parse() {
    std::size_t open = 0;
    bool may_repeat = false;
    while (at_ < text_.size() && !is_decided()) {
      const char c = text_[at_];
      switch (c) {
        case '^':
        case '$':
        case '|':
          take();
          may_repeat = false;
          break;
        case '(':
          group();
          ++open;
          may_repeat = false;
          break;
        case ')':
          take();
          if (open == 0) is_ecma_ = false;
          open -= open == 0 ? 0 : 1;
          may_repeat = true;
          break;
        case '*':
        case '+':
        case '?':
          repeat(may_repeat, 1);
          may_repeat = false;
          break;
        case '{': {
          const std::size_t size = count_size();
          if (size == 0) is_ecma_ = false;  // Other dialects, such as RE2, take a lone brace literally.
          repeat(may_repeat || size == 0, size == 0 ? 1 : size);
          may_repeat = false;
          break;
        }
        case '[':
          set();
          may_repeat = true;
          break;
        case ']':
        case '}':
          is_ecma_ = false;
          take();
          may_repeat = true;
          break;
        case '.':
          ++at_;
          put("[^\\n\\r\\x{2028}\\x{2029}]");
          may_repeat = true;
          break;
        case '\\': {
          const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
          may_repeat = next != 'b' && next != 'B';
          escape(false);
          break;
        }
        default:
          take();
          may_repeat = true;
      }
    }
    if (open != 0) is_ecma_ = false;
  }

 private:
  // True if the text is only being checked and a mistake has been found, so that the check can stop. The check must
  // stop after a mistake: otherwise each later construct could cause another search to the end of the text, and the
  // time would be quadratic.
  bool is_decided() const noexcept { return out_ == nullptr && !is_ecma_; }
  void put(std::string_view text) {
    if (out_ != nullptr) out_->append(text);
  }
  void take(std::size_t count = 1) {
    put(text_.substr(at_, count));
    at_ += count;
  }
  bool follows(std::string_view text) const noexcept { return text_.substr(at_).starts_with(text); }

  void put_point(std::uint32_t point) {
    char digits[8];
    std::size_t size = 0;
    do {
      digits[sizeof digits - ++size] = ascii::hex_lower[point & 15];
      point >>= 4;
    } while (point != 0);
    put("\\x{");
    put({digits + sizeof digits - size, size});
    put("}");
  }

  void group() {
    for (const std::string_view sign : {"(?=", "(?!", "(?<=", "(?<!"}) {
      if (!follows(sign)) continue;
      has_look_around_ = true;
      return take(sign.size());
    }
    if (follows("(?:")) return take(3);
    if (follows("(?<")) {
      const std::size_t end = text_.find('>', at_);
      const std::string_view name = text_.substr(at_ + 3, end == text_.npos ? 0 : end - at_ - 3);
      bool is_name = !name.empty() && !ascii::is_digit(name.front());
      for (const char c : name) {
        is_name =
            is_name && (ascii::is_alphanumeric(c) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80);
      }
      if (!is_name) {
        is_ecma_ = false;
        return take(3);
      }
      put("(");
      at_ = end + 1;
      return;
    }
    if (follows("(?")) is_ecma_ = false;  // ECMA-262 has no other kinds of groups, but RE2 has some.
    take();
  }

  void repeat(bool may_repeat, std::size_t size) {
    if (!may_repeat) is_ecma_ = false;
    take(size);
    if (at_ < text_.size() && text_[at_] == '?') take();
  }

  // The size of a count such as "{2}", "{2,}" or "{2,3}" at the current position; 0 if there is none.
  std::size_t count_size() const noexcept {
    std::size_t at = at_ + 1;
    const auto digits = [&] {
      std::uint64_t number = 0;
      const std::size_t first = at;
      for (; at < text_.size() && ascii::is_digit(text_[at]); ++at) {
        if (number < UINT32_MAX) number = number * 10 + static_cast<std::uint64_t>(text_[at] - '0');
      }
      return std::pair(number, at != first);
    };
    const auto [least, has_least] = digits();
    if (!has_least) return 0;
    if (at < text_.size() && text_[at] == ',') {
      ++at;
      const auto [most, has_most] = digits();
      if (has_most && most < least) return 0;
    }
    return at < text_.size() && text_[at] == '}' ? at + 1 - at_ : 0;
  }

  void set() {
    if (follows("[^]")) {
      at_ += 3;
      return put("[\\x{0}-\\x{10ffff}]");
    }
    if (follows("[]")) {
      at_ += 2;
      return put("[^\\x{0}-\\x{10ffff}]");
    }
    take();
    if (at_ < text_.size() && text_[at_] == '^') take();
    while (at_ < text_.size() && text_[at_] != ']' && !is_decided()) {
      if (text_[at_] == '\\') {
        escape(true);
      } else if (text_[at_] == '[') {
        put("\\");  // "[:" begins a character class in RE2, but not in ECMA-262.
        take();
      } else {
        take();
      }
    }
    if (at_ == text_.size()) {
      is_ecma_ = false;
      return;
    }
    take();
  }

  std::uint32_t hex(std::size_t from, std::size_t count, bool& is_good) const noexcept {
    std::uint32_t number = 0;
    is_good = from + count <= text_.size() && count != 0 && count <= 6;
    for (std::size_t i = 0; is_good && i < count; ++i) {
      const int digit = ascii::hex_value(text_[from + i]);
      is_good = digit >= 0;
      number = number * 16 + static_cast<std::uint32_t>(digit < 0 ? 0 : digit);
    }
    return number;
  }

  // An escape that ECMA-262 does not have is passed unchanged to RE2, which may support it.
  void strange() {
    is_ecma_ = false;
    take(at_ + 1 < text_.size() ? 2 : 1);
  }

  void escape(bool is_in_set) {
    if (at_ + 1 == text_.size()) return strange();
    const char c = text_[at_ + 1];
    bool is_good = false;
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W':
      case 'f':
      case 'n':
      case 'r':
      case 't':
      case 'v':
        return take(2);
      case 's':
      case 'S':
        at_ += 2;
        if (!is_in_set) put("[");
        put(c == 's' ? spaces : no_spaces);
        if (!is_in_set) put("]");
        return;
      case 'b':
        if (!is_in_set) return take(2);
        at_ += 2;
        return put_point(8);
      case 'B':
        return is_in_set ? strange() : take(2);
      case '0':
        if (at_ + 2 < text_.size() && ascii::is_digit(text_[at_ + 2])) return strange();
        at_ += 2;
        return put_point(0);
      case 'c': {
        const char letter = at_ + 2 < text_.size() ? text_[at_ + 2] : '\0';
        if (!ascii::is_letter(letter)) return strange();
        at_ += 3;
        return put_point(static_cast<std::uint32_t>(letter) & 31);
      }
      case 'x': {
        const std::uint32_t point = hex(at_ + 2, 2, is_good);
        if (!is_good) return strange();
        at_ += 4;
        return put_point(point);
      }
      case 'u':
        return unicode();
      case 'p':
      case 'P':
        return property();
      case 'k': {
        const std::size_t end = text_.find('>', at_);
        if (is_in_set || end == text_.npos || at_ + 2 >= text_.size() || text_[at_ + 2] != '<') return strange();
        return take(end + 1 - at_);
      }
      case '/':
        at_ += 2;
        return put("/");
      case '-':
        if (!is_in_set) return strange();
        return take(2);
      default:
        if (c >= '1' && c <= '9' && !is_in_set) return take(2);
        if (syntax_characters.find(c) != syntax_characters.npos) return take(2);
        strange();
    }
  }

  void unicode() {
    bool is_good = false;
    if (at_ + 2 < text_.size() && text_[at_ + 2] == '{') {
      const std::size_t end = text_.find('}', at_);
      const std::uint32_t point = hex(at_ + 3, end == text_.npos ? 0 : end - at_ - 3, is_good);
      if (!is_good || point > 0x10FFFF) return strange();
      at_ = end + 1;
      return put_point(point);
    }
    std::uint32_t point = hex(at_ + 2, 4, is_good);
    if (!is_good) return strange();
    at_ += 6;
    if (point >= 0xD800 && point < 0xDC00 && follows("\\u")) {
      const std::uint32_t low = hex(at_ + 2, 4, is_good);
      if (is_good && low >= 0xDC00 && low < 0xE000) {
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        at_ += 6;
      }
    }
    put_point(point);
  }

  void property() {
    const std::size_t end = text_.find('}', at_);
    if (at_ + 2 >= text_.size() || text_[at_ + 2] != '{' || end == text_.npos) return strange();
    std::string_view name = text_.substr(at_ + 3, end - at_ - 3);
    const bool is_negative = text_[at_ + 1] == 'P';
    at_ = end + 1;
    if (name.empty()) is_ecma_ = false;
    for (const char c : name) {
      if (!ascii::is_alphanumeric(c) && c != '_' && c != '=') is_ecma_ = false;
    }
    if (const std::size_t sign = name.find('='); sign != name.npos) name.remove_prefix(sign + 1);
    for (const auto& [long_name, short_name] : categories) {
      if (name == long_name) {
        name = short_name;
        break;
      }
    }
    put(is_negative ? "\\P{" : "\\p{");
    put(name);
    put("}");
  }

  std::string_view text_;
  std::string* out_;
  std::size_t at_ = 0;
  bool is_ecma_ = true;
  bool has_look_around_ = false;
};

}  // namespace

Regex::Regex(std::string_view pattern) {
  Parser parser(pattern, &re2);
  parser.parse();
  is_ecma = parser.is_ecma();
  has_look_around = parser.has_look_around();
}

bool is_regex(std::string_view text) noexcept {
  Parser parser(text, nullptr);
  parser.parse();
  return parser.is_ecma();
}

}  // namespace keel::contract
