#include "keel/http/message/precondition.h"

#include <optional>
#include <string_view>

#include "keel/http/message/date.h"
#include "keel/http/message/fields.h"

namespace keel::http {
namespace {

enum class Compare : std::uint8_t { Strong, Weak };

bool is_weak(std::string_view tag) noexcept { return tag.starts_with("W/"); }
std::string_view opaque(std::string_view tag) noexcept { return is_weak(tag) ? tag.substr(2) : tag; }

bool same_tag(std::string_view a, std::string_view b, Compare compare) noexcept {
  if (a.empty() || (compare == Compare::Strong && (is_weak(a) || is_weak(b)))) return false;
  return opaque(a) == opaque(b);
}

// Removes the next entity tag from a list; returns false if the list is empty or does not continue with a tag. A tag
// may contain a comma (etagc in RFC 9110 §8.8.3).
bool next_tag(std::string_view& rest, std::string_view& tag) noexcept {
  for (;;) {
    rest = trim_blanks(rest);
    if (!rest.starts_with(',')) break;
    rest.remove_prefix(1);
  }
  const std::size_t open = is_weak(rest) ? 2 : 0;
  if (open >= rest.size() || rest[open] != '"') return false;
  const std::size_t close = rest.find('"', open + 1);
  if (close == std::string_view::npos) return false;
  tag = rest.substr(0, close + 1);
  rest = trim_blanks(rest.substr(close + 1));
  return rest.empty() || rest.front() == ',';
}

// Whether a tag in any of the fields with that name matches; the list may be spread over several fields (RFC 9110
// §5.3).
bool any_matches(const RequestHead& head, std::string_view name, const Validators& validators,
                 Compare compare) noexcept {
  for (unsigned i = 0; i < head.field_count(); ++i) {
    const Field field = head.field(i);
    if (!equals_ignore_case(field.name, name)) continue;
    if (field.value == "*") {
      if (validators.exists) return true;
      continue;
    }
    if (!validators.exists) continue;
    for (std::string_view rest = field.value, tag; next_tag(rest, tag);) {
      if (same_tag(tag, validators.etag, compare)) return true;
    }
  }
  return false;
}

// The date in the field with that name; nullopt when the value is not a date, or when the head has two fields with that
// name: both fields must then be ignored (RFC 9110 §13.1.3, §13.1.4).
std::optional<std::int64_t> only_date(const RequestHead& head, std::string_view name,
                                      std::int64_t now_seconds) noexcept {
  std::optional<std::string_view> value;
  for (unsigned i = 0; i < head.field_count(); ++i) {
    const Field field = head.field(i);
    if (!equals_ignore_case(field.name, name)) continue;
    if (value) return std::nullopt;
    value = field.value;
  }
  if (!value) return std::nullopt;
  const auto date = parse_date(*value, now_seconds);
  return date ? std::optional(*date) : std::nullopt;
}

}  // namespace

Precondition evaluate(const RequestHead& head, const Validators& validators, std::int64_t now_seconds) noexcept {
  const auto& modified = validators.modified_seconds;
  if (head.find("If-Match")) {
    if (!any_matches(head, "If-Match", validators, Compare::Strong)) return Precondition::Failed;
  } else if (modified && validators.exists) {
    const auto date = only_date(head, "If-Unmodified-Since", now_seconds);
    if (date && *modified > *date) return Precondition::Failed;
  }
  const bool reads = head.method() == Method::Get || head.method() == Method::Head;
  if (head.has(Known::IfNoneMatch)) {
    if (any_matches(head, "If-None-Match", validators, Compare::Weak)) {
      return reads ? Precondition::NotModified : Precondition::Failed;
    }
  } else if (head.has(Known::IfModifiedSince) && modified && reads && validators.exists) {
    const auto date = only_date(head, "If-Modified-Since", now_seconds);
    if (date && *modified <= *date) return Precondition::NotModified;
  }
  return Precondition::Holds;
}

bool range_applies(const RequestHead& head, const Validators& validators, std::int64_t now_seconds) noexcept {
  const auto state = head.find("If-Range");
  if (!state) return true;
  if (state->starts_with('"') || is_weak(*state)) return same_tag(*state, validators.etag, Compare::Strong);
  // The date must be in an earlier second: a file that changed within the current second may change again and keep its
  // date.
  const auto date = parse_date(*state, now_seconds);
  const auto& modified = validators.modified_seconds;
  return date && modified && *date == *modified && *modified < now_seconds;
}

}  // namespace keel::http
