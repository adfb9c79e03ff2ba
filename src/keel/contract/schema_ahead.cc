#include <charconv>
#include <string>
#include <utility>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/contract/schema.h"

namespace keel::contract {
namespace {

std::string unescaped(std::string_view token) {
  std::string key;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool is_escape = token[i] == '~' && i + 1 < token.size();
    key += is_escape ? (token[++i] == '1' ? '/' : '~') : token[i];
  }
  return key;
}

// Moves to the next element, or to the member with that name; returns false when there is none, in which case the
// reader has left the container.
bool enter(json::Reader& in, std::string_view token) {
  if (in.peek() == json::Kind::Array) {
    std::size_t index = 0;
    std::from_chars(token.data(), token.data() + token.size(), index);
    in.begin_array();
    for (std::size_t i = 0; in.next_element(); ++i) {
      if (i == index) return true;
      in.skip();
    }
    return false;
  }
  const std::string key = unescaped(token);
  in.begin_object();
  while (const auto name = in.next_key()) {
    if (*name == key) return true;
    in.skip();
  }
  return false;
}

// The position, within the text, of the value to which the pointer leads; if there is no such value, the end of the
// object in which the value is missing.
json::Problem place_of(std::string_view text, std::string_view pointer) {
  Arena arena;
  json::Reader in(text, arena);
  bool is_there = true;
  while (!pointer.empty() && is_there) {
    pointer.remove_prefix(1);
    const std::string_view token = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(token.size());
    is_there = enter(in, token);
  }
  if (is_there) in.peek();
  in.fail("", is_there ? nullptr : "");
  return in.problem();
}

Excuse excuse_of(const json::Reader& in) noexcept { return in.is_response() ? Excuse::WriteOnly : Excuse::ReadOnly; }

}  // namespace

bool check_ahead(json::Reader& in, const Schema& schema, Violations& wrong) {
  if (in.failed()) return false;
  const json::Reader::Mark mark = in.mark();
  const int depth = in.depth();
  json::Value value;
  read_json(in, value);
  if (in.failed()) return false;
  Violations found;
  if (check(value, schema, found, excuse_of(in))) return in.rewind(mark);

  if (!in.rewind(mark)) return false;
  in.peek();
  in.fail("");
  const json::Problem base = in.problem();
  Buffer path;
  in.append_path(path);
  in.resume(depth);
  if (!in.rewind(mark)) return false;
  const std::string_view text = in.skip();
  if (!in.rewind(mark)) return false;
  bool has_room = true;
  for (const Violation& one : found) {
    const json::Problem place = place_of(text, one.pointer);
    Violation moved{std::string(path.view()) + one.pointer, one.message, base.line + place.line - 1, place.column,
                    one.keyword};
    if (place.line == 1) moved.column += base.column - 1;
    has_room = wrong.add(std::move(moved));
    if (!has_room) break;
  }
  // `wrong` is full at this point, because `found` was full. Adding one more violation makes wrong.has_more() true.
  if (has_room && found.has_more()) has_room = wrong.add({});
  if (!has_room) {
    in.peek();
    in.fail("");
  }
  return false;
}

int choose_ahead(json::Reader& in, std::span<const Schema* const> schemas) {
  if (in.failed()) return -1;
  const json::Reader::Mark mark = in.mark();
  json::Value value;
  read_json(in, value);
  if (in.failed() || !in.rewind(mark)) return -1;
  for (std::size_t i = 0; i < schemas.size(); ++i) {
    Violations ignored;
    if (check(value, *schemas[i], ignored, excuse_of(in))) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace keel::contract
