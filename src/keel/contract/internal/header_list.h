// The elements of a list in a header field (RFC 9110 §5.6.1), as Input, Output, Response and Reply read and write them.
//
// An element is either a quoted-string, or a text up to the next comma. Commas within the angle brackets that a Link
// begins with, and within a quoted-string after a '=', as in the parameters of a Link, do not separate. Blanks around
// an element do not belong to it. An empty element does not count (§5.6.1.2); an empty text is written as "".

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "keel/base/arena.h"

namespace keel::contract::internal {

struct HeaderElement {
  std::string_view text;  // With its quotes.
  bool is_quoted = false;

  // The text, or what is in the quotes: a view into the field or the arena.
  std::string_view value(Arena& arena) const;
};

class HeaderList {
 public:
  // A field that is empty, or has only commas, is an empty list.
  explicit HeaderList(std::string_view field) noexcept : rest_(field) {}

  std::optional<HeaderElement> next() noexcept;
  // The next element, which may be empty; nullopt at the end of the field.
  std::optional<HeaderElement> next_or_empty() noexcept;

 private:
  std::string_view rest_;
  bool is_at_end_ = false;
};

// What a quoted-string stands for; a text without quotes stands for itself.
std::string_view unquoted(std::string_view text, Arena& arena);
// Appends the text so that it is read as one element: as it is, or quoted where it would be read as something else.
void append_element(std::string& list, std::string_view text);
// The pair of an object, "name=value", quoted after the '=' where the value needs it; false when no form of the pair
// would be read as these two.
bool append_pair(std::string& list, std::string_view name, std::string_view value);

}  // namespace keel::contract::internal
