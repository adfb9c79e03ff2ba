// keel/contract/scheme.h — the credentials that an operation of a contract requires: for the generated code of services
// (security.h) and of clients (client.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace keel::contract {

struct Scheme {
  enum class Kind : std::uint8_t { Bearer, Basic, HeaderKey, QueryKey, CookieKey, Certificate };
  Kind kind;
  std::string_view name;  // The name of the header, the query parameter or the cookie.
};
// A security scheme that a request needs, with the scopes.
struct Requirement {
  std::uint8_t scheme;  // Index of the scheme.
  std::span<const std::string_view> scopes;
};
// Requirements that a request must fulfil together.
using Alternative = std::span<const Requirement>;

// The scopes of OAuth or OpenID Connect.
using Scopes = std::span<const std::string_view>;

// The largest number of schemes in one alternative.
inline constexpr std::size_t credentials_max = 8;

}  // namespace keel::contract
