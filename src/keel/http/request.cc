#include "keel/http/request.h"

#include <algorithm>
#include <string>

#include "keel/base/check.h"
#include "keel/data/uri.h"
#include "keel/io/engine.h"

namespace keel::http {

Error Request::bad_parameter(std::string_view name, std::string_view expected) {
  return Error::text(Code::InvalidArgument, "parameter '" + std::string(name) + "': expected " + std::string(expected));
}

Address Request::peer() const noexcept { return engine_ != nullptr ? engine_->peer_address(fd_) : Address(); }

std::optional<std::string_view> Request::header_list(std::string_view name) {
  std::optional<std::string_view> all;
  for (unsigned i = 0; i < head_->field_count(); ++i) {
    const Field field = head_->field(i);
    if (!equals_ignore_case(field.name, name)) continue;
    if (!all) {
      all = field.value;
      continue;
    }
    const std::size_t size = all->size() + 2 + field.value.size();
    char* const joined = arena_->array<char>(size).data();
    char* at = std::copy(all->begin(), all->end(), joined);
    *at++ = ',';
    *at++ = ' ';
    std::copy(field.value.begin(), field.value.end(), at);
    all = std::string_view(joined, size);
  }
  return all;
}

Result<std::string_view> Request::path_text(std::string_view name) {
  const auto raw = params_.find(name);
  KEEL_CHECK(raw.has_value(), "a path parameter that is asked for stands in the route's pattern");
  return uri::percent_decode(*raw, *arena_);
}

Result<std::optional<std::string_view>> Request::query_text(std::string_view name) {
  uri::QueryPairs pairs(query(), *arena_);
  while (auto pair = pairs.next()) {
    if (pair->key == name) return std::optional(pair->value);
  }
  KEEL_TRY_VOID(pairs.finish());
  return std::optional<std::string_view>();
}

}  // namespace keel::http
