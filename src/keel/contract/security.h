// keel/contract/security.h — for generated code: enforces the `security` of a contract's operations.
//
// A contract's `security` lists alternatives, each of which needs one or several schemes. The alternatives are tried in
// order. The first alternative whose credentials are all present decides: its verifiers accept or reject the request.
// When no alternative has all of its credentials, the response is 401, with a WWW-Authenticate field for each missing
// scheme. An alternative without schemes accepts every request.
//
// Verifiers: the functions of the class Security, which generated code declares. A verifier returns normally if the
//            client is allowed, and with an error if it is not: Unauthenticated becomes 401, PermissionDenied becomes
//            403, and a failure of the verifier itself becomes the 5xx status of its code. The function stores the
//            identity of the client in the request, by Request::set().
// Errors:    constructing an Authorization with an invalid header name is a bug and aborts.
// Threads:   an Authorization is constructed on one thread, and called on every worker of the router.
// Cost:      a task for each verifier that is called; heap memory only for a rejection.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "keel/contract/scheme.h"
#include "keel/http/middleware/authentication.h"
#include "keel/http/server/middleware.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/task/task.h"

namespace keel::contract {

class Verifiers {
 public:
  virtual Task<> verify(std::size_t scheme, http::Request& request, const http::Credentials& credentials,
                        Scopes scopes) = 0;

 protected:
  ~Verifiers() = default;
};

// Middleware around the routes of an operation; it accepts or rejects a request when the head of the request has
// arrived, before the body arrives.
class Authorization {
 public:
  // Allows a router to store this middleware although it returns a Task (http/server/middleware.h).
  using KeptAround = void;

  // The objects to which the three arguments refer must outlive the router.
  Authorization(std::span<const Scheme> schemes, std::span<const Alternative> alternatives, Verifiers& verifiers);

  Task<http::Response> operator()(http::Request& request, http::Next next);

 private:
  std::optional<http::Response> read(http::Request& request, std::size_t scheme, http::Credentials& credentials) const;
  http::Response rejected(std::size_t scheme) const;

  std::span<const Scheme> schemes_;
  // One element for each scheme: a reader of the key if the scheme is an API key in a header or a query, otherwise
  // nullopt.
  std::vector<std::optional<http::ApiKeyScheme>> keys_;
  std::span<const Alternative> alternatives_;
  Verifiers* verifiers_;
};

}  // namespace keel::contract
