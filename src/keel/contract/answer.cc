#include "keel/contract/answer.h"

#include <string>

#include "keel/base/arena.h"
#include "keel/data/json_reader.h"

namespace keel::contract {
namespace {

void append_element(std::string& list, std::string_view text) {
  const bool has_blanks =
      !text.empty() && (text.front() == ' ' || text.front() == '\t' || text.back() == ' ' || text.back() == '\t');
  if (!text.empty() && !has_blanks && text.find(',') == std::string_view::npos && text.front() != '"') {
    list += text;
    return;
  }
  list += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') list += '\\';
    list += c;
  }
  list += '"';
}

struct Written {
  const void* value;
  void (*write)(json::Writer& out, const void* value);
};
void write_json(json::Writer& out, const Written& value) { value.write(out, value.value); }

}  // namespace

Answer::Answer(http::Status status) : response_(status) {}
Answer::Answer(http::Status status, const void* value, Write write, std::string_view content_type)
    : response_(http::Response::json(status, Written{value, write})) {
  if (content_type != "application/json") response_.header("Content-Type", content_type);
}
Answer::Answer(http::Status status, std::string_view detail) : response_(http::refuse(status, detail)) {}

void Answer::set_header_text(std::string_view name, std::string_view text) { response_.header(name, text); }

void Answer::set_header_json(std::string_view name, std::string_view json) {
  Arena arena;
  json::Reader in(json, arena);
  const auto is_text = [&] { return in.peek() == json::Kind::String; };
  const auto text = [&] { return is_text() ? in.string() : in.skip(); };
  if (in.peek() != json::Kind::Array) {
    response_.header(name, text());
    return;
  }
  std::string list;
  in.begin_array();
  for (bool is_first = true; in.next_element(); is_first = false) {
    if (!is_first) list += ',';
    if (is_text()) {
      append_element(list, in.string());
    } else {
      list += in.skip();
    }
  }
  response_.header(name, list);
}

}  // namespace keel::contract
