#include "keel/contract/client.h"

#include <algorithm>

#include "keel/data/base64.h"
#include "keel/http/client/shared_client.h"

namespace keel::contract {
namespace {

// The limits when a call reads the whole body of a streamed response: typed_bytes_max applies to JSON with a schema,
// and other_bytes_max applies to any other response.
constexpr std::size_t typed_bytes_max = 8 << 20;
constexpr std::size_t other_bytes_max = 64 << 10;

// The header field that carries the credential of a scheme; "" if no header field does.
std::string_view field_of(const Scheme& scheme) noexcept {
  switch (scheme.kind) {
    case Scheme::Kind::Bearer:
    case Scheme::Kind::Basic:
      return "Authorization";
    case Scheme::Kind::HeaderKey:
      return scheme.name;
    default:
      return "";
  }
}

}  // namespace

Task<http::ClientResponse> Transport::send(http::ClientRequest request) const {
  return client_ != nullptr ? client_->send(std::move(request)) : shared_->send(std::move(request));
}
Task<http::ClientStream> Transport::open(http::ClientRequest request) const {
  return client_ != nullptr ? client_->open(std::move(request)) : shared_->open(std::move(request));
}

Task<std::string> Credential::text(Scopes scopes) const {
  if (provider_ == nullptr) co_return text_;
  co_return co_await (*provider_)(scopes);
}

std::optional<std::string> Outcome::header(std::string_view name) const {
  if (operation_ == nullptr) return std::nullopt;
  return Reply(*operation_, status_, head_, {}).header(name);
}

Error Outcome::unexpected() const {
  return Error::text(Code::Upstream, described_.empty() ? "the response is not a success" : described_)
      .from_environment();
}

Call::Call(const Transport& transport, const ClientSettings& settings, const Operation& operation,
           const CallOptions& options)
    : transport_(transport),
      settings_(&settings),
      operation_(&operation),
      out_(operation.method, operation.path),
      timeout_(options.timeout),
      idempotency_key_(options.idempotency_key),
      accept_(options.accept.empty() ? operation.accept : options.accept) {
  const auto fits = [&](const Expected& one) { return fit(one.media_type, options.accept) != 0; };
  if (!options.accept.empty() && std::ranges::none_of(operation.responses, fits)) {
    problem_ = "the contract declares no response of the media type " + std::string(options.accept);
  }
  for (const http::Field& field : options.headers) {
    out_.header(field.name, field.value);
    own_headers_.emplace_back(field.name);
  }
}

void Call::upload(std::span<const std::string_view> media_types, std::string_view media_type, Upload&& body,
                  bool is_required) {
  if (!body.writer_ && !body.bytes()) {
    if (is_required) problem_ = "the contract requires a body";
    return;
  }
  const auto fits = [&](std::string_view one) { return fit(one, media_type) != 0; };
  if (std::ranges::none_of(media_types, fits)) {
    problem_ = "the contract accepts no body of the media type " + std::string(media_type);
  }
  if (body.writer_) {
    out_.stream_body(media_type, std::move(body.writer_), body.length_);
  } else {
    out_.bytes_body(media_type, body.bytes());
  }
}

bool Call::has_own(std::string_view header) const {
  return std::ranges::any_of(own_headers_,
                             [&](const std::string& own) { return http::equals_ignore_case(own, header); });
}
bool Call::is_given(const Requirement& requirement) const {
  const Scheme& scheme = settings_->schemes[requirement.scheme].scheme;
  return scheme.kind == Scheme::Kind::Certificate || settings_->credentials[requirement.scheme].is_given() ||
         has_own(field_of(scheme));
}

Task<> Call::prove(const Requirement& requirement) {
  const Scheme& scheme = settings_->schemes[requirement.scheme].scheme;
  if (scheme.kind == Scheme::Kind::Certificate || has_own(field_of(scheme))) co_return;
  const std::string text = co_await settings_->credentials[requirement.scheme].text(requirement.scopes);
  switch (scheme.kind) {
    case Scheme::Kind::Bearer:
      out_.header("Authorization", "Bearer " + text, true);
      break;
    case Scheme::Kind::Basic:
      out_.header("Authorization", "Basic " + base64::encode(text, base64::Form::Standard), true);
      break;
    case Scheme::Kind::HeaderKey:
      out_.header(scheme.name, text, true);
      break;
    case Scheme::Kind::QueryKey:
      out_.query(scheme.name, text);
      break;
    case Scheme::Kind::CookieKey:
      out_.cookie(scheme.name, text);
      break;
    case Scheme::Kind::Certificate:
      break;
  }
}

Task<> Call::authenticate() {
  if (operation_->security.empty()) co_return;
  std::string needed;
  for (const Alternative& alternative : operation_->security) {
    const bool has_all = std::ranges::all_of(alternative, [&](const Requirement& one) { return is_given(one); });
    if (has_all) {
      for (const Requirement& one : alternative) co_await prove(one);
      co_return;
    }
    if (!needed.empty()) needed += ", or ";
    for (std::size_t i = 0; i < alternative.size(); ++i) {
      if (i != 0) needed += " and ";
      needed += settings_->schemes[alternative[i].scheme].name;
    }
  }
  co_await Error::text(
      Code::InvalidArgument,
      "the client has no credentials that the operation accepts: give it the credentials of " + needed);
}

Task<http::ClientRequest> Call::request() {
  if (!problem_.empty()) co_return Error::text(Code::InvalidArgument, problem_);
  co_await authenticate();
  if (!accept_.empty() && !has_own("Accept")) out_.header("Accept", accept_);
  http::ClientRequest made = co_await std::move(out_).finish(settings_->base);
  if (!idempotency_key_.empty()) made.idempotency_key(idempotency_key_);
  if (timeout_) made.timeout(*timeout_);
  co_return std::move(made);
}

Error Call::told(Error&& error, std::string_view url) const {
  return std::move(error).because(std::string(to_string(operation_->method)) + ' ' +
                                  std::string(url.substr(0, url.find('?'))));
}

Result<> Call::take(Outcome& outcome, std::string_view head, std::string_view url, Reply& reply) const {
  KEEL_TRY_VOID(reply.match());
  outcome.operation_ = operation_;
  outcome.head_ = head;
  outcome.url_ = url;
  outcome.status_ = reply.status();
  if (number(reply.status()) / 100 != 2) {
    outcome.described_ = std::string(operation_->id) + ": " + std::string(to_string(operation_->method)) + ' ' +
                         std::string(url.substr(0, url.find('?'))) + ": " + reply.described();
  }
  return {};
}

Task<> Call::send(Outcome& outcome, void* result, Read read) {
  http::ClientRequest asked = co_await request();
  const http::ClientResponse response = co_await transport_.send(std::move(asked));
  Reply reply(*operation_, response.status(), response.head(), response.body());
  Result<> taken = take(outcome, response.head(), response.url(), reply);
  if (taken) taken = read(result, reply);
  if (!taken) co_await told(std::move(taken).error(), response.url());
}

Task<> Call::open(Outcome& outcome, void* result, Read read, std::optional<http::ClientStream>& stream) {
  http::ClientRequest asked = co_await request();
  http::ClientStream response = co_await transport_.open(std::move(asked));
  Reply begun(*operation_, response.status(), response.head(), {});
  const bool is_declared = begun.match().has_value();
  const bool is_typed = is_declared && begun.expected().is_typed;
  std::string body;
  if (is_declared && !is_typed && !begun.expected().media_type.empty()) {
    // The caller reads the body piece by piece.
  } else {
    while (true) {
      const Chunk chunk = co_await response.read();
      if (chunk.empty()) break;
      body += chunk;
      if (body.size() <= (is_typed ? typed_bytes_max : other_bytes_max)) continue;
      if (!is_typed) break;
      Error error = Error::text(Code::Upstream, "returned a body of more than 8 MiB").from_environment();
      co_await told(std::move(error), response.url());
    }
  }
  Reply reply(*operation_, response.status(), response.head(), body);
  Result<> taken = take(outcome, response.head(), response.url(), reply);
  if (taken) taken = read(result, reply);
  if (!taken) co_await told(std::move(taken).error(), response.url());
  if (is_declared && !is_typed && !reply.expected().media_type.empty()) stream = std::move(response);
}

Task<> Call::fetch(Outcome& outcome, void* result, Read read) {
  Result<> sent = co_await attempt(send(outcome, result, read));
  if (!sent) co_await std::move(sent).error().because(operation_->id);
}
Task<> Call::begin(Outcome& outcome, void* result, Read read, std::optional<http::ClientStream>& stream) {
  Result<> begun = co_await attempt(open(outcome, result, read, stream));
  if (!begun) co_await std::move(begun).error().because(operation_->id);
}

}  // namespace keel::contract
