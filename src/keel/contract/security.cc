#include "keel/contract/security.h"

#include <optional>
#include <string>
#include <utility>

#include "keel/http/server/cookie.h"
#include "keel/http/server/problem.h"

namespace keel::contract {
namespace {

http::Response refuse_cookie(const Scheme& scheme, std::string_view detail) {
  return http::refuse(http::Status::Unauthorized, detail)
      .header("WWW-Authenticate", "Cookie realm=\"api\", cookie-name=\"" + std::string(scheme.name) + '"');
}
http::Response refuse_certificate(std::string_view detail) {
  return http::refuse(http::Status::Unauthorized, detail).header("WWW-Authenticate", "Certificate realm=\"api\"");
}

const http::BearerScheme& bearer() {
  static const http::BearerScheme scheme({});
  return scheme;
}
const http::BasicScheme& basic() {
  static const http::BasicScheme scheme({});
  return scheme;
}

// Adds the challenge of another response to `refusal`, unless it already has that challenge.
void add_challenge(http::Response& refusal, const http::Response& other) {
  const auto challenge = other.field("WWW-Authenticate");
  if (!challenge) return;
  const std::string line = "WWW-Authenticate: " + std::string(*challenge) + "\r\n";
  if (refusal.fields().find(line) != std::string_view::npos) return;
  refusal.header("WWW-Authenticate", *challenge);
}

}  // namespace

Authorization::Authorization(std::span<const Scheme> schemes, std::span<const Alternative> alternatives,
                             Verifiers& verifiers)
    : schemes_(schemes), keys_(schemes.size()), alternatives_(alternatives), verifiers_(&verifiers) {
  for (const Alternative& alternative : alternatives) {
    for (const Requirement& requirement : alternative) {
      const Scheme& scheme = schemes[requirement.scheme];
      if (scheme.kind == Scheme::Kind::HeaderKey) {
        keys_[requirement.scheme].emplace(http::ApiKeyOptions{.header = std::string(scheme.name)});
      } else if (scheme.kind == Scheme::Kind::QueryKey) {
        keys_[requirement.scheme].emplace(http::ApiKeyOptions{.header = {}, .query = std::string(scheme.name)});
      }
    }
  }
}

std::optional<http::Response> Authorization::read(http::Request& request, std::size_t i,
                                                  http::Credentials& credentials) const {
  using Kind = Scheme::Kind;
  const Scheme& scheme = schemes_[i];
  switch (scheme.kind) {
    case Kind::Bearer:
      return bearer().read(request, credentials);
    case Kind::Basic:
      return basic().read(request, credentials);
    case Kind::HeaderKey:
    case Kind::QueryKey:
      return keys_[i]->read(request, credentials);
    case Kind::CookieKey:
      credentials.secret = http::find_cookie(request, scheme.name).value_or(std::string_view());
      if (!credentials.secret.empty()) return std::nullopt;
      return refuse_cookie(scheme, "the request lacks the cookie " + std::string(scheme.name));
    case Kind::Certificate:
      credentials.user = request.peer_identity();
      if (!credentials.user.empty()) return std::nullopt;
      return refuse_certificate("a client certificate is required");
  }
  return http::refuse(http::Status::Unauthorized, "");
}

http::Response Authorization::rejected(std::size_t i) const {
  using Kind = Scheme::Kind;
  const Scheme& scheme = schemes_[i];
  switch (scheme.kind) {
    case Kind::Bearer:
      return bearer().reject();
    case Kind::Basic:
      return basic().reject();
    case Kind::CookieKey:
      return refuse_cookie(scheme, "the cookie " + std::string(scheme.name) + " is not valid, or no longer valid");
    case Kind::Certificate:
      return refuse_certificate("the client certificate is not known");
    case Kind::HeaderKey:
    case Kind::QueryKey:
      break;
  }
  return keys_[i]->reject();
}

Task<http::Response> Authorization::operator()(http::Request& request, http::Next next) {
  std::optional<http::Response> refusal;
  for (const Alternative& alternative : alternatives_) {
    http::Credentials credentials[credentials_max];
    bool has_all = true;
    for (std::size_t i = 0; i < alternative.size(); ++i) {
      auto missing = read(request, alternative[i].scheme, credentials[i]);
      if (!missing) continue;
      has_all = false;
      using enum http::Status;
      // A rejection because of a malformed credential is more informative than one because of a missing credential.
      if (!refusal || (missing->status() == BadRequest && refusal->status() != BadRequest)) {
        refusal = std::move(missing);
      } else if (missing->status() == Unauthorized && refusal->status() == Unauthorized) {
        add_challenge(*refusal, *missing);
      }
    }
    if (!has_all) continue;
    for (std::size_t i = 0; i < alternative.size(); ++i) {
      const Requirement& requirement = alternative[i];
      Result<> verified =
          co_await attempt(verifiers_->verify(requirement.scheme, request, credentials[i], requirement.scopes));
      if (verified) continue;
      if (verified.error().code() == Code::Unauthenticated) co_return rejected(requirement.scheme);
      co_return http::internal::failure_of(std::move(verified).error());
    }
    co_return co_await next(request);
  }
  co_return *std::move(refusal);
}

}  // namespace keel::contract
