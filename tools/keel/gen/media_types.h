// gen/media_types.h — what a media type of a contract stands for.

#pragma once

#include <string>
#include <string_view>

namespace keel::gen {

// In small letters.
std::string lower(std::string_view text);
// Without its parameters, in small letters.
std::string media_type_of(std::string_view text);
// application/json and what ends in +json; a form, urlencoded or multipart; XML.
bool is_json(std::string_view media_type);
bool is_form(std::string_view media_type);
bool is_xml(std::string_view media_type);

}  // namespace keel::gen
