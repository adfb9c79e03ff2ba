// CBOR and MessagePack: what is read is written and read back equal, and written the same; all that looks at the same
// bytes agrees whether they are well-formed; a document is the same by way of JSON.

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "keel/data/binary_value.h"
#include "keel/data/cbor.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/data/message_pack.h"
#include "keel/data/patch.h"

namespace {

using namespace keel;

enum class State { Open, Paid };
struct Card {
  std::string number;
  static constexpr Tag tag = {"type", "card"};
};
struct Cash {
  std::uint8_t z = 0;
  static constexpr Tag tag = {"type", "cash"};
};
struct Node {
  std::int64_t id = 0;
  std::uint64_t large = 0;
  std::int32_t small = 0;
  double real = 0;
  float single = 0;
  bool flag = false;
  std::string text;
  std::string_view view;
  std::vector<std::byte> bytes;
  std::vector<Node> nodes;
  std::map<std::string, std::optional<int>> map;
  std::array<std::uint16_t, 2> pair{};
  State state = State::Open;
  Timestamp time;
  Uuid uuid;
  Patch<int> patch;
  std::optional<std::variant<Card, Cash>> by;
  static constexpr bool optional_fields = true;
  void rules(Check& check) const { check(small).range(-1000, 1000); }
};

// So small that a few bytes fill all of its fields.
struct Small {
  bool a = false;
  std::uint64_t b = 0;
};

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Reader>
bool is_well_formed(std::string_view bytes) {
  Arena arena;
  Reader in(bytes, arena);
  in.skip();
  return in.finish().is_ok();
}

template <class T, class Reader, auto read, auto write>
void check(std::string_view bytes) {
  Arena arena;
  Violations wrong;
  T node;
  const bool is_read = read(node, bytes, arena, wrong, {});
  require(is_read == wrong.empty());
  if (is_read || !wrong.is_malformed()) require(!wrong.empty() || is_well_formed<Reader>(bytes));
  if (!is_read) require(!wrong.error().message().empty());
  if (is_read) {
    const std::string once = write(node);
    T again;
    require(read(again, once, arena, wrong, {}));
    require(write(again) == once);
  }
}

template <class T>
void check_struct(std::string_view bytes) {
  using Write = std::string (*)(const T&);
  check<T, cbor::Reader, &cbor::read<T>, static_cast<Write>(&cbor::write<T>)>(bytes);
  check<T, message_pack::Reader, &message_pack::read<T>, static_cast<Write>(&message_pack::write<T>)>(bytes);
}

template <class Reader, auto parse, auto write>
void check_value(std::string_view bytes) {
  const Result<json::Value> value = parse(bytes, {});
  if (!value) return;
  require(is_well_formed<Reader>(bytes));
  const std::string written = write(*value);
  const Result<json::Value> again = parse(written, {});
  require(again.is_ok() && *again == *value && write(*again) == written);
  const Result<json::Value> through_json = json::parse<json::Value>(json::write(*value));
  require(through_json.is_ok() && *through_json == *value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_struct<Node>(bytes);
  check_struct<Small>(bytes);
  using Parse = Result<json::Value> (*)(std::string_view, binary::ReaderOptions);
  using Write = std::string (*)(const json::Value&);
  check_value<cbor::Reader, static_cast<Parse>(&cbor::parse<json::Value>),
              static_cast<Write>(&cbor::write<json::Value>)>(bytes);
  check_value<message_pack::Reader, static_cast<Parse>(&message_pack::parse<json::Value>),
              static_cast<Write>(&message_pack::write<json::Value>)>(bytes);
  require(cbor::diagnose(bytes).is_ok() == is_well_formed<cbor::Reader>(bytes));
  static_cast<void>(cbor::find(bytes, "/nodes/0/text"));
  return 0;
}
