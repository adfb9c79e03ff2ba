#include "keel/contract/response.h"

#include <string>

#include "keel/base/arena.h"
#include "keel/contract/internal/header_list.h"
#include "keel/data/json_reader.h"
#include "keel/http/message/fields.h"

namespace keel::contract {
namespace {

struct Written {
  const void* value;
  void (*write)(json::Writer& out, const void* value);
};
void write_json(json::Writer& out, const Written& value) {
  out.set_omit(json::Writer::Omit::WriteOnly);
  value.write(out, value.value);
}

}  // namespace

Response::Response(http::Status status) : response_(status) {}
Response::Response(http::Status status, const void* value, Write write, std::string_view content_type)
    : response_(http::Response::json(status, Written{value, write})) {
  if (content_type != "application/json") response_.header("Content-Type", content_type);
}
Response::Response(http::Status status, std::string_view detail) : response_(http::refuse(status, detail)) {}

void Response::set_header_text(std::string_view name, std::string_view text) { response_.header(name, text); }

void Response::set_header_json(std::string_view name, std::string_view json) {
  Arena arena;
  json::Reader in(json, arena);
  const auto is_text = [&] { return in.peek() == json::Kind::String; };
  const auto text = [&] { return is_text() ? in.string() : in.skip(); };
  if (in.peek() != json::Kind::Array) {
    response_.header(name, text());
    return;
  }
  in.begin_array();
  // Each element gets a separate field, because Set-Cookie is not a list (RFC 6265 §3).
  if (http::equals_ignore_case(name, "Set-Cookie")) {
    while (in.next_element()) response_.header(name, text());
    return;
  }
  std::string list;
  for (bool is_first = true; in.next_element(); is_first = false) {
    if (!is_first) list += ',';
    if (is_text()) {
      internal::append_element(list, in.string());
    } else {
      list += in.skip();
    }
  }
  response_.header(name, list);
}

}  // namespace keel::contract
