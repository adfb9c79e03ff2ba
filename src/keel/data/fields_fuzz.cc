// A struct that is read by its fields is what a reader written by hand makes of the same text, and refused by both or
// by neither; what is written of it is read back equal, and written again the same.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "keel/data/base64.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_value.h"
#include "keel/data/json_write.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace {

using namespace keel;

enum class Status { Open, Paid };

// Equal as the text that is written of them is: NaN does not occur, and 0 is not -0.
struct Point {
  std::int16_t x = 0;
  std::uint32_t y = 0;
  static constexpr Tag tag = {"kind", "point"};
  bool operator==(const Point&) const = default;
};
struct Text {
  std::string kind_of;
  std::optional<std::uint8_t> size;
  static constexpr Tag tag = {"kind", "text"};
  static constexpr bool strict_fields = true;
  bool operator==(const Text&) const = default;
};
using Shape = std::variant<Point, Text>;

struct Node {
  std::int8_t small = 0;
  std::uint64_t large = 0;
  bool flag = false;
  double real = 0;
  std::string text;
  std::string_view view;
  Status status = Status::Open;
  std::optional<std::int32_t> maybe;
  Patch<std::uint16_t> patch;
  std::map<std::string, bool> map;
  std::vector<Node> nodes;
  std::optional<Uuid> id;
  std::optional<Timestamp> at;
  float single = 0;
  std::int64_t signed_large = 0;
  std::vector<std::byte> bytes;
  std::array<std::byte, 2> two = {};
  std::optional<std::array<std::int32_t, 2>> pair;
  std::vector<Shape> shapes;
  std::map<std::string, std::vector<std::uint16_t>> lists;
  json::Value any;
  static constexpr std::string_view optional_fields[] = {"large",  "flag", "real",   "text",   "view",
                                                         "status", "map",  "nodes",  "single", "signed_large",
                                                         "bytes",  "two",  "shapes", "lists",  "any"};

  bool operator==(const Node& other) const {
    return std::memcmp(&real, &other.real, sizeof real) == 0 && small == other.small && large == other.large &&
           flag == other.flag && text == other.text && view == other.view && status == other.status &&
           maybe == other.maybe && patch == other.patch && map == other.map && nodes == other.nodes && id == other.id &&
           at == other.at && std::memcmp(&single, &other.single, sizeof single) == 0 &&
           signed_large == other.signed_large && bytes == other.bytes && two == other.two && pair == other.pair &&
           shapes == other.shapes && lists == other.lists && any == other.any;
  }
};

template <class T>
T within(json::Reader& in, std::int64_t value) {
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) in.fail("out of range");
  return static_cast<T>(value);
}

template <class T>
T within_unsigned(json::Reader& in, std::uint64_t value) {
  if (value > std::numeric_limits<T>::max()) in.fail("out of range");
  return static_cast<T>(value);
}

std::string bytes_by_hand(json::Reader& in) {
  const std::string_view text = in.string();
  if (in.failed()) return {};
  Result<std::string> bytes = base64::decode(text, base64::Form::Standard);
  if (!bytes) in.fail("no base64");
  return bytes ? *bytes : std::string();
}

