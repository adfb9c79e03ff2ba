#include "keel/http/server/request.h"

#include <algorithm>
#include <charconv>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>

#include "keel/base/check.h"
#include "keel/base/hex.h"
#include "keel/data/uri.h"
#include "keel/http/message/trace_context.h"
#include "keel/http/message/trailers.h"
#include "keel/io/engine.h"

namespace keel::http {

Error Request::bad_parameter(std::string_view name, std::string_view expected) {
  return Error::text(Code::InvalidArgument, "parameter '" + std::string(name) + "': expected " + std::string(expected));
}

std::optional<std::string_view> Request::header_list(std::string_view name) {
  // Sizes first: a client chooses how many there are.
  std::optional<std::string_view> first;
  std::size_t size = 0;
  unsigned count = 0;
  for (unsigned i = 0; i < head_->field_count(); ++i) {
    const Field field = head_->field(i);
    if (!equals_ignore_case(field.name, name)) continue;
    if (count++ == 0) first = field.value;
    size += field.value.size();
  }
  if (count <= 1) return first;
  size += 2 * (count - 1);
  char* const joined = arena_->array<char>(size).data();
  char* at = joined;
  for (unsigned i = 0; i < head_->field_count(); ++i) {
    const Field field = head_->field(i);
    if (!equals_ignore_case(field.name, name)) continue;
    at = std::copy(field.value.begin(), field.value.end(), at);
    if (--count == 0) break;
    *at++ = ',';
    *at++ = ' ';
  }
  return std::string_view(joined, size);
}

const Address& Request::peer() {
  static_assert(std::is_trivially_destructible_v<Address> && std::is_trivially_destructible_v<Origin>);
  if (peer_ == nullptr) {
    peer_ = new (arena_->allocate(sizeof(Address)))
        Address(arrival_ != nullptr ? arrival_->engine->peer_address(fd_) : Address());
  }
  return *peer_;
}

const Origin& Request::origin() {
  if (origin_ == nullptr) {
    const std::span<const Network> trusted = arrival_ != nullptr ? arrival_->trusted : std::span<const Network>();
    origin_ = new (arena_->allocate(sizeof(Origin))) Origin(origin_of(*head_, peer(), trusted));
  }
  return *origin_;
}

bool Request::is_told() const noexcept {
  return arrival_ != nullptr && is_trusted(arrival_->engine->peer_address(fd_), arrival_->trusted);
}

void Request::continue_trace() noexcept {
  std::optional<log::TraceId> trace;
  for (unsigned i = 0, seen = 0; i < head_->field_count(); ++i) {
    const Field field = head_->field(i);
    if (!equals_ignore_case(field.name, "traceparent")) continue;
    if (seen++ != 0) return;  // Whom to believe?
    trace = parse_traceparent(field.value);
  }
  if (trace && is_told()) span_.trace = *trace;
}

std::optional<Instant> Request::deadline_told() const noexcept {
  if (arrival_ == nullptr || arrival_->trusted.empty()) return std::nullopt;
  const auto text = head_->find("x-request-deadline-ms");
  if (!text) return std::nullopt;
  std::uint32_t left_ms = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), left_ms);
  if (error != std::errc() || end != text->data() + text->size() || !is_told()) return std::nullopt;
  return started_ + Duration::milliseconds(left_ms);
}

std::string_view Request::id() {
  if (!id_.empty()) return id_;
  if (const auto sent = head_->find("x-request-id"); sent && sent->size() <= 128 && is_token(*sent)) {
    if (arrival_ != nullptr && is_trusted(peer(), arrival_->trusted)) return id_ = *sent;
  }
  auto* const text = static_cast<char*>(arena_->allocate(2 * hex_digits, 1));
  write_hex(write_hex(text, span_.trace.high), span_.trace.low);
  return id_ = {text, 2 * hex_digits};
}

std::string_view Request::trailers() const noexcept {
  if (reader_ != nullptr) return reader_->trailers();
  const Behind* const behind = get<Behind>();
  return behind != nullptr ? behind->trailers : std::string_view();
}
std::optional<std::string_view> Request::trailer(std::string_view name) const noexcept {
  return Trailers::find(trailers(), name);
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
