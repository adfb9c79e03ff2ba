// The elements of a list in a header field (RFC 9110 §5.6.1), as Input, Output, Response and Reply read and write them.
//
// An element is either a quoted-string, or a text up to the next comma. Two kinds of commas do not separate elements:
// those within the angle brackets at the beginning of a Link, and those within a quoted-string after a '=', as in the
// parameters of a Link. Blanks around an element do not belong to it. An empty element does not count (§5.6.1.2); an
// empty text is written as "".

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "keel/base/arena.h"

namespace keel::contract::internal {

struct HeaderElement {
  std::string_view text;  // With its quotes.
  bool is_quoted = false;

  // The text, without the quotes if it has any: a view into the field or the arena.
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

// The text that a quoted-string represents; a text without quotes represents itself.
std::string_view unquoted(std::string_view text, Arena& arena);
// Appends the text so that it is read as one element: unchanged, or quoted if it would otherwise be misread.
void append_element(std::string& list, std::string_view text);
// Appends a member of an object as "name=value", with a quoted value if necessary; false when no spelling of the pair
// would be read as this name and this value.
bool append_pair(std::string& list, std::string_view name, std::string_view value);

}  // namespace keel::contract::internal
