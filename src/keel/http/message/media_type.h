// keel/http/message/media_type.h — the media type for the name of a file.
//
// A table of what web servers usually serve, built in: no file of the system is read.

#pragma once

#include <string_view>

namespace keel::http {

// The media type for the extension of `name` in any case: "text/html; charset=utf-8" for "a/index.HTML";
// "application/octet-stream" when the extension is unknown or missing. A literal. Text types have the charset UTF-8.
std::string_view media_type_of(std::string_view name) noexcept;

}  // namespace keel::http
