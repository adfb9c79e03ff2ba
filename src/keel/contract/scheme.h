// keel/contract/scheme.h — for the generated code of services (security.h) and of clients (client.h): the credentials
// that an operation of a contract requires.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace keel::contract {

struct Scheme {
  enum class Kind : std::uint8_t { Bearer, Basic, HeaderKey, QueryKey, CookieKey, Certificate };
  Kind kind;
  std::string_view name;  // The name of the header field, query parameter or cookie that contains the credential.
};
// A security scheme that a request must satisfy, with the scopes that are required.
struct Requirement {
  std::uint8_t scheme;  // The index of the scheme in the contract's list of schemes.
  std::span<const std::string_view> scopes;
};
// Requirements, all of which a request must satisfy.
using Alternative = std::span<const Requirement>;

// Scopes of OAuth or OpenID Connect.
using Scopes = std::span<const std::string_view>;

// The largest number of schemes in one alternative.
inline constexpr std::size_t credentials_max = 8;

}  // namespace keel::contract
