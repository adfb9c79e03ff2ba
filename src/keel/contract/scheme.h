// keel/contract/scheme.h — the credentials that an operation of a contract asks for: for generated code of services
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
  std::string_view name;  // Of the header, the query's parameter or the cookie.
};
// A security scheme that a request needs, with the scopes.
struct Requirement {
  std::uint8_t scheme;  // Index.
  std::span<const std::string_view> scopes;
};
// Requirements that a request needs together.
using Alternative = std::span<const Requirement>;

// The scopes of OAuth or OpenID Connect.
using Scopes = std::span<const std::string_view>;

// Schemes of one alternative.
inline constexpr std::size_t credentials_max = 8;

}  // namespace keel::contract
