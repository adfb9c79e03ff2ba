// Finds one value of a document by its JSON Pointer; there is a function for each format.

#include <charconv>
#include <string>
#include <system_error>

#include "keel/base/arena.h"
#include "keel/data/cbor.h"
#include "keel/data/json_reader.h"
#include "keel/data/message_pack.h"

namespace keel {
namespace {

// Reads the next token of the pointer and removes its escapes; returns false at the end of the pointer.
bool next_token(std::string_view& pointer, std::string& token) {
  if (pointer.empty() || pointer.front() != '/') return false;
  const std::size_t end = pointer.find('/', 1);
  token.clear();
  for (std::size_t i = 1; i < pointer.size() && i < end; ++i) {
    if (pointer[i] != '~') {
      token += pointer[i];
    } else if (++i < pointer.size() && (pointer[i] == '0' || pointer[i] == '1')) {
      token += pointer[i] == '0' ? '~' : '/';
    } else {
      return false;
    }
  }
  pointer.remove_prefix(end == pointer.npos ? pointer.size() : end);
  return true;
}

template <class Reader>
bool enter(Reader& in, const std::string& token) {
  using Kind = decltype(in.peek());
  if (in.peek() == Kind::Object) {
    in.begin_object();
    while (const auto key = in.next_key()) {
      if (*key == token) return true;
      in.skip();
    }
    return false;
  }
  std::uint64_t index = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool is_index =
      read.ec == std::errc() && read.ptr == token.data() + token.size() && (token.size() == 1 || token.front() != '0');
  if (in.peek() != Kind::Array || !is_index) return false;
  in.begin_array();
  for (; in.next_element(); --index) {
    if (index == 0) return true;
    in.skip();
  }
  return false;
}

template <class Reader>
Result<std::string_view> find_value(std::string_view bytes, std::string_view pointer) {
  Arena arena;
  Reader in(bytes, arena);
  const std::string_view asked = pointer;
  std::string token;
  while (!pointer.empty()) {
    if (!next_token(pointer, token)) {
      return Error::text(Code::InvalidArgument, "\"" + std::string(asked) + "\" is not a JSON Pointer");
    }
    const bool is_there = enter(in, token);
    if (in.failed()) return in.error();
    if (!is_there) return Error::text(Code::NotFound, std::string(asked) + " is missing");
  }
  const std::string_view value = in.skip();
  if (in.failed()) return in.error();
  return value;
}

}  // namespace

Result<std::string_view> json::find(std::string_view text, std::string_view pointer) {
  return find_value<json::Reader>(text, pointer);
}
Result<std::string_view> cbor::find(std::string_view bytes, std::string_view pointer) {
  return find_value<cbor::Reader>(bytes, pointer);
}
Result<std::string_view> message_pack::find(std::string_view bytes, std::string_view pointer) {
  return find_value<message_pack::Reader>(bytes, pointer);
}

}  // namespace keel
