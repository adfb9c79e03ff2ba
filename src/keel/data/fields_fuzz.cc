// A struct that is read by its fields is what a reader written by hand makes of the same text, and refused by both or
// by neither; what is written of it is read back equal, and written again the same.

#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace {

using namespace keel;

enum class Status { Open, Paid };

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
  static constexpr std::string_view optional_fields[] = {"large", "flag",   "real", "text",
                                                         "view",  "status", "map",  "nodes"};

  bool operator==(const Node& other) const {
    return std::memcmp(&real, &other.real, sizeof real) == 0 && small == other.small && large == other.large &&
           flag == other.flag && text == other.text && view == other.view && status == other.status &&
           maybe == other.maybe && patch == other.patch && map == other.map && nodes == other.nodes && id == other.id &&
           at == other.at;
  }
};

template <class T>
T within(json::Reader& in, std::int64_t value) {
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) in.fail("out of range");
  return static_cast<T>(value);
}

// By hand, in no way like what is tested. Stops at the first problem.
void read(json::Reader& in, Node& node) {
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
        read(in, node.nodes.back());
      }
    } else if (name == "id") {
      node.id.reset();
      if (!in.try_null()) node.id = in.value<Uuid>();
    } else if (name == "at") {
      node.at.reset();
      if (!in.try_null()) node.at = in.value<Timestamp>();
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
  read(in, by_hand);
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
