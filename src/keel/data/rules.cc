#include "keel/data/rules.h"

#include <charconv>
#include <string>

#include "keel/base/bug.h"

namespace keel {
namespace {

void append(std::string& text, const internal::Bound& bound) {
  char digits[32];
  char* end = digits;
  switch (bound.kind) {
    case internal::Bound::Kind::Signed:
      end = std::to_chars(digits, digits + sizeof digits, static_cast<std::int64_t>(bound.whole)).ptr;
      break;
    case internal::Bound::Kind::Unsigned:
      end = std::to_chars(digits, digits + sizeof digits, bound.whole).ptr;
      break;
    case internal::Bound::Kind::Real:
      end = std::to_chars(digits, digits + sizeof digits, bound.real).ptr;
  }
  text.append(digits, end);
}

}  // namespace

void Check::violated(const void* field, std::string_view words, std::string_view keyword) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (fields_[i] != field) continue;
    if ((judged_ >> i & 1) != 0) tell_(context_, names_[i], words, keyword);
    return;
  }
  throw_bug(
      "rules() checks a value that is not a field of its struct: for a field of a nested struct, write rules() "
      "in that struct",
      std::source_location::current());
}

void Check::out_of_range(const void* field, const internal::Bound* least, const internal::Bound* most, bool is_above) {
  std::string texts[2];
  if (least != nullptr) append(texts[0], *least);
  if (most != nullptr) append(texts[1], *most);
  const std::string_view bounds[] = {texts[0], texts[1]};
  out_of_range(field, least != nullptr ? &bounds[0] : nullptr, most != nullptr ? &bounds[1] : nullptr, is_above);
}

void Check::out_of_range(const void* field, const std::string_view* least, const std::string_view* most,
                         bool is_above) {
  std::string words = "must be ";
  if (least != nullptr && most != nullptr) {
    words.append("from ").append(*least).append(" to ").append(*most);
  } else if (least != nullptr) {
    words.append("at least ").append(*least);
  } else {
    words.append("at most ").append(*most);
  }
  violated(field, words, is_above ? "maximum" : "minimum");
}

// A character has one to four bytes in UTF-8, so for most lengths the characters do not have to be counted.
void Check::judge_length(const void* field, std::string_view text, std::size_t least, std::size_t most) {
  if (text.size() <= most && (text.size() + 3) / 4 >= least) return;
  std::size_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  if (characters < least || characters > most) {
    wrong_count(field, least, most, "character", characters < least ? "minLength" : "maxLength");
  }
}

void Check::wrong_count(const void* field, std::size_t least, std::size_t most, const char* of_what,
                        std::string_view keyword) {
  std::string words = "must have ";
  std::size_t last = most;
  if (most == SIZE_MAX) {
    words += "at least " + std::to_string(least);
    last = least;
  } else if (least == most) {
    words += std::to_string(least);
  } else if (least == 0) {
    words += "at most " + std::to_string(most);
  } else {
    words += std::to_string(least) + " to " + std::to_string(most);
  }
  words += ' ';
  words += of_what;
  if (last != 1) words += 's';
  violated(field, words, keyword);
}

void Check::none_of(const void* field, std::span<const std::string_view> words) {
  std::string text = "must be one of ";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) text += ", ";
    text += words[i];
  }
  violated(field, text, "enum");
}

void Check::none_of(const void* field, std::span<const internal::Bound> numbers) {
  std::string text = "must be one of ";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i != 0) text += ", ";
    append(text, numbers[i]);
  }
  violated(field, text, "enum");
}

}  // namespace keel
