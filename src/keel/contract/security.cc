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

std::optional<http::Response> read(http::Request& request, const Scheme& scheme, http::Credentials& credentials) {
  using Kind = Scheme::Kind;
  switch (scheme.kind) {
    case Kind::Bearer: {
      static const http::BearerScheme bearer({});
      return bearer.read(request, credentials);
    }
    case Kind::Basic: {
      static const http::BasicScheme basic({});
      return basic.read(request, credentials);
    }
    case Kind::HeaderKey:
      return http::ApiKeyScheme({.header = std::string(scheme.name)}).read(request, credentials);
    case Kind::QueryKey:
      return http::ApiKeyScheme({.header = {}, .query = std::string(scheme.name)}).read(request, credentials);
    case Kind::CookieKey:
      credentials.secret = http::find_cookie(request, scheme.name).value_or(std::string_view());
      if (!credentials.secret.empty()) return std::nullopt;
      return refuse_cookie(scheme, "this needs the cookie " + std::string(scheme.name));
    case Kind::Certificate:
      credentials.user = request.peer_identity();
      if (!credentials.user.empty()) return std::nullopt;
      return refuse_certificate("this needs a certificate of the client");
  }
  return http::refuse(http::Status::Unauthorized, "");
}

http::Response rejected(const Scheme& scheme) {
  using Kind = Scheme::Kind;
  switch (scheme.kind) {
    case Kind::Bearer:
      return http::BearerScheme({}).reject();
    case Kind::Basic:
      return http::BasicScheme({}).reject();
    case Kind::CookieKey:
      return refuse_cookie(scheme, "the cookie " + std::string(scheme.name) + " is not valid, or not any more");
    case Kind::Certificate:
      return refuse_certificate("the certificate of the client is not known");
    case Kind::HeaderKey:
    case Kind::QueryKey:
      break;
  }
  return http::ApiKeyScheme({}).reject();
}

// Adds the challenge of another response, where the refusal does not have it.
void add_challenge(http::Response& refusal, const http::Response& other) {
  const auto challenge = other.field("WWW-Authenticate");
  if (!challenge) return;
  const std::string line = "WWW-Authenticate: " + std::string(*challenge) + "\r\n";
  if (refusal.fields().find(line) != std::string_view::npos) return;
  refusal.header("WWW-Authenticate", *challenge);
}

}  // namespace

Task<http::Response> Authorization::operator()(http::Request& request, http::Next next) {
  std::optional<http::Response> refusal;
  for (const Alternative& alternative : alternatives_) {
    http::Credentials credentials[credentials_max];
    bool has_all = true;
    for (std::size_t i = 0; i < alternative.size(); ++i) {
      auto missing = read(request, schemes_[alternative[i].scheme], credentials[i]);
      if (!missing) continue;
      has_all = false;
      using enum http::Status;
      // That something is malformed tells more than that something is missing.
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
      if (verified.error().code() == Code::Unauthenticated) co_return rejected(schemes_[requirement.scheme]);
      co_return http::internal::failure_of(std::move(verified).error());
    }
    co_return co_await next(request);
  }
  co_return *std::move(refusal);
}

}  // namespace keel::contract
