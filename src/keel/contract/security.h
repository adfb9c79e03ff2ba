// keel/contract/security.h — enforces the `security` of a contract's operations: for generated code.
//
// A contract's `security` lists alternatives, each of which needs one or several schemes. They are tried in order. The
// first alternative whose credentials are all present decides: its verifiers accept or reject the request. When no
// alternative has all of its credentials, the response is 401, with a WWW-Authenticate for each missing scheme. An
// alternative without schemes lets every request pass.
//
// Verifiers: functions of the class Security that the contract's code declares. Such a function returns normally if the
//            client is allowed, and ends with an error if it is not: Unauthenticated becomes 401, PermissionDenied 403,
//            and a failure of the verifier itself the 5xx status of its code. It stores the identity of the client in
//            the request, by Request::set().
// Errors:    an invalid name of a header is a bug, and aborts when an Authorization is made.
// Threads:   an Authorization is made on one thread, and called on every worker of the router.
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

// Middleware around the routes of an operation; it decides as soon as the head has arrived.
class Authorization {
 public:
  using KeptAround = void;  // Lets the router keep it (http/server/middleware.h).

  // The three arguments outlive the router.
  Authorization(std::span<const Scheme> schemes, std::span<const Alternative> alternatives, Verifiers& verifiers);

  Task<http::Response> operator()(http::Request& request, http::Next next);

 private:
  std::optional<http::Response> read(http::Request& request, std::size_t scheme, http::Credentials& credentials) const;
  http::Response rejected(std::size_t scheme) const;

  std::span<const Scheme> schemes_;
  std::vector<std::optional<http::ApiKeyScheme>> keys_;  // An element is set if its scheme is an API key.
  std::span<const Alternative> alternatives_;
  Verifiers* verifiers_;
};

}  // namespace keel::contract
