#include "gen/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "keel/base/ascii.h"

namespace keel::gen {
namespace {

// The keywords of C++, and two macros: the last two words are macros in a project that does not turn CXX_EXTENSIONS
// off.
constexpr std::array<std::string_view, 99> keywords = {
    "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
    "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char16_t",
    "char32_t",    "char8_t",  "class",      "co_await",  "co_return", "co_yield",     "compl",
    "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
    "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
    "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
    "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
    "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
    "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
    "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
    "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
    "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
    "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
    "xor_eq",      "errno",    "stdin",      "stdout",    "stderr",    "assert",       "linux",
    "unix"};

bool is_keyword(std::string_view name) { return std::find(keywords.begin(), keywords.end(), name) != keywords.end(); }

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char small(char c) { return is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char capital(char c) { return is_small(c) ? static_cast<char>(c - 'a' + 'A') : c; }

// Returns the code point of the UTF-8 character at text[at], such as "u00f6", and moves `at` past the character.
std::string number_of(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  unsigned code = size == 4 ? first & 7 : size == 3 ? first & 15 : size == 2 ? first & 31 : first;
  for (std::size_t i = 1; i < size; ++i) code = code << 6 | (byte(at + i) & 63);
  at += size;
  std::string digits;
  for (int shift = 20; shift >= 0; shift -= 4) {
    if (digits.empty() && shift > 12 && code >> shift == 0) continue;
    digits += "0123456789abcdef"[code >> shift & 15];
  }
  return "u" + digits;
}

// In small letters.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool begins = true;
  const auto put = [&](char c) {
    if (begins) words.emplace_back();
    begins = false;
    words.back() += small(c);
  };
  for (std::size_t i = 0; i < name.size();) {
    const char c = name[i];
    if (static_cast<unsigned char>(c) >= 0x80) {
      begins = true;
      for (const char digit : number_of(name, i)) put(digit);
      continue;
    }
    if (!is_small(c) && !is_capital(c) && !is_digit(c)) {
      // A sign before a number is a part of the name: "+1" and "-1" are two names.
      const bool is_sign = words.empty() && (c == '+' || c == '-') && i + 1 < name.size() && is_digit(name[i + 1]);
      if (is_sign) words.emplace_back(c == '+' ? "plus" : "minus");
      begins = true;
      ++i;
      continue;
    }
    if (is_capital(c) && i != 0) {
      const char before = name[i - 1];
      const bool is_last_of_capitals = is_capital(before) && i + 1 < name.size() && is_small(name[i + 1]);
      if (is_small(before) || is_digit(before) || is_last_of_capitals) begins = true;
    }
    put(c);
    ++i;
  }
  return words;
}

}  // namespace

std::string snake_of(std::string_view name) {
  std::string made;
  for (const std::string& word : words_of(name)) made += (made.empty() ? "" : "_") + word;
  if (made.empty()) made = "value";
  if (is_digit(made[0])) made = "value_" + made;
  if (is_keyword(made)) made += '_';
  return made;
}

std::string pascal_of(std::string_view name) {
  std::string made;
  for (const std::string& word : words_of(name)) {
    // Keeps the '_' between two digits, so that "V1_2" does not become "V12".
    if (!made.empty() && is_digit(made.back()) && is_digit(word[0])) made += '_';
    made += capital(word[0]);
    made += word.substr(1);
  }
  if (made.empty()) made = "Value";
  if (is_digit(made[0])) made = "Value" + made;
  return made;
}

bool is_namespace(std::string_view names) {
  const auto is_of_name = [](char c) { return ascii::is_alphanumeric(c) || c == '_'; };
  while (true) {
    const std::size_t end = std::min(names.find("::"), names.size());
    const std::string_view name = names.substr(0, end);
    if (name.empty() || ascii::is_digit(name[0]) || !std::ranges::all_of(name, is_of_name)) return false;
    if (is_keyword(name)) return false;
    if (end == names.size()) return true;
    names.remove_prefix(end + 2);
  }
}

std::vector<std::string> distinct(std::span<const std::string_view> names, std::string (*style)(std::string_view),
                                  std::span<const std::string_view> taken) {
  std::map<std::string_view, std::string> results;
  std::map<std::string, std::vector<std::string_view>> rivals;
  for (const std::string_view name : names) {
    if (results.emplace(name, std::string()).second) rivals[style(name)].push_back(name);
  }
  std::unordered_set<std::string> used;
  for (const std::string_view name : taken) used.emplace(name);
  for (const auto& [made, group] : rivals) used.insert(made);
  for (auto& [made, group] : rivals) {
    std::sort(group.begin(), group.end(), [&wanted = made](std::string_view a, std::string_view b) {
      if ((a == wanted) != (b == wanted)) return a == wanted;
      const auto has_sign = [](std::string_view name) { return name.starts_with('-') || name.starts_with('+'); };
      return std::pair(has_sign(a), a) < std::pair(has_sign(b), b);
    });
    const bool is_taken = std::find(taken.begin(), taken.end(), std::string_view(made)) != taken.end();
    const char* const separator = style == pascal_of ? "" : made.back() == '_' ? "" : "_";
    int number = 2;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (i == 0 && !is_taken) {
        results[group[i]] = made;
        continue;
      }
      std::string candidate;
      do candidate = made + separator + std::to_string(number++);
      while (!used.insert(candidate).second);
      results[group[i]] = candidate;
    }
  }
  std::vector<std::string> made;
  made.reserve(names.size());
  for (const std::string_view name : names) made.push_back(results[name]);
  return made;
}

std::string Names::type(std::string_view suggested) {
  const std::string name = pascal_of(suggested);
  std::string candidate = name;
  for (int number = 2; !taken_.insert(candidate).second; ++number) candidate = name + std::to_string(number);
  return candidate;
}

bool Names::take(std::string_view name) { return taken_.emplace(name).second; }

}  // namespace keel::gen
