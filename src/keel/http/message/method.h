// keel/http/message/method.h — request methods.
//
// The methods of RFC 9110 §9, PATCH (RFC 5789) and QUERY (draft-ietf-httpbis-safe-method-w-body). Any other token
// becomes Method::Other; the request still contains the token's text.
//
// Cost: a switch on the length and one or two comparisons of words.

#pragma once

#include <cstdint>
#include <string_view>

namespace keel::http {

enum class Method : std::uint8_t { Get, Head, Post, Put, Delete, Patch, Options, Trace, Connect, Query, Other };
// The number of methods, including Other.
inline constexpr int method_count = 11;

// Methods are case-sensitive: "get" is Other.
Method parse_method(std::string_view text) noexcept;
// The name of the method: "GET" for Get; "" for Other. Static storage.
std::string_view to_string(Method method) noexcept;

}  // namespace keel::http
