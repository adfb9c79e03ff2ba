#include "keel/http/request.h"

#include <string>

#include "keel/base/check.h"
#include "keel/data/uri.h"

namespace keel::http {

Error Request::bad_parameter(std::string_view name, std::string_view expected) {
  return Error::text(Code::InvalidArgument, "parameter '" + std::string(name) + "': expected " + std::string(expected));
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
