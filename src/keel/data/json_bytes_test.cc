// Bytes as base64, and everything that a struct may hold within everything else.

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "keel/data/json_parse.h"
#include "keel/data/json_value.h"
#include "keel/data/json_write.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::json_bytes_test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  Bytes bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

struct File {
  Bytes content;
  std::optional<std::array<std::byte, 4>> digest;
};

template <class T>
std::string error_of(std::string_view text) {
  const Result<T> value = json::parse<T>(text);
  return value ? "" : std::string(value.error().message());
}

TEST(JsonBytes, are_a_string_in_base64) {
  EXPECT_EQ(json::write(bytes_of("")), R"("")");
  EXPECT_EQ(json::write(bytes_of("f")), R"("Zg==")");
  EXPECT_EQ(json::write(bytes_of("\xff\xfe\xfd")), R"("//79")");
  const File file{.content = bytes_of("foobar"),
                  .digest = std::array{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{255}}};
  EXPECT_EQ(json::write(file), R"({"content":"Zm9vYmFy","digest":"AQID/w=="})");

  const File again = json::parse<File>(json::write(file)).value();
  EXPECT_EQ(again.content, file.content);
  EXPECT_EQ(again.digest, file.digest);
  EXPECT_EQ(json::parse<Bytes>(R"("Zm9v\u0059mFy")").value(), bytes_of("foobar"));
  EXPECT_EQ(json::parse<std::vector<Bytes>>(R"(["","Zg=="])").value(), (std::vector<Bytes>{{}, bytes_of("f")}));
  std::string large(100'000, 'x');
  EXPECT_EQ(json::parse<Bytes>(json::write(bytes_of(large))).value(), bytes_of(large));
}

TEST(JsonBytes, that_are_no_base64_are_a_violation) {
  EXPECT_EQ(error_of<File>(R"({"content":"Zm9v!","digest":"AQID"})"),
            "/content: expected base64, byte 4 is not in the alphabet; /digest must have 4 bytes in base64");
  EXPECT_EQ(error_of<File>(R"({"content":"Zg","digest":"AQID/wAB"})").substr(0, 25), "/content: expected base64");
  EXPECT_EQ(error_of<File>(R"({"content":[1,2],"digest":3})"),
            "/content: expected a string; /digest: expected a string");
  EXPECT_EQ(error_of<std::vector<Bytes>>(R"(["Zg==","Z-__",""])").substr(0, 20), "/1: expected base64,");
  EXPECT_EQ((error_of<std::array<std::byte, 1>>(R"("")")), "must have 1 byte in base64");
  EXPECT_EQ((error_of<std::array<std::byte, 4>>(R"("AQI*/w==")")), "expected base64, byte 3 is not in the alphabet");
}

enum class Colour { Red, Green };
struct Leaf {
  std::int8_t number;
  bool operator==(const Leaf&) const = default;
};
struct Round {
  float radius;
  bool operator==(const Round&) const = default;
  static constexpr Tag tag = {"shape", "round"};
};
struct Square {
  std::vector<double> sides;
  bool operator==(const Square&) const = default;
  static constexpr Tag tag = {"shape", "square"};
};
using Shape = std::variant<Round, Square>;

// A T by itself, and in whatever may hold it, is read back as it was.
template <class T>
void holds(const T& value) {
  const auto round = [](const auto& one) {
    using One = std::remove_cvref_t<decltype(one)>;
    const std::string text = json::write(one);
    const Result<One> again = json::parse<One>(text);
    ASSERT_TRUE(again) << text << ": " << again.error().message();
    EXPECT_TRUE(*again == one) << text;
    EXPECT_EQ(json::write(*again), text);
  };
  round(value);
  round(std::optional<T>(value));
  round(std::optional<T>());
  round(std::vector<T>{value, value});
  round(std::deque<T>{value});
  round(std::list<T>{value});
  round(std::array<T, 2>{value, value});
  round(std::map<std::string, T>{{"a", value}, {"b/~\"", value}});
  round(std::unordered_map<std::string, T>{{"a", value}});
  round(std::vector<std::optional<T>>{value, std::nullopt});
  round(std::vector<std::vector<T>>{{value}, {}, {value, value}});
  round(std::array<std::array<T, 1>, 2>{std::array<T, 1>{value}, std::array<T, 1>{value}});
  round(std::map<std::string, std::vector<std::map<std::string, T>>>{{"", {{{"x", value}}, {}}}});
  round(std::vector<Patch<T>>{Patch<T>::of(value), Patch<T>::null()});
  round(std::optional<std::map<std::string, std::array<std::optional<T>, 2>>>({{"k", {value, std::nullopt}}}));
}

TEST(JsonBytes, and_all_other_types_are_held_by_everything_that_holds_something) {
  holds(true);
  holds(std::int8_t{-128});
  holds(std::uint64_t{18446744073709551615u});
  holds(0.1f);
  holds(-0.25);
  holds(std::string("a\"\\\n\x1fü"));
  holds(Colour::Green);
  holds(Leaf{3});
  holds(Uuid());
  holds(Timestamp());
  holds(bytes_of("abc"));
  holds(std::array{std::byte{7}});
  holds(Shape(Round{0.5f}));
  holds(Shape(Square{{1, 2.5}}));
  holds(json::Value::object({{"a", 1}, {"b", json::Value::array({nullptr, "x", 1e300})}}));
}

TEST(JsonBytes, keep_the_pointer_of_what_is_wrong_at_any_depth) {
  EXPECT_EQ((error_of<std::map<std::string, std::vector<std::optional<std::array<Shape, 1>>>>>(
                R"({"a/b":[null,[{"shape":"square","sides":[1,"2"]}],[]]})")),
            "/a~1b/1/0/sides/1: expected a number; /a~1b/2 must have 1 element");
  EXPECT_EQ((error_of<std::array<std::map<std::string, Bytes>, 1>>(R"([{"k":"Zg==","l":"Zg"}])")).substr(0, 21),
            "/0/l: expected base64");
}

}  // namespace
}  // namespace keel::json_bytes_test
