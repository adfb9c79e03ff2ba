// keel/http/middleware/authentication.h — authenticates callers: bearer tokens (RFC 6750), Basic (RFC 7617) and API
// keys.
//
//   struct Caller { std::int64_t id; bool may_write; };
//   auto verify = [&](std::string_view token) -> Task<std::optional<Caller>> {
//     co_return co_await sessions.find(token);                   // nullopt: no such token
//   };
//   http::Group api = router.group("/api");
//   api.use(http::bearer(verify, {.realm = "orders"}));
//   …
//   const Caller& caller = *request.get<Caller>();                // in a handler after it
//   if (!caller.may_write) co_return http::insufficient_scope("orders:write");
//
//   router.use(http::basic([&](std::string_view user, std::string_view password) -> std::optional<Caller> { … }));
//   router.use(http::api_key(http::one_of(keys), {.header = "X-Api-Key"}));
//
// You write the verifier, a function object that the middleware keeps. It returns std::optional<T>,
// Result<std::optional<T>> or Task<std::optional<T>>; T identifies the caller, and a handler gets it by
// request.get<T>(). Responses to the client:
//   no credentials, or those of another scheme   401, WWW-Authenticate: Bearer realm="orders"
//   what the scheme's grammar does not allow,    400, for Bearer with error="invalid_request"
//   and more than one API key
//   the verifier gives nullopt, or the error     401, for Bearer with error="invalid_token"
//   Unauthenticated
//   it fails otherwise                           what its error stands for from 500 up: 503 for Unavailable, 504 for
//                                                DeadlineExceeded, 403 for PermissionDenied, and 500 for every other
//                                                one. A database that is down does not say that a token is wrong.
// The middleware decides as soon as the head has arrived, even with a verifier that waits, so the body of a request
// without credentials is not received. No response and no line of the log contains credentials.
//
// Basic: user and password are UTF-8 without control characters; the user has no colon. Credentials that are not UTF-8
// get 401. A bearer token is taken only from the Authorization field, never from a form or the query.
//
// Add Cors before this middleware, so that it is further out: a preflight has no credentials (http/middleware/cors.h).
//
// Lifetime: the text that a verifier is given lives as long as the request.
// Threads:  one verifier for all workers, called by each.
// Cost:     no heap. A verifier that returns its result without a Task, and with a trivially copyable T, costs no task.
//           Any other verifier costs a task for each request. That task keeps T, so after() of a middleware further out
//           does not find it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "keel/http/server/middleware.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/task/task.h"

namespace keel::http {

// Options of bearer().
struct BearerOptions {
  std::string realm = "api";  // The name of the protected area, for people: without quotes and backslashes.
};
// Options of basic().
struct BasicOptions {
  std::string realm = "api";  // As BearerOptions::realm. Browsers show it when they ask for user and password.
};
// Options of api_key(): the header or the query parameter that has the key.
struct ApiKeyOptions {
  std::string realm = "api";         // As BearerOptions::realm.
  std::string header = "X-Api-Key";  // The request field that has the key; empty: no field.
  // The query parameter that may have the key instead; empty: none. Browser histories and logs of proxies keep URLs, so
  // prefer the field.
  std::string query = {};
};

// The credentials that a client has sent. Views into the request.
struct Credentials {
  std::string_view user;  // The user of Basic; else empty.
  // The token, the password or the key; only a password may be empty.
  std::string_view secret;
};

// Each scheme reads credentials, and makes the response that asks for them. The options of a scheme are checked: a
// realm or a name that is not allowed in a field is a bug and aborts.
class BearerScheme {
 public:
  using Options = BearerOptions;
  explicit BearerScheme(const BearerOptions& options);
  // Returns a response if there are no credentials.
  std::optional<Response> read(Request& request, Credentials& credentials) const;
  Response reject() const;

 private:
  std::string challenge_;
};
// Reads user and password of the Basic scheme.
class BasicScheme {
 public:
  using Options = BasicOptions;
  explicit BasicScheme(const BasicOptions& options);
  std::optional<Response> read(Request& request, Credentials& credentials) const;
  Response reject() const;

 private:
  std::string challenge_;
};
// Reads an API key from a header or a query parameter.
class ApiKeyScheme {
 public:
  using Options = ApiKeyOptions;
  explicit ApiKeyScheme(const ApiKeyOptions& options);
  std::optional<Response> read(Request& request, Credentials& credentials) const;
  Response reject() const;

