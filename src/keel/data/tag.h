// keel/data/tag.h — names the member whose value says which alternative of a std::variant a text contains.
//
//   struct Card {
//     std::string number;
//     static constexpr keel::Tag tag = {"type", "card"};
//   };
//   struct Transfer {
//     std::string iban;
//     static constexpr keel::Tag tag = {"type", "transfer"};
//   };
//   struct Payment {
//     std::variant<Card, Transfer> by;             // {"by":{"type":"card","number":"4111…"}}
//   };
//   template <>                                    // of a type that is not yours to change
//   inline constexpr keel::Tag keel::tag_of<Cash> = {"type", "cash"};
//
// Every alternative must be a struct with a tag; all alternatives of a variant must have the same tag name and
// different values. The tag is written as the first member; when a text is read, the tag is found wherever it is in the
// object. A struct that is not used as an alternative is written without a tag.
//
// Errors: a missing tag, a tag that is not a string, and a tag whose value no alternative has, are violations
//         (violations.h).
// Cost:   a tag that comes first costs as much as any other field. Members before the tag are read twice. At most 1 MiB
//         plus eight times the size of the text may be read again; a text for which more would be read again is
//         malformed.

#pragma once

#include <concepts>
#include <string_view>

namespace keel {

struct Tag {
  std::string_view name;
  std::string_view value;
};

// The tag of a type: the name of the member, and its value.
template <class T>
inline constexpr Tag tag_of = {};
template <class T>
  requires requires { requires std::same_as<decltype(T::tag), const Tag>; }
inline constexpr Tag tag_of<T> = T::tag;

}  // namespace keel