// In two passes over a text of its own.
void shape_by_hand(json::Reader& in, Arena& arena, Shape& shape) {
  if (in.peek() != json::Kind::Object) {
    in.skip();
    in.fail("no object");
    return;
  }
  const int depth_max = 128 - in.depth();
  const std::string_view text = in.skip();
  if (in.failed()) return;
  std::string kind;
  int kinds = 0;
  json::Reader first(text, arena, {.depth_max = depth_max});
  first.begin_object();
  while (const auto key = first.next_key()) {
    if (*key == "kind" && ++kinds == 1 && first.peek() == json::Kind::String) {
      kind = first.string();
    } else {
      first.skip();
    }
  }
  if (kinds != 1 || (kind != "point" && kind != "text")) {
    in.fail("no kind");
    return;
  }
  std::map<std::string, int> seen;
  json::Reader second(text, arena, {.depth_max = depth_max});
  second.begin_object();
  Point point;
  Text words;
  while (const auto key = second.next_key()) {
    const std::string name(*key);
    if (kind == "point" && name == "x") {
      point.x = within<std::int16_t>(second, second.int64());
    } else if (kind == "point" && name == "y") {
      point.y = within_unsigned<std::uint32_t>(second, second.uint64());
    } else if (kind == "text" && name == "kind_of") {
      words.kind_of = second.string();
    } else if (kind == "text" && name == "size") {
      words.size.reset();
      if (!second.try_null()) words.size = within_unsigned<std::uint8_t>(second, second.uint64());
    } else {
      second.skip();
      if (kind == "text" && name != "kind") second.fail("unknown");
      continue;
    }
    if (++seen[name] == 2) second.fail("twice");
  }
  const bool is_whole = kind == "point" ? seen["x"] == 1 && seen["y"] == 1 : seen["kind_of"] == 1;
  if (!second.finish() || !is_whole) {
    in.fail("wrong");
  } else if (kind == "point") {
    shape = point;
  } else {
    shape = words;
  }
}

json::Value value_by_hand(json::Reader& in) {
  json::Value value;
  switch (in.peek()) {
    case json::Kind::Object:
      value = json::Value::object();
      in.begin_object();
      while (const auto key = in.next_key()) {
        const std::string name(*key);
        const bool is_new = value.find(name) == nullptr;
        value[name] = value_by_hand(in);
        if (!is_new) in.fail("twice");
      }
      break;
    case json::Kind::Array:
      value = json::Value::array();
      in.begin_array();
      while (in.next_element()) value.push_back(value_by_hand(in));
      break;
    case json::Kind::String:
      value = in.string();
      break;
    case json::Kind::Number: {
      const std::string number(in.number_text());
      if (in.failed()) break;
      Arena scratch;
      json::Reader as_signed(number, scratch);
      json::Reader as_unsigned(number, scratch);
      json::Reader as_double(number, scratch);
      const std::int64_t whole = as_signed.int64();
      const std::uint64_t large = as_unsigned.uint64();
      const double real = as_double.number();
      if (!as_signed.failed() && number != "-0") {
        value = whole;
      } else if (!as_unsigned.failed() && number != "-0") {
        value = large;
      } else if (!as_double.failed()) {
        value = real;
      } else {
        in.fail("out of range");
      }
      break;
    }
    case json::Kind::Boolean:
      value = in.boolean();
      break;
    case json::Kind::Null:
      in.null();
      break;
    case json::Kind::None:
      in.skip();
  }
  return value;
}

