// keel/http/message/negotiate.h — content negotiation: selects what a client accepts (RFC 9110 §12.4.2, §12.5).
//
//   choose_media_type("text/*;q=0.5, application/json", {"text/plain", "application/json"})   // 1
//   choose_coding("gzip, br;q=0.9", {"br", "gzip"})                                           // 1
//
// Weights decide, then the order of the offered types. A more specific range decides over a wider one: "text/plain;q=0,
// text/*" excludes text/plain. Parameters other than the weight are ignored. A malformed element is ignored; quoted
// strings are recognized.
//
// Threads: functions.
// Cost:    O(bytes times offered types), no allocation.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace keel::http {

// The index of the best media type for the value of Accept; the first type if Accept has no well-formed element,
// nullopt if no type is accepted (406). `offered`: "type/subtype", without parameters.
std::optional<std::size_t> choose_media_type(std::string_view accept, std::span<const std::string> offered) noexcept;

// The index of the best content coding for the value of Accept-Encoding, nullopt when the content is best sent as it
// is. `offered`: in lower case. "x-gzip" is "gzip" (RFC 9110 §8.4.1.3).
std::optional<std::size_t> choose_coding(std::string_view accept_encoding,
                                         std::span<const std::string_view> offered) noexcept;

// Whether the value of Content-Type matches `range`: "text/plain", "text/*" or "*/*". It ignores case and parameters.
bool is_of_media_range(std::string_view content_type, std::string_view range) noexcept;

// "type/subtype", where both are tokens, and the subtype may be '*'.
bool is_media_range(std::string_view text) noexcept;

}  // namespace keel::http
