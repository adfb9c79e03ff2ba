#include "load/check.h"

#include "keel/data/json.h"
#include "load/text.h"

namespace keel::load {
namespace {

// Moves to the value of `name` in the object or array at which `in` stands.
bool enter(json::Reader& in, std::string_view name) {
  if (in.peek() == json::Kind::Object) {
    in.begin_object();
    while (const auto key = in.next_key()) {
      if (*key == name) return true;
      in.skip();
    }
    return false;
  }
  const auto index = parse_count(name);
  if (in.peek() != json::Kind::Array || !index) return false;
  in.begin_array();
  for (std::uint64_t at = 0; in.next_element(); ++at) {
    if (at == *index) return true;
    in.skip();
  }
  return false;
}

bool has_member(std::string_view body, const Check::Member& member, Arena& arena) {
  arena.rewind();
  json::Reader in(body, arena);
  for (std::string_view path = member.path;;) {
    const std::size_t dot = path.find('.');
    if (!enter(in, path.substr(0, dot))) return false;
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  const std::string_view value = in.peek() == json::Kind::String ? in.string() : in.skip();
  return !in.failed() && value == member.value;
}

}  // namespace

bool Check::has_body(std::string_view received, Arena& arena) const {
  if (body && received != *body) return false;
  if (length && received.size() != *length) return false;
  for (const std::string& part : contains) {
    if (received.find(part) == std::string_view::npos) return false;
  }
  for (const Member& member : json) {
    if (!has_member(received, member, arena)) return false;
  }
  return true;
}

Result<Check::Member> parse_member(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Error::text(Code::InvalidArgument,
                       "'" + std::string(text) + "' is not a member and its expected value, such as user.name=Ada");
  }
  return Check::Member{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace keel::load
