#include "keel/data/violations.h"

#include <utility>

#include "keel/base/bug.h"

namespace keel {
namespace {

// Cuts the text only at the beginning of a character.
void shorten(std::string& pointer) {
  constexpr std::string_view ellipsis = "…";
  if (pointer.size() <= Violations::pointer_bytes_max) return;
  std::size_t size = Violations::pointer_bytes_max - ellipsis.size();
  while (size > 0 && (static_cast<unsigned char>(pointer[size]) & 0xC0) == 0x80) --size;
  pointer.resize(size);
  pointer += ellipsis;
  pointer.shrink_to_fit();
}

}  // namespace

bool Violations::add(Violation violation) {
  if (list_.size() == count_max) {
    has_more_ = true;
    return false;
  }
  shorten(violation.pointer);
  list_.push_back(std::move(violation));
  return true;
}

bool Violations::add(std::string_view pointer, std::string_view message, std::string_view keyword) {
  return add(Violation{std::string(pointer), std::string(message), 0, 0, keyword});
}

void Violations::set_malformed(Violation violation) {
  list_.clear();
  shorten(violation.pointer);
  list_.push_back(std::move(violation));
  is_malformed_ = true;
  has_more_ = false;
}

void Violations::clear() noexcept {
  list_.clear();
  is_malformed_ = false;
  has_more_ = false;
}

Error Violations::error() const {
  KEEL_EXPECT(!empty(), "error() must not be called on Violations that are empty");
  std::string text;
  if (is_malformed_) {
    const Violation& one = list_.front();
    text = one.message;
    if (one.line != 0) text += " at line " + std::to_string(one.line) + " column " + std::to_string(one.column);
    if (!one.pointer.empty()) text += " (" + one.pointer + ")";
    return Error::text(Code::InvalidArgument, text);
  }
  for (const Violation& one : list_) {
    if (!text.empty()) text += "; ";
    text += one.pointer;
    const bool continues = one.message.starts_with("must ") || one.message.starts_with("is ");
    if (!one.pointer.empty()) text += continues ? " " : ": ";
    text += one.message;
  }
  if (has_more_) text += "; and more";
  return Error::text(Code::InvalidArgument, text);
}

}  // namespace keel
