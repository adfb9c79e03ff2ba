// gen/media_types.h — classifies the media types of a contract.

#pragma once

#include <string>
#include <string_view>

#include "openapi/document.h"

namespace keel::gen {

// In lower case.
std::string lower(std::string_view text);
// Returns a media type without its parameters, in lower case.
std::string media_type_of(std::string_view text);
// JSON: application/json, and types that end in +json. A form: urlencoded or multipart. XML.
bool is_json(std::string_view media_type);
bool is_form(std::string_view media_type);
bool is_xml(std::string_view media_type);
// Whether the content is read and written as JSON. It must have a schema, and its media type must be JSON; if the
// schema does not allow strings, the media type may also be */* or application/*.
bool is_json_content(const openapi::Document& document, const openapi::Node& media);

}  // namespace keel::gen
