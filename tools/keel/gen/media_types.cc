#include "gen/media_types.h"

#include <algorithm>

#include "gen/alternatives.h"

namespace keel::gen {

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return lowered;
}
// Returns the media type without its parameters, in lower case.
std::string media_type_of(std::string_view text) {
  text = text.substr(0, text.find(';'));
  while (text.ends_with(' ')) text.remove_suffix(1);
  return lower(text);
}
bool is_json(std::string_view media_type) {
  const std::string type = media_type_of(media_type);
  return type == "application/json" || type.ends_with("+json");
}
bool is_form(std::string_view media_type) {
  const std::string type = media_type_of(media_type);
  return type == "application/x-www-form-urlencoded" || type == "multipart/form-data";
}
bool is_xml(std::string_view media_type) {
  const std::string type = media_type_of(media_type);
  return type == "application/xml" || type == "text/xml" || type.ends_with("+xml");
}

bool is_json_content(const openapi::Document& document, const openapi::Node& media) {
  const openapi::Node* const schema = media.find("schema");
  if (schema == nullptr || is_json(media.key)) return schema != nullptr;
  const std::string type = media_type_of(media.key);
  if (type != "*/*" && type != "application/*") return false;
  const Kinds kinds = kinds_meant(document, *schema);
  return kinds != 0 && (kinds & string_kind) == 0;
}

}  // namespace keel::gen
