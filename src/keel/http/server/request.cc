#include "keel/http/server/request.h"

#include <algorithm>
#include <charconv>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>

#include "keel/base/bug.h"
#include "keel/base/hex.h"
#include "keel/base/single_writer_counter.h"
#include "keel/data/uri.h"
#include "keel/http/message/trace_context.h"
#include "keel/http/message/trailers.h"
#include "keel/http/server/internal/body_collector.h"
#include "keel/http/server/route_options.h"
#include "keel/io/engine.h"
#include "keel/net/transport.h"

namespace keel::http {

Error Request::bad_parameter(std::string_view name, std::string_view expected) {
  return Error::text(Code::InvalidArgument, "parameter '" + std::string(name) + "': " + std::string(expected));
}

std::optional<std::string_view> Request::header_list(std::string_view name) {
  // The total size is computed first, so that memory is allocated only once: the client chooses how many fields there
  // are.
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

void Request::reject_early_read(const char* call, std::source_location place) const {
  // On a route that streams its body, the body is never collected: middleware and handler have to agree on which of the
  // two reads the body.
  if (match_.options != nullptr && match_.options->streams_body) return;
  throw_bug(
      std::string(call) +
          " cannot be called in a middleware that runs before the body has arrived: write a middleware that calls the "
          "handler itself (Task<http::Response> with http::Next), and co_await request.whole_body() there",
      place);
}

Task<std::string_view> Request::whole_body(std::source_location place) {
  KEEL_EXPECT_AT(match_.options == nullptr || !match_.options->streams_body,
                 "whole_body() cannot be called on a route that streams its body, because the body is not collected: "
                 "co_await read_body() instead",
                 place);
  while (collector_ != nullptr) {
    const Chunk part = co_await BodyRead(*reader_);
    if (part.empty()) {
      collector_->end_body();
    } else {
      co_await collector_->keep(part);
    }
  }
  is_before_body_ = false;
  co_return body_;
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
    const Trust nobody;
    const Trust& trust = arrival_ != nullptr ? arrival_->trust : nobody;
    origin_ = new (arena_->allocate(sizeof(Origin)))
        Origin(origin_of(*head_, peer(), trust, arrival_ != nullptr ? arrival_->scheme : "http"));
  }
  return *origin_;
}

bool Request::believes(TrustedPeers peers) const noexcept {
  if (arrival_ == nullptr || !arrival_->trust.may_believe(peers)) return false;
  return peers == TrustedPeers::Everybody ||
         is_trusted(peer_ != nullptr ? *peer_ : arrival_->engine->peer_address(fd_), arrival_->trust.proxies);
}

bool Request::is_of_another_scheme() const noexcept {
  if (head_->form() != TargetForm::Absolute && !head_->target_is_https()) return false;
  const bool is_https = arrival_ != nullptr && arrival_->scheme == "https";
  return head_->target_is_https() != is_https && !(arrival_ != nullptr && believes(arrival_->trust.believed.proto));
}

std::string_view Request::peer_identity() const noexcept {
  return layer_ != nullptr ? layer_->peer_identity() : std::string_view();
}

void Request::continue_trace() noexcept {
  std::optional<log::TraceId> trace;
  for (unsigned i = 0, seen = 0; i < head_->field_count(); ++i) {
    const Field field = head_->field(i);
    if (!equals_ignore_case(field.name, "traceparent")) continue;
    if (seen++ != 0) return;  // If several fields are named traceparent, none of them can be trusted.
    trace = parse_traceparent(field.value);
  }
  if (trace && believes(arrival_->trust.believed.trace)) span_.trace = *trace;
}

std::optional<Instant> Request::deadline_told() const noexcept {
  if (arrival_ == nullptr || !arrival_->trust.may_believe(arrival_->trust.believed.deadline)) return std::nullopt;
  const auto text = head_->find("x-request-deadline-ms");
  if (!text) return std::nullopt;
  std::uint32_t left_ms = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), left_ms);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  if (!believes(arrival_->trust.believed.deadline)) return std::nullopt;
  return started_ + Duration::milliseconds(left_ms);
}

std::string_view Request::id() {
  if (!id_.empty()) return id_;
  if (const auto sent = head_->find("x-request-id"); sent && sent->size() <= 128 && is_token(*sent)) {
    const Trust nobody;
    const Trust& trust = arrival_ != nullptr ? arrival_->trust : nobody;
    const TrustedPeers peers = trust.believed.request_id;
    if (peers == TrustedPeers::Everybody || (trust.may_believe(peers) && is_trusted(peer(), trust.proxies)))
      return id_ = *sent;
  }
  auto* const text = static_cast<char*>(arena_->allocate(2 * hex_digits, 1));
  write_hex(write_hex(text, span_.trace.high), span_.trace.low);
  return id_ = {text, 2 * hex_digits};
}

std::string_view Request::trailers() const noexcept {
  if (reader_ != nullptr) return reader_->trailers();
  const AfterBody* const after = get<AfterBody>();
  return after != nullptr ? after->trailers : std::string_view();
}
std::optional<std::string_view> Request::trailer(std::string_view name) const noexcept {
  return Trailers::find(trailers(), name);
}

void Request::count_bug() const noexcept {
  if (arrival_ != nullptr && arrival_->bugs != nullptr) arrival_->bugs->add();
}

std::string Request::no_such_parameter(std::string_view name) const {
  return "path_param(\"" + std::string(name) + "\"): the route \"" + std::string(route()) +
         "\" has no parameter of this name";
}

std::string_view Request::raw_path_param(std::string_view name, std::source_location place) const {
  const auto raw = match_.params.find(name);
  KEEL_EXPECT_AT(raw.has_value(), no_such_parameter(name), place);
  return *raw;
}

Result<std::string_view> Request::path_text(std::string_view name, std::source_location place) {
  const auto raw = match_.params.find(name);
  // The bug is returned, not thrown: a Scope ends its children before an awaited error is passed upward, but it cannot
  // do so for an exception (task/scope.h).
  if (!raw) return Error::from_bug(Bug(no_such_parameter(name), place));
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
