#include "keel/contract/answer.h"

#include <string>

#include "keel/base/arena.h"
#include "keel/data/json_reader.h"

namespace keel::contract {

void Answer::set_header_json(http::Response& response, std::string_view name, std::string_view json) {
  Arena arena;
  json::Reader in(json, arena);
  const auto text = [&] { return in.peek() == json::Kind::String ? in.string() : in.skip(); };
  if (in.peek() != json::Kind::Array) {
    response.header(name, text());
    return;
  }
  std::string list;
  in.begin_array();
  for (bool is_first = true; in.next_element(); is_first = false) {
    if (!is_first) list += ',';
    list += text();
  }
  response.header(name, list);
}

}  // namespace keel::contract
