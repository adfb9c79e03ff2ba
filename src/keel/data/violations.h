// keel/data/violations.h — all that is wrong with what somebody has sent.
//
//   Violations wrong;
//   if (!json::read(order, body, arena, wrong)) {
//     for (const Violation& one : wrong) out.key(one.pointer).string(one.message);
//   }
//
// Either the text is no JSON, or gives a field twice: is_malformed() (HTTP: 400), and that is the only violation. Or it
// is, and each thing that is not as its type and its rules say is a violation (HTTP: 422), in the order of the text, at
// most count_max of them; has_more() when reading ended there.
//
// Threads: a value.  Cost: nothing while it is empty; else an allocation or more for each, and a look at the text in
// front of it for its line.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/error.h"

namespace keel {

// One thing that is wrong with a value: its place and a sentence.
struct Violation {
  // JSON Pointer (RFC 6901): "/lines/0/quantity"; "" is the whole text. Of a query or a form (text_fields.h) the name.
  std::string pointer;
  std::string message;  // "must be from 1 to 100", "is required", "expected a string".
  // From 1, and 0 for what stood in no JSON (the message of a malformed CBOR says at which byte); the column counts
  // bytes. Those of the value, or of the end of its object for a field that is missing or not as rules() say, and of
  // its end for an array with another number of elements.
  std::size_t line = 0;
  std::size_t column = 0;
  // The keyword of JSON Schema that the value breaks, a literal: "required", "minimum", "type", "additionalProperties".
  // Empty where there is none: of Check::that() and satisfies(), and of what is no value.
  std::string_view keyword = {};
};

// What one check of a value says: nothing, which is false, or why the value is not right. Both are literals.
struct Complaint {
  const char* message = nullptr;
  const char* keyword = "";  // As of a Violation.

  constexpr explicit operator bool() const noexcept { return message != nullptr; }
};

class Violations {
 public:
  static constexpr std::size_t count_max = 32;
  // A pointer has names that somebody has sent: what is longer is shortened, and ends in "…".
  static constexpr std::size_t pointer_bytes_max = 256;

  bool empty() const noexcept { return list_.empty(); }
  std::size_t size() const noexcept { return list_.size(); }
  auto begin() const noexcept { return list_.begin(); }
  auto end() const noexcept { return list_.end(); }
  const Violation& operator[](std::size_t i) const noexcept { return list_[i]; }
  bool is_malformed() const noexcept { return is_malformed_; }
  bool has_more() const noexcept { return has_more_; }

  // False when there is no room for it, which has_more() tells from here on.
  bool add(Violation violation);
  bool add(std::string_view pointer, std::string_view message, std::string_view keyword = {});
  // Takes the place of all others.
  void set_malformed(Violation violation);
  void clear() noexcept;

  // InvalidArgument, with each in one line: "/sku is required; /quantity must be from 1 to 100"; of a malformed text
  // "expected ',' or '}' at line 1 column 17 (/user/name)". One that speaks of its value begins behind a colon:
  // "/sku: expected a string". Not called when it is empty.
  Error error() const;

 private:
  std::vector<Violation> list_;
  bool is_malformed_ = false;
  bool has_more_ = false;
};

}  // namespace keel
