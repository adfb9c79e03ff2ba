// A Value is read of exactly the texts that the Reader takes and that give no member twice; it is read back equal from
// what is written of it, and is the same when it is put together member by member.

#include <cstdlib>
#include <set>
#include <string>

#include "keel/data/json_parse.h"
#include "keel/data/json_value.h"
#include "keel/data/json_write.h"

namespace {

using namespace keel;

// Whether the text has a member twice; the Reader tells the rest.
bool has_second(json::Reader& in) {
  bool found = false;
  switch (in.peek()) {
    case json::Kind::Object: {
      std::set<std::string, std::less<>> keys;
      in.begin_object();
      while (const auto key = in.next_key()) {
        found |= !keys.insert(std::string(*key)).second;
        found |= has_second(in);
      }
      break;
    }
    case json::Kind::Array:
      in.begin_array();
      while (in.next_element()) found |= has_second(in);
      break;
    case json::Kind::Number:
      in.number();
      break;
    case json::Kind::String:
      in.string();
      break;
    default:
      in.skip();
  }
  return found;
}

json::Value rebuilt(const json::Value& value) {
  if (value.kind() == json::Kind::Object) {
    json::Value made = json::Value::object();
    for (const auto& [key, member] : value.members()) made[key] = rebuilt(member);
    return made;
  }
  if (value.kind() == json::Kind::Array) {
    json::Value made = json::Value::array();
    for (const json::Value& element : value.elements()) made.push_back(rebuilt(element));
    return made;
  }
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Arena arena;
  json::Reader in(text, arena);
  const bool has_twice = has_second(in);
  const bool is_taken = in.finish().is_ok() && !has_twice;
  json::Value value;
  Violations wrong;
  if (json::read(value, text, arena, wrong) != is_taken) std::abort();
  if (!is_taken) {
    // What is no JSON is malformed, unless a number before it was out of range, behind which no more is looked for
    // twice.
    if (in.failed() && in.problem().cause == json::Problem::Cause::Syntax && !wrong.is_malformed()) std::abort();
    return 0;
  }
  const std::string written = json::write(value);
  const json::Value again = json::parse<json::Value>(written).value();
  if (!(again == value) || json::write(again) != written) std::abort();
  json::Value other = rebuilt(value);
  if (!(other == value) || json::write(other) != written || !(json::Value(other) == value)) std::abort();
  const std::string pointer(text.substr(0, 16));
  if ((value.at(pointer) == nullptr) != (other.at(pointer) == nullptr)) std::abort();

  // Each member is found, and gone once it is erased.
  while (other.kind() == json::Kind::Object && !other.empty()) {
    const std::string key((*other.members().begin()).key);
    if (value.find(key) == nullptr || !(*value.find(key) == *other.find(key))) std::abort();
    if (!other.erase(key) || other.find(key) != nullptr) std::abort();
  }
  return 0;
}
