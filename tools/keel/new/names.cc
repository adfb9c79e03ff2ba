#include "new/names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace keel::create {
namespace {

// Names that a service must not have: C++ keywords, names that the template uses for other things, and CMake's own
// targets.
constexpr std::string_view taken[] = {"alignas",
                                      "alignof",
                                      "all",
                                      "and",
                                      "and_eq",
                                      "app",
                                      "asm",
                                      "auto",
                                      "bitand",
                                      "bitor",
                                      "bool",
                                      "break",
                                      "build",
                                      "case",
                                      "catch",
                                      "char",
                                      "char16_t",
                                      "char32_t",
                                      "char8_t",
                                      "class",
                                      "clean",
                                      "co_await",
                                      "co_return",
                                      "co_yield",
                                      "compl",
                                      "concept",
                                      "const",
                                      "const_cast",
                                      "consteval",
                                      "constexpr",
                                      "constinit",
                                      "continue",
                                      "data",
                                      "decltype",
                                      "default",
                                      "delete",
                                      "depend",
                                      "do",
                                      "double",
                                      "dynamic_cast",
                                      "edit_cache",
                                      "else",
                                      "enum",
                                      "explicit",
                                      "export",
                                      "extern",
                                      "false",
                                      "float",
                                      "for",
                                      "friend",
                                      "goto",
                                      "help",
                                      "if",
                                      "inline",
                                      "install",
                                      "int",
                                      "keel",
                                      "list_install_components",
                                      "long",
                                      "main",
                                      "mutable",
                                      "namespace",
                                      "new",
                                      "noexcept",
                                      "not",
                                      "not_eq",
                                      "note",
                                      "notes",
                                      "nullptr",
                                      "operator",
                                      "or",
                                      "or_eq",
                                      "package",
                                      "package_source",
                                      "preinstall",
                                      "private",
                                      "protected",
                                      "public",
                                      "rebuild_cache",
                                      "register",
                                      "reinterpret_cast",
                                      "requires",
                                      "return",
                                      "seed",
                                      "short",
                                      "signed",
                                      "sizeof",
                                      "static",
                                      "static_assert",
                                      "static_cast",
                                      "std",
                                      "struct",
                                      "switch",
                                      "template",
                                      "test",
                                      "this",
                                      "thread_local",
                                      "throw",
                                      "true",
                                      "try",
                                      "typedef",
                                      "typeid",
                                      "typename",
                                      "union",
                                      "unsigned",
                                      "using",
                                      "virtual",
                                      "void",
                                      "volatile",
                                      "wchar_t",
                                      "while",
                                      "xor",
                                      "xor_eq"};

static_assert(std::ranges::is_sorted(taken));

bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_small_letter(c) || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_good(std::string_view name) {
  return !name.empty() && is_small_letter(name.front()) && !name.ends_with('_') && !name.contains("__") &&
         std::ranges::all_of(name, [](char c) { return is_small_letter(c) || is_digit(c) || c == '_'; });
}

// Makes a valid name, such as "my_shop" from "My-Shop"; returns "" if no character is left.
std::string mended(std::string_view name) {
  std::string made;
  for (const char c : name) {
    if (is_letter(c) || (is_digit(c) && !made.empty())) {
      made += is_letter(c) ? static_cast<char>(c | 0x20) : c;
    } else if (!made.empty() && !made.ends_with('_')) {
      made += '_';
    }
  }
  while (made.ends_with('_')) made.pop_back();
  return made;
}

std::string pascal_of(std::string_view snake) {
  std::string made;
  bool begins = true;
  for (const char c : snake) {
    if (c != '_') made += begins && is_small_letter(c) ? static_cast<char>(c & ~0x20) : c;
    begins = c == '_';
  }
  return made;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

Result<Names> Names::of(std::string_view name) {
  const auto refuse = [&](std::string_view why) {
    return Error::text(Code::InvalidArgument, std::string(name) + ": " + std::string(why));
  };
  if (name.size() > bytes_max) return refuse("a name must have at most 40 characters");
  if (!is_good(name)) {
    const std::string better = mended(name);
    return refuse("a name must consist of lowercase letters, digits and single '_', and begin with a letter" +
                  (is_good(better) ? ": " + better : std::string()));
  }
  if (std::ranges::binary_search(taken, name)) {
    return refuse("this word is already used for something else; choose another name");
  }
  Names names;
  names.snake_ = name;
  names.pascal_ = pascal_of(name);
  if (names.pascal_ == "Notes") return refuse("the new files have a class Notes of their own; choose another name");
  return names;
}

std::string Names::apply(std::string_view text) const {
  std::string made(text);
  replace_all(made, "service_name", snake_);
  replace_all(made, "ServiceName", pascal_);
  return made;
}

}  // namespace keel::create
