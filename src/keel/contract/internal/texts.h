// Writes the JSON that the texts of a parameter, a form or a header represent.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"
#include "keel/contract/parameter.h"
#include "keel/data/json_writer.h"

namespace keel::contract::internal {

inline constexpr const char* not_utf8 = "expected UTF-8";

// Whether the text is a number in the grammar of RFC 8259 §6.
bool is_number(std::string_view text) noexcept;
// Whether the text is a JSON number, true, false or null.
bool is_bare(std::string_view text) noexcept;

bool is_list(Form form) noexcept;
// The form of the elements of the list `form`; if `form` is not the form of a list, returns `form` itself.
Form element_of(Form form) noexcept;

// Writes JSON from texts, and records whether some text could not be read as its type.
class Texts {
 public:
  Texts() : out_(text_) {}

  json::Writer& out() noexcept { return out_; }
  const Buffer& text() const noexcept { return text_; }
  bool has_misfits() const noexcept { return has_misfits_; }
  const char* problem() const noexcept { return problem_; }

  void write(Form form, std::string_view text);

 private:
  Buffer text_;
  json::Writer out_;
  bool has_misfits_ = false;
  const char* problem_ = nullptr;
};

}  // namespace keel::contract::internal
