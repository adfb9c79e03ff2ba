// keel/http/middleware/authentication.h — authenticates callers with bearer tokens (RFC 6750), Basic (RFC 7617) or API
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
// You write the verifier, which is a function object; the middleware keeps it. The verifier returns std::optional<T>,
// Result<std::optional<T>> or Task<std::optional<T>>; T identifies the caller, and a handler gets the T by calling
// request.get<T>(). Responses to the client:
//   no credentials, or those of another scheme   401, WWW-Authenticate: Bearer realm="orders"
//   credentials that violate the scheme's form,  400, for Bearer with error="invalid_request"
//   and more than one API key
//   the verifier returns nullopt, or the error   401, for Bearer with error="invalid_token"
//   Unauthenticated
//   the verifier fails with another error        the error's status if that is 500 or above, such as 503 for
//                                                Unavailable and 504 for DeadlineExceeded; 403 for PermissionDenied;
//                                                500 for all other errors, because the outage of a database, for
//                                                example, does not mean that a token is wrong
// The middleware checks the credentials as soon as the head of a request has arrived, and does not wait for the body,
// even if the verifier itself has to wait. Therefore the body of a rejected request is not received. Credentials appear
// in no response and in no line of the log.
//
// With Basic, the user and the password are UTF-8 without control characters, and the user has no colon. Credentials
//        that are not UTF-8 get 401. A bearer token is read only from the field Authorization, never from a form or the
//        query.
//
// Add Cors before this middleware, so that Cors handles preflights first: a preflight has no credentials
// (http/middleware/cors.h).
//
// Lifetime: the views that are passed to a verifier live as long as the request.
// Threads:  all workers call the same verifier, possibly at the same time.
// Cost:     no heap. If a verifier returns its result directly, not in a Task, and if T is trivially copyable, the
//           middleware needs no task. With any other verifier, the middleware runs a task for each request. This task
//           of the middleware owns the T that the verifier returned. Therefore the after() of an outer middleware
//           cannot get the T: the task has ended before after() runs.

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
  // The name of the protected area, for people to read; it must not contain quotes or backslashes.
  std::string realm = "api";
};
// Options of basic().
struct BasicOptions {
  // As BearerOptions::realm. Browsers may show the realm when they ask for the user and the password.
  std::string realm = "api";
};
// Options of api_key(): the header or the query parameter that contains the key.
struct ApiKeyOptions {
  std::string realm = "api";  // As BearerOptions::realm.
  // The request field that contains the key; empty: the key is not read from a field.
  std::string header = "X-Api-Key";
  // The query parameter that may contain the key instead of the field; empty: the key is not read from the query.
  // Prefer a field to a query parameter, because browser histories and the logs of proxies keep URLs.
  std::string query = {};
};

// The credentials that a client has sent. The members are views into the request.
struct Credentials {
  std::string_view user;  // For Basic, the name of the user; empty for the other schemes.
  // The token, the password or the key; only a password may be empty.
  std::string_view secret;
};

// A scheme reads the credentials from a request, and makes the responses that reject credentials or ask for them. The
// constructors check the options: a realm or a name that is not allowed in a field is a bug and aborts.
class BearerScheme {
 public:
  using Options = BearerOptions;
  explicit BearerScheme(const BearerOptions& options);
  // Stores the credentials in `credentials`; returns a response if they are missing or malformed.
  std::optional<Response> read(Request& request, Credentials& credentials) const;
  Response reject() const;

 private:
  std::string challenge_;
};
// Reads the user and the password of the Basic scheme.
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
                "a verifier must return std::optional<T>, Result<std::optional<T>> or Task<std::optional<T>>, where T "
                "identifies the caller");
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

// Gives an error of a verifier a code whose status is 5xx, because the client did not cause the error; does not change
// PermissionDenied and Cancelled.
Error failure_of(Error&& error) noexcept;

}  // namespace internal

// The middleware that bearer(), basic() and api_key() return.
template <class Scheme, class V>
class Authentication {
  using Verdict = typename internal::VerifierCall<Scheme, V>::Result;
  using Identity = typename internal::Verified<Verdict>::Identity;
  static constexpr bool is_at_once = internal::Verified<Verdict>::is_at_once;

 public:
  using KeptAround = void;  // Allows a router to own this middleware (http/server/middleware.h).

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

// The middleware calls `verifier` with the token.
template <class V>
auto bearer(V verifier, const BearerOptions& options = {}) {
  return Authentication<BearerScheme, V>(std::move(verifier), options);
}
// The middleware calls `verifier` with the user and the password.
template <class V>
auto basic(V verifier, const BasicOptions& options = {}) {
  return Authentication<BasicScheme, V>(std::move(verifier), options);
}
// The middleware calls `verifier` with the key.
template <class V>
auto api_key(V verifier, const ApiKeyOptions& options = {}) {
  return Authentication<ApiKeyScheme, V>(std::move(verifier), options);
}

// A 403 for a known client that lacks a permission; `scope` names the scopes that the request would need (RFC 6750
// §3.1), separated by blanks: "orders:write". If `scope` contains a character that is not allowed in a header field,
// the response becomes a 500 (Response::header).
Response insufficient_scope(std::string_view scope);

// A key and the name of its owner.
struct NamedKey {
  std::string name;
  std::string key;
};
// The owner of the key that a request was made with; a handler gets the owner by calling request.get<http::KeyOwner>().
// The name is valid as long as the middleware.
struct KeyOwner {
  std::string_view name;
};

// A verifier for keys that are known when the program starts, for example from its configuration: tokens, API keys, or
// the users and passwords of Basic. A key is compared with every known key, in a time that depends only on the sizes
// (base/constant_time.h).
class KnownKeys {
 public:
  // An empty key, for example one that the configuration does not set, is Misconfigured (base/bug.h): the service does
  // not start, and the error names the owner of the key.
  explicit KnownKeys(std::vector<NamedKey> keys);
  std::optional<KeyOwner> operator()(std::string_view key) const noexcept;
  std::optional<KeyOwner> operator()(std::string_view name, std::string_view key) const noexcept;

 private:
  std::vector<NamedKey> keys_;
};
// A verifier that accepts each of `keys`; keys are compared in constant time.
inline KnownKeys one_of(std::vector<NamedKey> keys) { return KnownKeys(std::move(keys)); }

}  // namespace keel::http
