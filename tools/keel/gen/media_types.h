// gen/media_types.h — classifies the media types of a contract.

#pragma once

#include <string>
#include <string_view>

namespace keel::gen {

// In lower case.
std::string lower(std::string_view text);
// Without its parameters, in lower case.
std::string media_type_of(std::string_view text);
// application/json and what ends in +json; a form, urlencoded or multipart; XML.
bool is_json(std::string_view media_type);
bool is_form(std::string_view media_type);
bool is_xml(std::string_view media_type);

}  // namespace keel::gen
