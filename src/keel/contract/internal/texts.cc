#include "keel/contract/internal/texts.h"

#include <span>

#include "keel/base/arena.h"
#include "keel/base/ascii.h"
#include "keel/data/json_reader.h"
#include "keel/data/utf8.h"

namespace keel::contract::internal {

bool is_number(std::string_view text) noexcept {
  const auto digits = [&] {
    std::size_t count = 0;
    while (count < text.size() && ascii::is_digit(text[count])) ++count;
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool is_zero = text.starts_with('0');
  const std::size_t whole = digits();
  if (whole == 0 || (is_zero && whole > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return text.empty();
}

bool is_bare(std::string_view text) noexcept {
  return text == "true" || text == "false" || text == "null" || is_number(text);
}

bool is_list(Form form) noexcept {
  return form == Form::TextList || form == Form::BareList || form == Form::EitherList || form == Form::FileList ||
         form == Form::JsonList;
}
Form element_of(Form form) noexcept {
  return form == Form::TextList     ? Form::Text
         : form == Form::BareList   ? Form::Bare
         : form == Form::EitherList ? Form::Either
         : form == Form::FileList   ? Form::File
         : form == Form::JsonList   ? Form::Json
                                    : form;
}

void Texts::write(Form form, std::string_view text) {
  if (form == Form::File) {
    out_.base64(std::as_bytes(std::span(text)));
    return;
  }
  if ((form == Form::Bare || form == Form::Either) && is_bare(text)) {
    out_.raw(text);
    return;
  }
  if (form == Form::Json) {
    Arena arena;
    json::Reader reader(text, arena);
    reader.skip();
    if (reader.finish()) {
      out_.raw(text);
      return;
    }
  }
  has_misfits_ = has_misfits_ || form == Form::Bare || form == Form::Json;
  if (!utf8::is_valid(text)) problem_ = not_utf8;
  out_.string(text);
}

}  // namespace keel::contract::internal