// By hand, in no way like what is tested. Stops at the first problem.
void read(json::Reader& in, Arena& arena, Node& node) {
  std::map<std::string, int, std::less<>> seen;
  in.begin_object();
  while (const auto key = in.next_key()) {
    const std::string name(*key);
    if (name == "small") {
      node.small = within<std::int8_t>(in, in.int64());
    } else if (name == "large") {
      node.large = in.uint64();
    } else if (name == "flag") {
      node.flag = in.boolean();
    } else if (name == "real") {
      node.real = in.number();
    } else if (name == "text") {
      node.text = in.string();
    } else if (name == "view") {
      node.view = in.string();
    } else if (name == "status") {
      const std::string_view status = in.string();
      if (status != "Open" && status != "Paid") in.fail("no status");
      node.status = status == "Paid" ? Status::Paid : Status::Open;
    } else if (name == "maybe") {
      if (in.try_null()) {
        node.maybe.reset();
      } else {
        node.maybe = within<std::int32_t>(in, in.int64());
      }
    } else if (name == "patch") {
      if (in.try_null()) {
        node.patch.set_null();
      } else {
        const std::uint64_t value = in.uint64();
        if (value > 65535) in.fail("out of range");
        node.patch = Patch<std::uint16_t>::of(static_cast<std::uint16_t>(value));
      }
    } else if (name == "map") {
      node.map.clear();
      in.begin_object();
      while (const auto inner = in.next_key()) {
        const std::string inner_name(*inner);
        const bool is_new = !node.map.contains(inner_name);
        node.map[inner_name] = in.boolean();
        if (!is_new) in.fail("twice");
      }
    } else if (name == "nodes") {
      node.nodes.clear();
      in.begin_array();
      while (in.next_element()) {
        node.nodes.emplace_back();
        read(in, arena, node.nodes.back());
      }
    } else if (name == "id") {
      node.id.reset();
      if (!in.try_null()) node.id = in.value<Uuid>();
    } else if (name == "at") {
      node.at.reset();
      if (!in.try_null()) node.at = in.value<Timestamp>();
    } else if (name == "single") {
      const std::string number(in.number_text());
      char* end = nullptr;
      node.single = std::strtof(number.c_str(), &end);
      const std::string digits = number.substr(0, number.find_first_of("eE"));
      const bool is_zero = digits.find_first_of("123456789") == digits.npos;
      if (std::abs(node.single) > std::numeric_limits<float>::max() || (node.single == 0 && !is_zero)) {
        in.fail("out of range");
      }
    } else if (name == "signed_large") {
      node.signed_large = in.int64();
    } else if (name == "bytes") {
      const std::string bytes = bytes_by_hand(in);
      node.bytes.clear();
      for (const char c : bytes) node.bytes.push_back(static_cast<std::byte>(c));
    } else if (name == "two") {
      const std::string bytes = bytes_by_hand(in);
      if (bytes.size() == 2) {
        node.two = {static_cast<std::byte>(bytes[0]), static_cast<std::byte>(bytes[1])};
      } else {
        in.fail("two");
      }
    } else if (name == "pair") {
      node.pair.reset();
      if (!in.try_null()) {
        std::vector<std::int32_t> numbers;
        in.begin_array();
        while (in.next_element()) numbers.push_back(within<std::int32_t>(in, in.int64()));
        if (numbers.size() == 2) {
          node.pair = {numbers[0], numbers[1]};
        } else {
          in.fail("two");
        }
      }
    } else if (name == "shapes") {
      node.shapes.clear();
      in.begin_array();
      while (in.next_element()) shape_by_hand(in, arena, node.shapes.emplace_back());
    } else if (name == "lists") {
      node.lists.clear();
      in.begin_object();
      while (const auto inner = in.next_key()) {
        const std::string inner_name(*inner);
        if (node.lists.contains(inner_name)) in.fail("twice");
        auto& list = node.lists[inner_name];
        in.begin_array();
        while (in.next_element()) list.push_back(within_unsigned<std::uint16_t>(in, in.uint64()));
      }
    } else if (name == "any") {
      node.any = value_by_hand(in);
    } else {
      in.skip();
      continue;
    }
    if (++seen[name] == 2) in.fail("twice");
  }
  if (!in.failed() && !seen.contains("small")) in.fail("is required", "small");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Arena arena;
  Violations wrong;
  Node node;
  const bool is_read = json::read(node, text, arena, wrong);
  Node by_hand;
  json::Reader in(text, arena);
  read(in, arena, by_hand);
  const bool is_read_by_hand = in.finish().is_ok();

  if (is_read != is_read_by_hand || is_read != wrong.empty()) std::abort();
  if (!is_read) {
    // What is no JSON where the other one met nothing before is malformed for both.
    if (in.problem().cause == json::Problem::Cause::Syntax && !wrong.is_malformed() && !wrong.has_more()) std::abort();
    for (const Violation& one : wrong) {
      if (one.message.empty() || one.line == 0 || one.column == 0) std::abort();
    }
    return 0;
  }
  if (!(node == by_hand)) std::abort();

  const std::string written = json::write(node);
  Node again;
  if (!json::read(again, written, arena, wrong) || !(again == node) || json::write(again) != written) std::abort();
  return 0;
}
