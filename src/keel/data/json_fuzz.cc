// The Reader survives every input; what it accepts, the Writer writes so that it is accepted again and equal; skip()
// accepts exactly what reading accepts, numbers out of range aside.

#include <cstdlib>
#include <string>

#include "keel/data/json.h"
#include "keel/data/json_indent.h"

namespace {

using namespace keel;

void copy(json::Reader& in, json::Writer& out) {
  // The fuzzer's own recursion is bounded by the Reader's depth.
  switch (in.peek()) {
    case json::Kind::Object:
      in.begin_object();
      out.begin_object();
      while (auto key = in.next_key()) {
        out.key(*key);
        copy(in, out);
      }
      if (!in.failed()) out.end_object();
      return;
    case json::Kind::Array:
      in.begin_array();
      out.begin_array();
      while (in.next_element()) copy(in, out);
      if (!in.failed()) out.end_array();
      return;
    case json::Kind::String:
      out.string(in.string());
      return;
    case json::Kind::Number:
      out.number(in.number());
      return;
    case json::Kind::Boolean:
      out.boolean(in.boolean());
      return;
    case json::Kind::Null:
      in.null(), out.null();
      return;
    case json::Kind::None:
      in.skip();
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Arena arena;
  Buffer first;
  {
    json::Reader in(text, arena);
    json::Writer out(first);
    copy(in, out);
    json::Reader skipping(text, arena);
    skipping.skip();
    const bool accepted = in.finish().is_ok();
    if (accepted != skipping.finish().is_ok() && in.problem().cause == json::Problem::Cause::Syntax) std::abort();
    if (!accepted) {
      if (in.problem().offset > size) std::abort();
      return 0;
    }
  }
  Buffer second;
  Buffer indented;
  json::indent(indented, first.view());
  json::Reader again(indented.view(), arena);
  json::Writer out(second);
  copy(again, out);
  if (!again.finish().is_ok() || first.view() != second.view()) std::abort();
  return 0;
}
