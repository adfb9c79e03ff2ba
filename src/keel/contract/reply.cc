#include "keel/contract/reply.h"

#include <algorithm>
#include <optional>

#include "keel/base/arena.h"
#include "keel/contract/internal/header_list.h"
#include "keel/contract/internal/texts.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_value.h"
#include "keel/http/message/fields.h"
#include "keel/http/message/response_reader.h"

namespace keel::contract {
namespace {

std::string_view type_of(std::string_view media_type) noexcept {
  return http::trim_blanks(media_type.substr(0, media_type.find(';')));
}
// The text as a message shows it: without control characters, and truncated to at most `bytes_max` bytes.
std::string shown(std::string_view text, std::size_t bytes_max) {
  std::size_t size = std::min(text.size(), bytes_max);
  // Do not cut within a UTF-8 character.
  while (size != 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  std::string made(text.substr(0, size));
  if (size < text.size()) made += "…";
  std::ranges::replace_if(made, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return made;
}

constexpr json::ReaderOptions options_of_response = {.is_response = true};

Error upstream(std::string_view text) { return Error::text(Code::Upstream, text).from_environment(); }

}  // namespace

int fit(std::string_view declared, std::string_view media_type) noexcept {
  declared = type_of(declared);
  media_type = type_of(media_type);
  if (declared == "*/*") return 1;
  if (declared.ends_with("/*")) {
    const std::size_t size = declared.size() - 1;
    const bool is_in_it =
        media_type.size() > size && http::equals_ignore_case(media_type.substr(0, size), declared.substr(0, size));
    return is_in_it ? 2 : 0;
  }
  return http::equals_ignore_case(declared, media_type) ? 3 : 0;
}

std::optional<std::string> Reply::header(std::string_view name) const {
  std::optional<std::string> found;
  http::Field field;
  for (std::string_view rest = head_; http::next_field(rest, field);) {
    if (!http::equals_ignore_case(field.name, name)) continue;
    if (found) {
      found->append(", ").append(field.value);
    } else {
      found = field.value;
    }
  }
  return found;
}

std::string Reply::described() const {
  std::string text = "returned " + std::to_string(number(status_));
  if (const std::string_view phrase = reason(status_); !phrase.empty()) text.append(" ").append(phrase);
  const std::string type = header("content-type").value_or("");
  if (!http::equals_ignore_case(type_of(type), "application/problem+json")) return text;
  const auto problem = json::parse<json::Value>(body_);
  if (!problem) return text;
  for (const std::string_view member : {"detail", "title"}) {
    const json::Value* const said = problem->find(member);
    if (said == nullptr || !said->string() || said->string()->empty()) continue;
    return text + ": " + shown(*said->string(), detail_bytes_max);
  }
  return text;
}

Result<> Reply::match() {
  const std::span<const Expected> all = operation_.responses;
  const int status = number(status_);
  const Expected* best = nullptr;
  for (const Expected& one : all) {
    const bool is_for_it = one.least <= status && status <= one.most;
    if (is_for_it && (best == nullptr || one.most - one.least < best->most - best->least)) best = &one;
  }
  if (best == nullptr)
    return upstream(described() + ", a status that the contract does not declare for this operation");
  const std::string content_type = header("content-type").value_or("");
  const std::string_view given = type_of(content_type);
  const Expected* chosen = nullptr;
  int chosen_fit = 0;
  std::string declared;
  for (const Expected& one : all) {
    if (one.least != best->least || one.most != best->most) continue;
    const int its = one.media_type.empty() ? 1 : fit(one.media_type, given);
    if (its > chosen_fit) chosen = &one;
    chosen_fit = std::max(chosen_fit, its);
    if (!declared.empty()) declared += ", ";
    declared += one.media_type;
  }
  if (chosen == nullptr || (given.empty() && !chosen->media_type.empty())) {
    return upstream(described() + (given.empty() ? " without a Content-Type" : " with " + shown(given, 100)) +
                    ", but the contract declares " + declared);
  }
  index_ = static_cast<std::size_t>(chosen - all.data());
  return {};
}

Result<> Reply::read_json(Read read, void* value) const {
  Arena arena;
  Violations wrong;
  if (json::internal::read_text(body_, arena, options_of_response, read, value, wrong)) return {};
  return wrong.error()
      .as(Code::Upstream)
      .because(described() + " with " + std::string(expected().media_type) + " that does not match the contract")
      .from_environment();
}

Result<> Reply::missing(std::string_view name) const {
  return upstream(described() + " without the header " + std::string(name) + ", which the contract requires");
}

Result<> Reply::read_header(std::string_view name, Form form, std::string_view text, Read read, void* value) const {
  Arena arena;
  internal::Texts texts;
  if (internal::is_list(form)) {
    texts.out().begin_array();
    if (http::equals_ignore_case(name, "Set-Cookie")) {
      // Each field is one element, because Set-Cookie is not a list (RFC 6265 §3).
      http::Field field;
      for (std::string_view rest = head_; http::next_field(rest, field);) {
        if (http::equals_ignore_case(field.name, name)) texts.write(internal::element_of(form), field.value);
      }
    } else {
      internal::HeaderList list(text);
      while (const auto element = list.next()) texts.write(internal::element_of(form), element->value(arena));
    }
    texts.out().end_array();
  } else {
    texts.write(form, text);
  }
  Violations wrong;
  if (texts.problem() != nullptr) {
    wrong.add("", texts.problem());
  } else if (json::internal::read_text(texts.text().view(), arena, options_of_response, read, value, wrong)) {
    return {};
  }
  return wrong.error()
      .as(Code::Upstream)
      .because(described() + " with the header " + std::string(name) + " that does not match the contract")
      .from_environment();
}

}  // namespace keel::contract
