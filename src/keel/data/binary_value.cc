#include "keel/data/binary_value.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "keel/base/arena.h"
#include "keel/data/base64.h"
#include "keel/data/decimal.h"
#include "keel/data/internal/decimal_math.h"
#include "keel/data/json_parse.h"

namespace keel::binary {
namespace {

template <class Format>
void transcribe_number(Reader<Format>& in, json::Writer& out) {
  switch (in.number_kind()) {
    case NumberKind::Unsigned:
      out.unsigned_integer(in.uint64());
      break;
    case NumberKind::Negative:
      out.integer(in.int64());
      break;
    case NumberKind::Real:
      out.number(in.number());
      break;
  }
}

// Converts the value to JSON text first, because making a Value from a text takes linear time for all possible keys.
template <class Format>
void transcribe(Reader<Format>& in, json::Writer& out) {
  Kind kind = in.peek();
  while (kind == Kind::Other) {
    const auto tag = in.try_tag();
    if (!tag) break;
    if (*tag == internal::tag_decimal_fraction) {
      Decimal number;
      internal::read_decimal_fraction(in, number);
      if (!in.failed()) out.string(number.text());
      return;
    }
    kind = in.peek();
  }
  switch (kind) {
    case Kind::Object:
      in.begin_object();
      out.begin_object();
      while (const auto key = in.next_key()) {
        out.key(*key);
        transcribe(in, out);
      }
      if (!in.failed()) out.end_object();
      break;
    case Kind::Array:
      in.begin_array();
      out.begin_array();
      while (in.next_element()) transcribe(in, out);
      if (!in.failed()) out.end_array();
      break;
    case Kind::String:
      out.string(in.string());
      break;
    case Kind::Bytes:
      out.string(base64::encode(in.bytes(), base64::Form::Url));
      break;
    case Kind::Number:
      transcribe_number(in, out);
      break;
    case Kind::Boolean:
      out.boolean(in.boolean());
      break;
    case Kind::Null:
      in.null();
      out.null();
      break;
    case Kind::Other:
      in.fail("cannot be represented in JSON");
      break;
    case Kind::None:
      if (!in.failed()) in.fail_malformed("a stop code (break) where a value is expected");
      break;
  }
}

template <class Format>
void write_value(Writer<Format>& out, const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::Object: {
      std::vector<json::Value::Member> members;
      members.reserve(value.size());
      for (const json::Value::Member member : value.members()) members.push_back(member);
      std::vector<const json::Value::Member*> order;
      order.reserve(members.size());
      for (const json::Value::Member& member : members) order.push_back(&member);
      std::sort(order.begin(), order.end(), [](const json::Value::Member* a, const json::Value::Member* b) {
        return a->key.size() != b->key.size() ? a->key.size() < b->key.size() : a->key < b->key;
      });
      out.begin_object(order.size());
      for (const json::Value::Member* member : order) {
        out.key(member->key);
        write_value(out, member->value);
      }
      break;
    }
    case json::Kind::Array:
      out.begin_array(value.size());
      for (const json::Value& element : value.elements()) write_value(out, element);
      break;
    case json::Kind::String:
      out.string(*value.string());
      break;
    case json::Kind::Number:
      if (const auto whole = value.int64()) {
        out.integer(*whole);
      } else if (const auto large = value.uint64()) {
        out.unsigned_integer(*large);
      } else {
        out.number(*value.number());
      }
      break;
    case json::Kind::Boolean:
      out.boolean(*value.boolean());
      break;
    default:
      out.null();
  }
}

}  // namespace

template <class Format>
void read_binary(Reader<Format>& in, json::Value& value) {
  Buffer text;
  json::Writer out(text);
  transcribe(in, out);
  if (in.failed()) return;
  Arena arena;
  Violations wrong;
  if (json::read(value, text.view(), arena, wrong)) return;
  in.fail_malformed("has the same member twice");
}

template <class Format, std::same_as<json::Value> Value>
void write_binary(Writer<Format>& out, const Value& value) {
  write_value(out, value);
}

template void read_binary(Reader<Cbor>& in, json::Value& value);
template void read_binary(Reader<MessagePack>& in, json::Value& value);
template void write_binary(Writer<Cbor>& out, const json::Value& value);
template void write_binary(Writer<MessagePack>& out, const json::Value& value);

}  // namespace keel::binary
