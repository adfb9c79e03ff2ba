// The elements of a list in a header field (RFC 9110 §5.6.1): Input and Reply read these elements; Output and Response
// write them.
//
// An element is either a quoted-string or a text that ends at the next comma. A comma does not separate elements if it
// is within the angle brackets at the beginning of a Link, or within a quoted-string after a '=', as in the parameters
// of a Link. Blanks around an element are not part of it. An empty element does not count (§5.6.1.2), so an empty text
// is written as "".

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "keel/base/arena.h"

namespace keel::contract::internal {

struct HeaderElement {
  std::string_view text;  // With its quotes.
  bool is_quoted = false;

  // The element's text, as a view into the field or the arena. For a quoted-string, the text contains neither the
  // quotes nor the backslashes.
  std::string_view value(Arena& arena) const;
};

class HeaderList {
 public:
  // A field that is empty or contains only commas is an empty list.
  explicit HeaderList(std::string_view field) noexcept : rest_(field) {}

  std::optional<HeaderElement> next() noexcept;
  // Returns the next element, which may be empty; nullopt at the end of the field.
  std::optional<HeaderElement> next_or_empty() noexcept;

 private:
  std::string_view rest_;
  bool is_at_end_ = false;
};

// Returns the text that a quoted-string represents; a text without quotes is returned unchanged.
std::string_view unquoted(std::string_view text, Arena& arena);
// Appends the text so that it is read as one element: unchanged if possible, else as a quoted-string.
void append_element(std::string& list, std::string_view text);
// Appends a member of an object as "name=value", with a quoted value if necessary; returns false if the pair cannot be
// written so that it is read as this name and this value.
bool append_pair(std::string& list, std::string_view name, std::string_view value);

}  // namespace keel::contract::internal
