// keel/http/message/negotiate.h — content negotiation: selects the media type or coding that a client prefers (RFC 9110
// §12.4.2, §12.5).
//
//   choose_media_type("text/*;q=0.5, application/json", {"text/plain", "application/json"})   // 1
//   choose_coding("gzip, br;q=0.9", {"br", "gzip"})                                           // 1
//
// The offered type with the highest weight is chosen; if several have that weight, the first of them is chosen. The
// most specific range that matches a type decides its weight: "text/plain;q=0, text/*" excludes text/plain but accepts
// text/html. Parameters other than the weight are ignored. A malformed element is ignored; quoted strings are
// recognized.
//
// Threads: functions.
// Cost:    O(number of bytes × number of offered types), no allocation.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace keel::http {

// The index of the best offered type for a value of Accept. If Accept has no well-formed element, the index of the
// first type; nullopt if the client accepts none of the types (406). `offered`: "type/subtype", without parameters.
std::optional<std::size_t> choose_media_type(std::string_view accept, std::span<const std::string> offered) noexcept;

// The index of the best offered coding for a value of Accept-Encoding; nullopt when the content should be sent without
// a coding. The names in `offered` must be in lower case. "x-gzip" is treated as "gzip" (RFC 9110 §8.4.1.3).
std::optional<std::size_t> choose_coding(std::string_view accept_encoding,
                                         std::span<const std::string_view> offered) noexcept;

// Whether `content_type`, a value of Content-Type, matches `range`: "text/plain", "text/*" or "*/*". The parameters of
// `content_type` are ignored, and so is the case of the letters.
bool is_of_media_range(std::string_view content_type, std::string_view range) noexcept;

// Whether `text` has the form "type/subtype", where both are tokens; the subtype may be '*'.
bool is_media_range(std::string_view text) noexcept;

}  // namespace keel::http
