// keel/contract/security.h — who may use an operation, as its contract says: for generated code.
//
// A contract's `security` lists alternatives, each of which needs one or several schemes. They are tried in order. The
// first whose credentials are all there decides: what its verifiers say is the answer. When none has them, the answer
// is 401, with a WWW-Authenticate for each scheme that is missing. One without schemes lets every request pass.
//
// Verifiers: functions of the class Security that the contract's code declares. Such a function ends as it should for
//            who may, and with an error for who may not: Unauthenticated is 401, PermissionDenied 403, and a failure of
//            its own what that stands for from 500 up. It keeps who is asking with the request, by Request::set().
// Cost:      a task for each verifier that is called.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "keel/http/middleware/authentication.h"
#include "keel/http/server/middleware.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/task/task.h"

namespace keel::contract {

struct Scheme {
  enum class Kind : std::uint8_t { Bearer, Basic, HeaderKey, QueryKey, CookieKey, Certificate };
  Kind kind;
  std::string_view name;  // Of the header, the query's parameter or the cookie.
};
struct Requirement {
  std::uint8_t scheme;  // Index.
  std::span<const std::string_view> scopes;
};
using Alternative = std::span<const Requirement>;

using Scopes = std::span<const std::string_view>;

// Schemes of one alternative.
inline constexpr std::size_t credentials_max = 8;

class Verifiers {
 public:
  virtual Task<> verify(std::size_t scheme, http::Request& request, const http::Credentials& credentials,
                        Scopes scopes) = 0;

 protected:
  ~Verifiers() = default;
};

// Middleware around the routes of an operation: it decides when the head has arrived.
class Authorization {
 public:
  using KeptAround = void;  // The router may keep it (http/server/middleware.h).

  // All three outlive the router.
  Authorization(std::span<const Scheme> schemes, std::span<const Alternative> alternatives,
                Verifiers& verifiers) noexcept
      : schemes_(schemes), alternatives_(alternatives), verifiers_(&verifiers) {}

  Task<http::Response> operator()(http::Request& request, http::Next next);

 private:
  std::span<const Scheme> schemes_;
  std::span<const Alternative> alternatives_;
  Verifiers* verifiers_;
};

}  // namespace keel::contract
