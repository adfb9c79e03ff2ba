// keel/data/violations.h — collects everything that is wrong with an input.
//
//   Violations wrong;
//   if (!json::read(order, body, arena, wrong)) {
//     for (const Violation& one : wrong) out.key(one.pointer).string(one.message);
//   }
//
// When the text is not JSON, or repeats a field, is_malformed() is true (HTTP: 400), and the malformed text is the only
// violation. If the input is JSON, each value that has the wrong type or breaks a rule is a violation (HTTP: 422).
// Violations are in the order of the text; if more than count_max are found, reading stops, and has_more() is true.
//
// Threads: a value.
// Cost:    nothing while there are no violations; each violation takes one or more allocations, and a scan of the text
//          before the violation to find the violation's line.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/error.h"

namespace keel {

// One thing that is wrong with a value: its place, and a message that describes it.
struct Violation {
  // JSON Pointer (RFC 6901): "/lines/0/quantity"; "" is the whole text. For a query or a form (text_fields.h), the
  // pointer is the name of the field.
  std::string pointer;
  std::string message;  // "must be from 1 to 100", "is required", "expected a string".
  // The line and the column are counted from 1; they are 0 if the input was not JSON text (the message for malformed
  // CBOR names the byte). Columns are counted in bytes. The line and the column give the position of the value. If a
  // field is missing or breaks rules(), they give the end of the object that contains the field. If an array has the
  // wrong number of elements, the line and the column give the end of the array.
  std::size_t line = 0;
  std::size_t column = 0;
  // The keyword of JSON Schema that the value violates, as a string literal: "required", "minimum", "type",
  // "additionalProperties". Empty for Check::that() and satisfies(), and for malformed input.
  std::string_view keyword = {};
};

// The result of checking a value: empty (false), or the reason why the value is wrong. Both members of a Complaint must
// be string literals.
struct Complaint {
  const char* message = nullptr;
  const char* keyword = "";  // As in Violation.

  constexpr explicit operator bool() const noexcept { return message != nullptr; }
};

class Violations {
 public:
  static constexpr std::size_t count_max = 32;
  // A pointer contains names that a client has sent, so a pointer longer than this is shortened, and ends in "…".
  static constexpr std::size_t pointer_bytes_max = 256;

  bool empty() const noexcept { return list_.empty(); }
  std::size_t size() const noexcept { return list_.size(); }
  auto begin() const noexcept { return list_.begin(); }
  auto end() const noexcept { return list_.end(); }
  const Violation& operator[](std::size_t i) const noexcept { return list_[i]; }
  bool is_malformed() const noexcept { return is_malformed_; }
  bool has_more() const noexcept { return has_more_; }

  // Returns false if there is no room for the violation; has_more() is then true.
  bool add(Violation violation);
  bool add(std::string_view pointer, std::string_view message, std::string_view keyword = {});
  // The violation replaces all others.
  void set_malformed(Violation violation);
  void clear() noexcept;

  // Returns InvalidArgument, with all violations in one line: "/sku is required; /quantity must be from 1 to 100"; for
  // a malformed text "expected ',' or '}' at line 1 column 17 (/user/name)". If a message does not begin with "must" or
  // "is", a colon separates it from the pointer: "/sku: expected a string". Must not be called if there are no
  // violations.
  Error error() const;

 private:
  std::vector<Violation> list_;
  bool is_malformed_ = false;
  bool has_more_ = false;
};

}  // namespace keel
