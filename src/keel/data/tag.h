// keel/data/tag.h — by which member a text says which alternative of a std::variant it is.
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
// Every alternative is a struct with a tag; all of a variant have the same name and different values. The tag is
// written first, and read wherever it stands in its object. A struct that is no alternative has none in JSON.
//
// Errors: no tag, one that is no string, and a value that no alternative has, are violations (violations.h).
// Cost:   of a tag that stands first, that of another field. What stands before a tag is read twice. A text of which
//         more than 1 MiB and eight times its size would be read again is malformed.

#pragma once

#include <concepts>
#include <string_view>

namespace keel {

struct Tag {
  std::string_view name;
  std::string_view value;
};

// The tag of a type: its member and value.
template <class T>
inline constexpr Tag tag_of = {};
template <class T>
  requires requires { requires std::same_as<decltype(T::tag), const Tag>; }
inline constexpr Tag tag_of<T> = T::tag;

}  // namespace keel
