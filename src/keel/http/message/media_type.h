// keel/http/message/media_type.h — finds the media type for the name of a file.
//
// The table is built in and contains the types that web servers usually serve; no file of the system is read.

#pragma once

#include <string_view>

namespace keel::http {

// The media type for the extension of `name`, whose case is ignored: "text/html; charset=utf-8" for "a/index.HTML". The
// type is "application/octet-stream" when the extension is unknown or missing. The result is a string literal. Text
// types have the charset UTF-8.
std::string_view media_type_of(std::string_view name) noexcept;

}  // namespace keel::http