 private:
  ApiKeyOptions options_;
  std::string challenge_;
};

namespace internal {

template <class R>
struct Verified {
  static_assert(!std::is_same_v<R, R>,
                "a verifier returns std::optional<T>, Result<std::optional<T>> or Task<std::optional<T>>, where T "
                "identifies the client");
};
template <class T>
struct Verified<std::optional<T>> {
  using Identity = T;
  static constexpr bool is_at_once = std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>;
};
template <class T>
struct Verified<Result<std::optional<T>>> : Verified<std::optional<T>> {};
template <class T>
struct Verified<Task<std::optional<T>>> {
  using Identity = T;
  static constexpr bool is_at_once = false;
};

template <class Scheme, class V>
struct VerifierCall {
  using Result = std::invoke_result_t<V&, std::string_view>;
};
template <class V>
struct VerifierCall<BasicScheme, V> {
  using Result = std::invoke_result_t<V&, std::string_view, std::string_view>;
};

// Marks an error of a verifier as one that the client did not cause.
Error failure_of(Error&& error) noexcept;

}  // namespace internal

// The middleware that bearer(), basic() and api_key() return.
template <class Scheme, class V>
class Authentication {
  using Verdict = typename internal::VerifierCall<Scheme, V>::Result;
  using Identity = typename internal::Verified<Verdict>::Identity;
  static constexpr bool is_at_once = internal::Verified<Verdict>::is_at_once;

 public:
  using KeptAround = void;  // The router may own it (http/server/middleware.h).

  Authentication(V verifier, const typename Scheme::Options& options)
      : scheme_(options), verifier_(std::move(verifier)) {}

  std::optional<Response> before(Request& request)
    requires(is_at_once)
  {
    Credentials credentials;
    if (auto refused = scheme_.read(request, credentials)) return refused;
    Result<std::optional<Identity>> identity = call(credentials);
    if (!identity) {
      if (identity.error().code() == Code::Unauthenticated) return scheme_.reject();
      return problem(request, internal::failure_of(std::move(identity).error()));
    }
    if (!*identity) return scheme_.reject();
    request.set(**identity);
    return std::nullopt;
  }

  Task<Response> operator()(Request& request, Next next)
    requires(!is_at_once)
  {
    Credentials credentials;
    if (auto refused = scheme_.read(request, credentials)) co_return *std::move(refused);
    Result<std::optional<Identity>> identity = std::optional<Identity>();
    if constexpr (std::is_same_v<Verdict, Task<std::optional<Identity>>>) {
      identity = co_await attempt(call(credentials));
    } else {
      identity = call(credentials);
    }
    if (!identity) {
      if (identity.error().code() == Code::Unauthenticated) co_return scheme_.reject();
      co_return internal::failure_of(std::move(identity).error());
    }
    if (!*identity) co_return scheme_.reject();
    const LentValue lent(request, **identity);
    co_return co_await next(request);
  }

 private:
  Verdict call(const Credentials& credentials) {
    if constexpr (std::is_same_v<Scheme, BasicScheme>) {
      return verifier_(credentials.user, credentials.secret);
    } else {
      return verifier_(credentials.secret);
    }
  }

  const Scheme scheme_;
  V verifier_;
};

// The verifier is called with the token.
template <class V>
auto bearer(V verifier, const BearerOptions& options = {}) {
  return Authentication<BearerScheme, V>(std::move(verifier), options);
}
// The verifier is called with the user and the password.
template <class V>
auto basic(V verifier, const BasicOptions& options = {}) {
  return Authentication<BasicScheme, V>(std::move(verifier), options);
}
// The verifier is called with the key.
template <class V>
auto api_key(V verifier, const ApiKeyOptions& options = {}) {
  return Authentication<ApiKeyScheme, V>(std::move(verifier), options);
}

// 403 for a known client that may not do this, with the scopes that it would need (RFC 6750 §3.1), separated by blanks:
// "orders:write". A scope that is not allowed in a field turns the response into a 500 (Response::header).
Response insufficient_scope(std::string_view scope);

// A key and the name of its owner.
struct NamedKey {
  std::string name;
  std::string key;
};
// The owner of the key, for request.get<http::KeyOwner>(). It lives as long as the middleware.
struct KeyOwner {
  std::string_view name;
};

// A verifier for keys that are known when the program starts, from its configuration: tokens, API keys, or the users
// and passwords of Basic. A key is compared with all of them, in a time that depends only on the sizes
// (base/constant_time.h).
class KnownKeys {
 public:
  // An empty key, as when the configuration leaves it out, is Misconfigured (base/bug.h): the service does not start,
  // and the error says whose key it is.
  explicit KnownKeys(std::vector<NamedKey> keys);
  std::optional<KeyOwner> operator()(std::string_view key) const noexcept;
  std::optional<KeyOwner> operator()(std::string_view name, std::string_view key) const noexcept;

 private:
  std::vector<NamedKey> keys_;
};
// A verifier that accepts one of `keys`, compared in constant time.
inline KnownKeys one_of(std::vector<NamedKey> keys) { return KnownKeys(std::move(keys)); }

}  // namespace keel::http
